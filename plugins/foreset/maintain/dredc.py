"""`dredc`: DRed with counters (Hu, Motik, Horrocks, AAAI 2018): no rule is evaluated backwards.

Two counters stand on each row: derivations without the row's own stratum in the
body, and with it. A row that keeps a base derivation is a wall for the deletion;
every other row that loses one goes, at first. What still has a recursive
derivation when the deletion has come to rest is put back: that test is a look at
a counter, where `dred` must join. Counting alone would keep unfounded cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from foreset.ir.rules import Rule
from foreset.ir.steps import (
    AssertCounts,
    Count,
    Counter,
    Merge,
    Phase,
    Pick,
    Procedure,
    Ref,
    Repeat,
    Standing,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import Flip, gained, gained_in_round, is_recursive, lost, lost_in_round
from foreset.maintain.flips import Flips


def dredc(stratum: Stratum) -> Procedure:
    """Translate any stratum; without recursion it counts like `counting`."""
    flips = Flips()
    phases = (Phase("delete", _delete(stratum, flips)), Phase("insert", _insert(stratum, flips)))
    return Procedure("dredc", stratum.names, phases, flips.helpers, counted=stratum.names)


def counts(view: str, own: frozenset[str], sign: int, rules: Iterable[tuple[Rule, Rule]]) -> tuple[Count, ...]:
    """Sort (rule, variant) pairs by the counter on which the rule's derivations stand."""
    pairs = tuple(rules)
    base = tuple(variant for rule, variant in pairs if not is_recursive(rule, own))
    recursive = tuple(variant for rule, variant in pairs if is_recursive(rule, own))
    found = (Count(view, Counter.BASE, sign, base), Count(view, Counter.RECURSIVE, sign, recursive))
    return tuple(part for part in found if part.rules)


def _tallies(
    stratum: Stratum, flips: Flips, sign: int, changed: Callable[[Rule, Set[str]], Iterable[tuple[Rule, Flip]]],
    in_round: Callable[[Rule, Set[str]], Iterable[Rule]],
) -> tuple[Tally, Tally]:  # fmt: skip
    """Of the derivations that changes of lower relations end or begin, and of those of each round after."""
    own, first, later = frozenset(stratum.names), list[Count](), list[Count]()
    for view in stratum.views:
        pairs = ((rule, flips.noted(*found)) for rule in view.rules for found in changed(rule, own))
        first += counts(view.name, own, sign, pairs)
        later += counts(view.name, own, sign, ((rule, one) for rule in view.rules for one in in_round(rule, own)))
    return Tally(tuple(first)), Tally(tuple(later))


def _delete(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    first, later = _tallies(stratum, flips, -1, lost, lost_in_round)
    falling = tuple(
        Pick(
            Ref(name, Version.DEL_NEXT),
            Ref(name, Version.TOUCHED),
            Standing.UNFOUNDED,
            (Ref(name, Version.DEL),),
        )
        for name in stratum.names
    )
    merges = tuple(Merge(Ref(name, Version.DEL), Ref(name, Version.DEL_NEXT)) for name in stratum.names)
    nexts = tuple(Ref(name, Version.DEL_NEXT) for name in stratum.names)
    start: tuple[Step, ...] = (*flips.taken(), first, *falling)
    return (*start, Repeat((*merges, later, *falling), nexts))


def _insert(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    first, later = _tallies(stratum, flips, 1, gained, gained_in_round)
    start: list[Step] = [*flips.taken()]
    # what recursion still derives is put back
    start += [Pick(Ref(name, Version.RED_NEXT), Ref(name, Version.DEL), Standing.STANDING) for name in stratum.names]
    start.append(first)
    for name in stratum.names:
        start.append(_rising(name, Ref(name, Version.RED_NEXT)))
        start.append(Merge(Ref(name, Version.INS_NEXT), Ref(name, Version.RED_NEXT)))
    merges = tuple(Merge(Ref(name, Version.INS), Ref(name, Version.INS_NEXT)) for name in stratum.names)
    rises = tuple(_rising(name) for name in stratum.names)
    nexts = tuple(Ref(name, Version.INS_NEXT) for name in stratum.names)
    loop = Repeat((later, *merges, *rises), nexts)
    return (*start, loop, *(step for name in stratum.names for step in _net(name)))


def _rising(name: str, *known_too: Ref) -> Pick:
    known = (Ref(name, Version.LIVE), *known_too)
    return Pick(Ref(name, Version.INS_NEXT), Ref(name, Version.TOUCHED), Standing.STANDING, known)


def _net(name: str) -> tuple[Step, ...]:
    ins = Ref(name, Version.INS)
    return (
        AssertCounts(name),
        Subtract(Ref(name, Version.PLUS), ins, (Ref(name, Version.OLD),)),
        Subtract(Ref(name, Version.MINUS), Ref(name, Version.DEL), (ins,)),
    )
