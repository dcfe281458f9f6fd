"""Which variables of a rule have a value, and where each of them stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foreset.ir.rules import Atom, Let, Literal, Rule, literal_variables
from foreset.ir.terms import Var, names_in


def bound_by_atoms(body: Iterable[Literal]) -> frozenset[str]:
    """The variables that positive atoms bind."""
    return frozenset(v.name for literal in body if isinstance(literal, Atom) for v in literal_variables(literal))


def bound(rule: Rule) -> frozenset[str]:
    """The variables of a rule in normal form that have a value: `Let`s follow what they read."""
    known = set(bound_by_atoms(rule.body))
    for literal in rule.body:
        if isinstance(literal, Let) and names_in(literal.term) <= known:
            known.add(literal.var.name)
    return frozenset(known)


def occurrences(rule: Rule) -> Iterator[tuple[Var, Literal]]:
    """Every variable of a rule with the literal in which it stands, the head first."""
    for literal in (rule.head, *rule.body):
        for var in literal_variables(literal):
            yield var, literal
