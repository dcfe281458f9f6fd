"""`insert`: only insertions reach the stratum, so nothing can go: semi-naive from what came."""

from __future__ import annotations

from foreset.ir.steps import Derivation, Derive, Merge, Phase, Procedure, Ref, Repeat, Step, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import insertions
from foreset.maintain.flips import Flips


def insert(stratum: Stratum) -> Procedure:
    """Translate `stratum`, into which no deletion flows."""
    flips = Flips()
    steps = insertion_steps(stratum, flips)
    results = tuple(Subtract(Ref(v, Version.PLUS), Ref(v, Version.INS)) for v in stratum.names)
    return Procedure("insert", stratum.names, (Phase("insert", (*steps, *results)),), flips.helpers)


def insertion_steps(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    """Rules I of paper 000, semi-naive: fill INS with what the live rows do not have yet."""
    own = frozenset(stratum.names)
    seeds, rounds = [], []
    for view in stratum.views:
        variants = [found for rule in view.rules for found in insertions(rule, own)]
        target, known = Ref(view.name, Version.INS_NEXT), (Ref(view.name, Version.LIVE),)
        first = tuple(flips.noted(v.rule, v.flip) for v in variants if not v.within_stratum)
        seeds.append(Derivation(target, first, without=known))
        rounds.append(Derivation(target, tuple(v.rule for v in variants if v.within_stratum), without=known))
    nexts = tuple(Ref(name, Version.INS_NEXT) for name in stratum.names)
    merges = tuple(Merge(Ref(name, Version.INS), Ref(name, Version.INS_NEXT)) for name in stratum.names)
    start = (*flips.taken(), Derive(tuple(seeds)))
    if not stratum.loops:
        return (*start, *merges)
    return (*start, Repeat((*merges, Derive(tuple(rounds))), nexts))
