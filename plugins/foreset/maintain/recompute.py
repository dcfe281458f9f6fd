"""`recompute`: the stratum from nothing, compared with what was, so that differentials stay exact."""

from __future__ import annotations

from dataclasses import replace

from foreset.ir.steps import (
    Count,
    Derivation,
    Derive,
    Forget,
    Merge,
    Phase,
    Procedure,
    Ref,
    Repeat,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.strata import Stratum
from foreset.ir.supports import unfolded
from foreset.ir.versions import Version
from foreset.maintain.differentiate import evaluation, evaluation_rounds, is_recursive
from foreset.maintain.dredc import counts


def recompute(stratum: Stratum, *, counted: bool = False, single: bool = False) -> Procedure:
    """Translate any stratum; `counted`: its counters are built on the way; `single`: no row has two derivations."""
    if stratum.supported:
        steps = (*_semi_naive(replace(stratum, views=unfolded(stratum.views))), _supports(stratum))
    else:
        steps = _counted(stratum) if counted and not stratum.recursive else _semi_naive(stratum, single=single)
    if counted and (stratum.recursive or stratum.supported):
        steps = (*steps, *_recount(stratum))
    results = tuple(step for name in stratum.names for step in _difference(name))
    phases = (Phase("build", (*steps, *results)),)
    return Procedure("recompute", stratum.names, phases, counted=stratum.names if counted else ())


def _semi_naive(stratum: Stratum, *, single: bool = False) -> tuple[Step, ...]:
    own = frozenset(stratum.names)
    seeds, rounds = [], []
    for view in stratum.views:
        base = (rule for rule in view.rules if not is_recursive(rule, own))
        target, known = Ref(view.name, Version.FULL_NEXT), (Ref(view.name, Version.FULL),)
        first = tuple(evaluation(rule, own, Version.FULL, Version.FULL) for rule in base)
        seeds.append(Derivation(target, first, single=single))
        variants = tuple(variant for rule in view.rules for variant in evaluation_rounds(rule, own))
        rounds.append(Derivation(target, variants, without=known))
    merges = tuple(Merge(Ref(name, Version.FULL), Ref(name, Version.FULL_NEXT)) for name in stratum.names)
    if not stratum.recursive:
        return (Derive(tuple(seeds)), *merges)
    nexts = tuple(Ref(name, Version.FULL_NEXT) for name in stratum.names)
    return (Derive(tuple(seeds)), Repeat((*merges, Derive(tuple(rounds))), nexts))


def _supports(stratum: Stratum) -> Step:
    """When all rows are there, one evaluation of each rule gives their supports."""
    own = frozenset(stratum.names)
    found = (rule for view in stratum.views if view.supports for rule in view.rules)
    rules = (evaluation(rule, own, Version.FULL, Version.FULL) for rule in found)
    return Derive(tuple(Derivation(Ref(rule.head.relation, Version.FULL), (rule,)) for rule in rules))


def _counted(stratum: Stratum) -> tuple[Step, ...]:
    """One evaluation gives rows and counters alike."""
    (view,) = stratum.views
    return (*_recount(stratum), Merge(Ref(view.name, Version.FULL), Ref(view.name, Version.TOUCHED)))


def _recount(stratum: Stratum) -> tuple[Step, ...]:
    own = frozenset(stratum.names)
    parts: list[Count] = []
    for view in stratum.views:
        pairs = ((rule, evaluation(rule, own, Version.FULL, Version.TOUCHED)) for rule in view.rules)
        parts += counts(view.name, own, 1, pairs)
    return (*(Forget(name) for name in stratum.names), Tally(tuple(parts)))


def _difference(name: str) -> tuple[Step, Step]:
    full, old = Ref(name, Version.FULL), Ref(name, Version.OLD)
    return Subtract(Ref(name, Version.PLUS), full, (old,)), Subtract(Ref(name, Version.MINUS), old, (full,))
