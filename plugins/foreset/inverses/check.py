"""Is a declared inverse one? Tried on samples, by a solver, and on states that many adds reach.

A false inverse would not show until a night that removes something, and then in wrong numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from foreset.analyse.aggregates import prepared
from foreset.analyse.faults import aggregates as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.inverses.counterexamples import counterexample
from foreset.inverses.fold_laws import (
    Machine,
    in_any_order,
    is_overflow,
    machine_of,
    merged_from,
    shown_member,
    undone,
)
from foreset.inverses.fold_samples import members
from foreset.inverses.long_runs import broken_in_long_runs
from foreset.ir.aggregates import Definition, Fold, InPython
from foreset.ir.program import Program
from foreset.rewrite.pipeline import Prepared
from foreset.values.errors import Failure

MOST = 24  # members that are tried with each other
STEPS = 12_000  # adds of long runs, for all aggregates of a spec together
EFFORT = 200_000  # of the solver for one question, shared likewise


def proven(found: Prepared) -> Prepared:
    """What was prepared, or its faults, if an inverse of its aggregates is none."""
    told = tuple(check_inverses(found.program)) if found.program else ()
    found.report.extend(told)
    return found if found.report.ok else Prepared(None, None, found.report)


def check_inverses(program: Program) -> Iterator[Diagnostic]:
    """One fault for each aggregate of the spec whose `remove` or `merge` is not what it says."""
    sound, _ = prepared(program.aggregates)
    folds = [(one, one.fold) for one in sound.values() if one.fold is not None]
    claims = sum(fold.remove is not None or fold.merge is not None for _, fold in folds)
    for one, fold in folds:
        yield from _tried(one, fold, max(claims, 1))


def _tried(one: Definition, fold: Fold, among: int) -> Iterator[Diagnostic]:
    place = _place(one, fold)
    try:
        machine = machine_of(fold)
    except Failure as failure:
        yield faults.false_inverse(one.name, place, f"`zero` fails: {failure}")
        return
    if fold.remove is None and fold.merge is None:
        return
    if text := _on_samples(machine):
        yield faults.false_inverse(one.name, place, text)
        return
    found = counterexample(machine, EFFORT // among)
    text = found.text if found.reached else "" if found.proved else broken_in_long_runs(machine, STEPS // among)
    if text:
        yield faults.false_inverse(one.name, place, text)
    elif found.text:
        yield faults.perhaps_no_inverse(one.name, place, found.text)


def _place(one: Definition, fold: Fold) -> Span:
    term = fold.remove or fold.merge or fold.add
    span = None if isinstance(term, InPython) else term.span
    return span or one.span or Span("", 1, 1)


def _on_samples(machine: Machine) -> str:
    """The first law that a sample breaks; empty when all hold."""
    few = tuple(islice(members(machine.fold), MOST))
    for law in (undone, in_any_order, merged_from):
        for a, b, c in product(few, few, few[:3]):
            try:
                text = law(machine, machine.add(machine.zero, *(b if law is undone else c)), (a, b))
            except Failure as failure:
                if is_overflow(failure):  # these samples are too large for the type; the law may hold
                    continue
                shown = f"{shown_member(machine.fold, a)}, {shown_member(machine.fold, b)}"
                text = f"an expression fails on {shown}: {failure}"
            if text:
                return text
    return ""
