"""`dredc`: DRed with counters (Hu, Motik, Horrocks, AAAI 2018): no rule is evaluated backwards.

Two counters stand on each row: derivations without the row's own stratum in the
body, and with it. A row that keeps a base derivation is a wall for the deletion;
every other row that loses one goes, at first. What still has a recursive
derivation when the deletion has come to rest is put back: that test is a look at
a counter, where `dred` must join. Counting alone would keep unfounded cycles.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from foreset.maintain.differentiate import gained, gained_in_round, is_recursive, lost, lost_in_round
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


def _delete(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    own = frozenset(stratum.names)
    first: list[Count] = []
    later: list[Count] = []
    for view in stratum.views:
        ended = [(rule, flips.noted(*found)) for rule in view.rules for found in lost(rule, own)]
        first += counts(view.name, own, -1, ended)
        rounds = [(rule, variant) for rule in view.rules for variant in lost_in_round(rule, own)]
        later += counts(view.name, own, -1, rounds)
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
    start: tuple[Step, ...] = (*flips.taken(), Tally(tuple(first)), *falling)
    return (*start, Repeat((*merges, Tally(tuple(later)), *falling), nexts))


def _insert(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    own = frozenset(stratum.names)
    first: list[Count] = []
    later: list[Count] = []
    for view in stratum.views:
        begun = [(rule, flips.noted(*found)) for rule in view.rules for found in gained(rule, own)]
        first += counts(view.name, own, 1, begun)
        rounds = [(rule, variant) for rule in view.rules for variant in gained_in_round(rule, own)]
        later += counts(view.name, own, 1, rounds)
    start: list[Step] = [*flips.taken()]
    # what recursion still derives is put back
    start += [Pick(Ref(name, Version.RED_NEXT), Ref(name, Version.DEL), Standing.STANDING) for name in stratum.names]
    start.append(Tally(tuple(first)))
    for name in stratum.names:
        start.append(_rising(name, Ref(name, Version.RED_NEXT)))
        start.append(Merge(Ref(name, Version.INS_NEXT), Ref(name, Version.RED_NEXT)))
    merges = tuple(Merge(Ref(name, Version.INS), Ref(name, Version.INS_NEXT)) for name in stratum.names)
    rises = tuple(_rising(name) for name in stratum.names)
    nexts = tuple(Ref(name, Version.INS_NEXT) for name in stratum.names)
    loop = Repeat((Tally(tuple(later)), *merges, *rises), nexts)
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
