"""Strata, maintenance rules and steps as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreset.explain.steps import Line, render
from foreset.explain.strata import Admission, Counters, StratumFacts, Taken, ViewFacts
from foreset.plan.place import told

WIDTH = 14
_COUNTERS = {
    Counters.KEPT: "kept: the number of derivations of each row",
    Counters.IMPLIED: "not needed: no row can have two derivations",
    Counters.NONE: "none",
}


def overview(group: str, strata: Sequence[StratumFacts]) -> Iterator[str]:
    """How much there is, and level by level what can run side by side."""
    views = [view for stratum in strata for view in stratum.views]
    helpers = sum(view.hidden for view in views)
    kept = f", kept with {_counted(helpers, 'helper table')}," if helpers else ""
    levels = sorted({stratum.level for stratum in strata})
    layers = f" on {len(levels)} levels" if len(levels) > 1 else ""
    shown = _counted(len(views) - helpers, "view")
    yield f"{group}: {shown}{kept} in {_counted(len(strata), 'stratum', 'strata')}{layers}"
    for level in levels if len(strata) > 1 else ():
        yield f"  level {level:<3} {', '.join(_brief(stratum) for stratum in strata if stratum.level == level)}"


def _brief(stratum: StratumFacts) -> str:
    names = " + ".join(view.name for view in stratum.views)
    return f"{stratum.number} {names}{' (recursive)' if stratum.recursive else ''}"


def stratum_text(stratum: StratumFacts) -> Iterator[str]:
    """The facts of one stratum, and what `auto` would do with it."""
    yield f"stratum {stratum.number}: {', '.join(view.name for view in stratum.views)}"
    alone = len(stratum.views) == 1
    about = [(view.name, view.description) for view in stratum.views if view.description]
    yield from _block("about", [told if alone else f"{name}: {told}" for name, told in about])
    yield from _block("columns", _meanings(stratum.views))
    yield _fact("reads", ", ".join(stratum.reads))
    yield _fact("level", _level(stratum))
    yield _fact("recursive", "yes" if stratum.recursive else "no")
    if stratum.recursive:
        yield _fact("cyclic", f"{'yes: a row may' if stratum.cyclic else 'no: no row can'} help to derive itself")
    yield _fact("monotone", _monotone(stratum))
    yield _fact("counters", _COUNTERS[stratum.counters])
    if stratum.supports:
        yield _fact("supports", "kept: each derivation is a row, which says what it stands on")
    yield _fact("laid out", "; ".join(_laid_out(view, alone=alone) for view in stratum.views))
    yield _fact("engine", told(stratum.engine, stratum.engine_reason))
    if stratum.ran:
        yield _fact("last time", stratum.ran)
    if stratum.base:
        yield _fact("base", stratum.base)
    declared = {view.declared for view in stratum.views}
    yield _fact("declared", ", ".join(sorted(declared)))
    yield from _block("rules", [rule for view in stratum.views for rule in view.rules.values()])
    yield from _block("strategies", list(map(_admission, stratum.strategies)))
    yield from _block("choice", _nights(stratum.auto))


def _laid_out(view: ViewFacts, *, alone: bool) -> str:
    return f"{'' if alone else view.name + ' '}by {', '.join(view.laid_out)}"


def _meanings(views: Sequence[ViewFacts]) -> list[str]:
    """What columns mean, where the spec says it; a text of several lines as one."""
    said = [
        (f"{name if len(views) == 1 else f'{view.name}.{name}'} {view.columns[name]}", " ".join(meaning.split()))
        for view in views
        for name, meaning in view.meanings.items()
    ]
    width = max((len(column) for column, _ in said), default=0)
    return [f"{column:<{width}}  {meaning}" for column, meaning in said]


def maintenance_text(view: ViewFacts) -> Iterator[str]:
    """The maintenance rules of one view."""
    yield f"maintenance rules of {view.name} (Algorithm 1 of Staudt and Jarke, VLDB 1996)"
    width = max((len(each.label) for each in view.maintenance), default=0)
    for name, rule in view.rules.items():
        yield f"  for {rule}"
        yield from (f"    {each.label:<{width}}  {each.rule}" for each in view.maintenance if each.of == name)


def steps_text(strategy: str, lines: Sequence[Line]) -> Iterator[str]:
    """The steps of one strategy."""
    yield f"steps of `{strategy}`"
    yield from render(lines, 1)


def _monotone(stratum: StratumFacts) -> str:
    if stratum.groups:
        return "no: an insertion replaces the row of its group"
    return "yes" if stratum.monotone else "no: through `not`, an insertion can take a row away"


def _level(stratum: StratumFacts) -> str:
    if not stratum.depends_on:
        return f"{stratum.level}: reads sources only"
    after = ", ".join(map(str, stratum.depends_on))
    return f"{stratum.level}: after {'stratum' if len(stratum.depends_on) == 1 else 'strata'} {after}"


def _admission(found: Admission) -> str:
    verdict = found.note if found.admitted else f"no: {found.note}"
    return f"{found.strategy:<10} {verdict or 'always'}"


def _nights(auto: Sequence[Taken]) -> list[str]:
    width = max(len(taken.night) for taken in auto)
    return [f"{taken.night:<{width}}  {taken.strategy:<10} {taken.reason}" for taken in auto]


def _fact(name: str, text: str) -> str:
    return f"  {name:<{WIDTH - 2}}{text}"


def _block(name: str, lines: Sequence[str]) -> Iterator[str]:
    for i, line in enumerate(lines):
        yield _fact(name if i == 0 else "", line)


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
