"""Every variable must get its value from a positive atom, or be computed from such.

A variable that stands in one negation and nowhere else needs none: there, it means any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foreset.analyse.binding import bound, occurrences
from foreset.analyse.faults import safety as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.rules import Atom, Literal, Negation, Rule, literal_variables
from foreset.ir.terms import Term, Var
from foreset.ir.text import print_literal, print_term


def check(rule: Rule, pulled: Mapping[str, Term]) -> tuple[Diagnostic, ...]:
    """One fault for each variable of a rule in normal form that has no value."""
    known = bound(rule)
    names = sorted(known - pulled.keys())
    places: dict[str, list[tuple[Var, Literal]]] = {}
    for var, literal in occurrences(rule):
        if var.name not in known and var.name not in pulled:
            places.setdefault(var.name, []).append((var, literal))
    return tuple(fault for found in places.values() for fault in _fault(rule, found, names, pulled))


def _fault(
    rule: Rule, found: list[tuple[Var, Literal]], known: list[str], pulled: Mapping[str, Term]
) -> Iterator[Diagnostic]:
    var, literal = found[0]
    negated = any(isinstance(one, Negation) for _, one in found)
    conditions = [(v, one) for v, one in found if not isinstance(one, Atom | Negation)]
    if literal is rule.head:
        yield faults.unbound_in_head(var.name, _span(rule, var), rule.head.relation, known, negated=negated)
    elif conditions:
        var, literal = min(conditions, key=lambda pair: _span(rule, pair[0]))  # as written, not as evaluated
        text = _text(literal, pulled)
        yield faults.unbound_in_condition(var.name, _span(rule, var), text, known, negated=negated)
    elif len({id(one) for _, one in found}) > 1:
        yield faults.unbound_in_negation(var.name, _span(rule, found[1][0]), known)


def _text(literal: Literal, pulled: Mapping[str, Term]) -> str:
    """The literal as written: without the variable that stands for an expression."""
    for name in {v.name for v in literal_variables(literal)} & pulled.keys():
        return print_term(pulled[name])
    return print_literal(literal)


def _span(rule: Rule, var: Var) -> Span:
    return var.span or rule.span or Span("", 1, 1)
