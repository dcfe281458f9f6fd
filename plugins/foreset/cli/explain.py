"""`foreset explain`: strata, strategies and maintenance rules, without Spark and without reading a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreset.cli.completing import either_names
from foreset.cli.options import SPECS, WAREHOUSE, AsJson, Specs, Warehouse
from foreset.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreset.explain.steps import Line
    from foreset.explain.strata import StratumFacts, ViewFacts
    from foreset.understand import Sound

JsonObject = dict[str, object]

Target = Annotated[
    str, typer.Argument(metavar="GROUP[.VIEW]", autocompletion=either_names, help="A group, or one of its views.")
]
Rules = Annotated[bool, typer.Option("--rules", help="Add the maintenance rules, in the notation of the paper.")]
Steps = Annotated[bool, typer.Option("--steps", help="Add the steps of the strategy taken for a small change.")]
Strategy = Annotated[str, typer.Option("--strategy", metavar="NAME", help="Show the steps of this strategy instead.")]

Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture of sources and views, or of one view.")
]


def explain(
    target: Target,
    *,
    rules: Rules = False,
    steps: Steps = False,
    strategy: Strategy = "",
    svg: Svg = None,
    json: AsJson = False,
    specs: Specs = SPECS,
    warehouse: Warehouse = WAREHOUSE,
) -> None:
    """Show how views are kept up to date, and why.

    For each stratum: what it reads, which strategies are possible, and what typical nights would choose.
    """
    from foreset.cli.groups import ready
    from foreset.cli.output import say, say_json
    from foreset.explain.chosen import strata_of, with_past
    from foreset.explain.plainly import for_people
    from foreset.explain.text import overview
    from foreset.questions.status import engines_of

    group, _, view = target.partition(".")
    found = ready(specs, group)
    strata = with_past(strata_of(found.program, found.layering, view), engines_of(warehouse, group))
    if svg is not None:
        _write_picture(found, view, svg)
    wanted = steps or bool(strategy)
    shown = {stratum.number: _steps(found, stratum, strategy) for stratum in strata} if wanted else {}
    plain = for_people(strata, found.program)
    if json:
        say_json({"group": group, "strata": [_as_data(*both, shown) for both in zip(plain, strata, strict=True)]})
        return
    told = strata if rules or wanted else plain
    lines = [] if view else [*overview(group, told), ""]
    for stratum in told:
        lines += _text(stratum, view, shown.get(stratum.number), rules=rules)
    say([*lines, *([f"written: {svg}"] if svg else [])])


def _write_picture(found: Sound, view: str, target: Path) -> None:
    from foreset.explain.graph import graph_of
    from foreset.explain.picture import file

    graph = graph_of(found.written)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(file(graph.near(view) if view else graph), encoding="utf-8")


def _steps(found: Sound, stratum: StratumFacts, strategy: str) -> tuple[str, tuple[Line, ...]]:
    from foreset.errors import UsageError
    from foreset.explain.steps import Line, describe
    from foreset.explain.strata import SMALL
    from foreset.plan.translate import translate

    home = next(each for each in found.layering.strata if each.number == stratum.number)
    if home.own_way:
        what = "the domain answers" if home.called else "its rules are evaluated in memory, by solvers"
        return ("ask" if home.called else "constrain"), (Line("own way", f"{what}, and compared with what was there"),)
    admitted = {each.strategy: each for each in stratum.strategies}
    asked = "" if stratum.groups and strategy not in admitted else strategy  # groups are kept in ways of their own
    taken = asked or next(each.strategy for each in stratum.auto if each.night == SMALL)
    if taken not in admitted:
        raise UsageError(
            f"no strategy is called `{taken}`", did_you_mean(taken, admitted, f"one of: {', '.join(admitted)}")
        )
    if not admitted[taken].admitted:
        return taken, (Line("refused", f"none: {admitted[taken].note}"),)
    return taken, describe(translate(home, taken), found.program.columns_of())


def _as_data(told: StratumFacts, raw: StratumFacts, shown: Mapping[int, tuple[str, tuple[Line, ...]]]) -> JsonObject:
    """Names as people see them; maintenance rules and steps, which are for experts, have each view's `id`."""
    from foreset.cli.output import plain

    views = [
        {"id": own.name, **_data(view), "rules": view.rules or own.rules, "maintenance": plain(own.maintenance)}
        for view, own in zip(told.views, raw.views, strict=True)
    ]
    steps = shown.get(raw.number)
    more = {"steps": {"strategy": steps[0], "lines": plain(steps[1])}} if steps else {}
    return {**_data(told), "views": views, **more}


def _data(facts: StratumFacts | ViewFacts) -> JsonObject:
    from foreset.cli.output import plain

    data = plain(facts)
    assert isinstance(data, dict)
    return data


def _text(stratum: StratumFacts, view: str, shown: tuple[str, tuple[Line, ...]] | None, *, rules: bool) -> list[str]:
    from foreset.cli.output import styled
    from foreset.explain.text import maintenance_text, steps_text, stratum_text

    title, *facts = stratum_text(stratum)
    lines = [styled(title), *facts, ""]
    for each in stratum.views if rules else ():
        if view in ("", each.name):
            title, *found = maintenance_text(each)
            lines += [styled(title), *found, ""]
    if shown:
        title, *found = steps_text(*shown)
        lines += [styled(title), *found, ""]
    return lines
