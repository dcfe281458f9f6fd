"""`dred`: delete and rederive, Algorithm 1 of paper 000; exact by its Theorem 1.

Delete: D over-estimates what goes, reading the old state. R takes back what the
new state still derives. Insert: I adds what comes. E1 drops idle insertions,
E2 phantom deletions. Lower strata enter by their net differentials alone, which
keeps phantom insertions out under negation.
"""

from __future__ import annotations

from foreset.ir.steps import Derivation, Derive, Merge, Phase, Procedure, Ref, Repeat, Step, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import deletions, is_recursive, rederivation, rederivation_rounds
from foreset.maintain.flips import Flips
from foreset.maintain.insert import insertion_steps


def dred(stratum: Stratum) -> Procedure:
    """Translate any stratum."""
    flips = Flips()
    delete = (*_overestimate(stratum, flips), *rederive(stratum))
    insert = (*insertion_steps(stratum, flips), *net(stratum))
    return Procedure("dred", stratum.names, (Phase("delete", delete), Phase("insert", insert)), flips.helpers)


def _overestimate(stratum: Stratum, flips: Flips) -> tuple[Step, ...]:
    own = frozenset(stratum.names)
    seeds, rounds = [], []
    for view in stratum.views:
        variants = [found for rule in view.rules for found in deletions(rule, own)]
        target, known = Ref(view.name, Version.DEL_NEXT), (Ref(view.name, Version.DEL),)
        first = tuple(flips.noted(v.rule, v.flip) for v in variants if not v.within_stratum)
        seeds.append(Derivation(target, first))
        rounds.append(Derivation(target, tuple(v.rule for v in variants if v.within_stratum), without=known))
    merges = tuple(Merge(Ref(name, Version.DEL), Ref(name, Version.DEL_NEXT)) for name in stratum.names)
    start = (*flips.taken(), Derive(tuple(seeds)))
    if not stratum.loops:
        return (*start, *merges)
    nexts = tuple(Ref(name, Version.DEL_NEXT) for name in stratum.names)
    return (*start, Repeat((*merges, Derive(tuple(rounds))), nexts))


def rederive(stratum: Stratum) -> tuple[Step, ...]:
    """Rules R: take back what the new state still derives, round by round."""
    own = frozenset(stratum.names)
    first, later = [], []
    for view in stratum.views:
        target, within = Ref(view.name, Version.RED_NEXT), Ref(view.name, Version.DEL)
        seeds = tuple(rederivation(rule, own, Version.LEFT) for rule in view.rules)
        first.append(Derivation(target, seeds, within))
        rounds = tuple(variant for rule in view.rules for variant in rederivation_rounds(rule, own))
        later.append(Derivation(target, rounds, within, (Ref(view.name, Version.RED),)))
    merges = tuple(Merge(Ref(name, Version.RED), Ref(name, Version.RED_NEXT)) for name in stratum.names)
    if not any(is_recursive(rule, own) for view in stratum.views for rule in view.rules):
        return (Derive(tuple(first)), *merges)
    nexts = tuple(Ref(name, Version.RED_NEXT) for name in stratum.names)
    return (Derive(tuple(first)), Repeat((*merges, Derive(tuple(later))), nexts))


def net(stratum: Stratum) -> tuple[Step, ...]:
    """Rules E: without idle insertions and phantom deletions."""

    def of(view: str) -> tuple[Step, Step]:
        ins, red = Ref(view, Version.INS), Ref(view, Version.RED)
        plus = Subtract(Ref(view, Version.PLUS), ins, (Ref(view, Version.OLD),))
        minus = Subtract(Ref(view, Version.MINUS), Ref(view, Version.DEL), (ins, red))
        return plus, minus

    return tuple(step for name in stratum.names for step in of(name))
