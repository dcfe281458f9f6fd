"""Which literals of a rule are aggregates: `count(S, W)` reads like a relation, and is one unless S is a set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from foreset.diagnostics import Report, Span
from foreset.ir.functions import FUNCTIONS
from foreset.ir.rules import Aggregated, Atom, Literal, Rule, SetOf
from foreset.ir.terms import Var
from foreset.spec import rule_faults

_NOWHERE = Span("", 1, 1)
_LEAST = 2  # the set and the result


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a spec declares."""

    relations: frozenset[str]
    aggregates: frozenset[str]

    def aggregate(self, literal: Literal) -> bool:
        """True for a literal that names an aggregate; relations hide them."""
        named = isinstance(literal, Atom) and literal.relation in self.aggregates
        return named and literal.relation not in self.relations  # type: ignore[union-attr]


def with_aggregates(rule: Rule, scope: Scope, plain: Callable[[Literal], Literal], report: Report) -> Rule:
    """`rule` with its aggregates beside the sets that they are made of; `plain` tells functions from relations."""
    sets: dict[str, SetOf] = {}
    for i, one in enumerate(rule.sets):
        if one.var.name in sets and not one.local:
            report.add(rule_faults.set_twice(one.var.name, one.span or _NOWHERE))
        sets[f"{i}" if one.local else one.var.name] = replace(one, body=tuple(map(plain, one.body)))
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Atom) and (scope.aggregate(literal) or _of_set(literal, sets, scope)):
            _take(literal, sets, report)
        else:
            body.append(plain(literal))
    for literal in (inner for one in sets.values() for inner in one.body):
        if scope.aggregate(literal):
            report.add(rule_faults.nested_aggregate(literal.span or _NOWHERE))
    return replace(rule, body=tuple(body), sets=tuple(sets.values()))


def _of_set(atom: Atom, sets: Mapping[str, SetOf], scope: Scope) -> bool:
    """An aggregate that nobody here knows: analysis, or the deployment, may."""
    first = atom.args[0] if atom.args else None
    named = isinstance(first, Var) and first.name in sets
    return named and atom.relation not in scope.relations and atom.relation not in FUNCTIONS


def _take(atom: Atom, sets: dict[str, SetOf], report: Report) -> None:
    span = atom.span or _NOWHERE
    first = atom.args[0] if atom.args else None
    if atom.columns is not None or not isinstance(first, Var) or first.name not in sets or len(atom.args) < _LEAST:
        report.add(rule_faults.not_a_set(atom.relation, span))
        return
    one = sets[first.name]
    found = Aggregated(atom.relation, atom.args[2:], atom.args[1], span)
    sets[first.name] = replace(one, aggregates=(*one.aggregates, found))
