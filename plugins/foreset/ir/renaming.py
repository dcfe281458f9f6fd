"""Rules and terms with other names for their variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Call, Term, Var


def numbered(rule: Rule) -> Rule:
    """A rule without sets, with its variables called by their order, so that equal rules are equal."""
    names: dict[str, Term] = {}
    for var in _occurrences(rule):
        names.setdefault(var.name, Var(f"V{len(names)}"))
    body = tuple(filled(literal, names) for literal in rule.body)
    return Rule(replace(rule.head, args=tuple(substituted(arg, names) for arg in rule.head.args)), body)


def nameless(literal: Literal) -> Literal:
    """The literal with one name for all variables."""
    return rename_literal(literal, {var.name: "V" for var in literal_variables(literal)})


def rename_literal(literal: Literal, names: Mapping[str, str]) -> Literal:
    """`literal` with the variables that `names` has called otherwise."""
    return filled(literal, {name: Var(other) for name, other in names.items()})


def filled(literal: Literal, terms: Mapping[str, Term]) -> Literal:
    """`literal` with terms in place of the variables that `terms` has; what gave one of them its value compares."""
    match literal:
        case Atom(args=args):
            return replace(literal, args=tuple(substituted(arg, terms) for arg in args))
        case Negation(atom=atom):
            return Negation(replace(atom, args=tuple(substituted(arg, terms) for arg in atom.args)))
        case Comparison(op=op, left=left, right=right):
            return Comparison(op, substituted(left, terms), substituted(right, terms))
        case Test(call=call):
            return replace(literal, call=substituted(call, terms))
        case Let(var=var, term=term):
            given = terms.get(var.name, var)
            value = substituted(term, terms)
            return Let(given, value) if isinstance(given, Var) else Comparison("=", given, value)


def substituted(term: Term, terms: Mapping[str, Term]) -> Term:
    """`term` with terms in place of the variables that `terms` has."""
    match term:
        case Var(name=name):
            return terms.get(name, term)
        case Call(args=args):
            return replace(term, args=tuple(substituted(arg, terms) for arg in args))
        case _:
            return term


def _occurrences(rule: Rule) -> Iterator[Var]:
    for literal in (rule.head, *rule.body):
        yield from literal_variables(literal)
