"""Which variables of a rule have a value, and where each of them stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from foreset.ir.rules import Atom, Comparison, Let, Literal, Rule, literal_variables
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


# ---------------------------------------------------------------- rules as written
def bound_by_places(body: Iterable[Literal]) -> Iterator[str]:
    """The variables that stand in a place of a positive atom, not in an expression there."""
    for literal in body:
        if isinstance(literal, Atom):
            yield from (arg.name for arg in literal.args if isinstance(arg, Var) and arg.name != "_")


def assigned(body: Iterable[Literal], known: Collection[str]) -> Iterator[tuple[str, Comparison]]:
    """The variables that an `=` gives a value, once those in `known` have one."""
    for literal in body:
        if isinstance(literal, Comparison) and literal.op == "=":
            for var, term in ((literal.left, literal.right), (literal.right, literal.left)):
                if isinstance(var, Var) and var.name not in known and names_in(term) <= set(known):
                    yield var.name, literal


def bound_as_written(body: Iterable[Literal], known: Iterable[str] = ()) -> frozenset[str]:
    """The variables that literals as written give a value, beside those in `known`."""
    literals = tuple(body)
    found = {*known, *bound_by_places(literals)}
    while more := {name for name, _ in assigned(literals, found)}:
        found |= more
    return frozenset(found)
