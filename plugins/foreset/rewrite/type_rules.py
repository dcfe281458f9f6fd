"""Rules in normal form with the type of every variable, and every constant typed by its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from foreset.analyse.constants import adapt, settled
from foreset.ir.functions import type_of
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test
from foreset.ir.terms import Const, Term
from foreset.ir.types import Type

Types = Mapping[str, Type]
Schemas = Mapping[str, tuple[Column, ...]]


def type_rule(rule: Rule, types: Types, schemas: Schemas) -> Rule:
    """`rule` with `types`; a constant that its place cannot hold keeps its own type, for analysis to find."""
    body = tuple(_literal(literal, types, schemas) for literal in rule.body)
    return replace(rule, head=_atom(rule.head, schemas), body=body, types=dict(types))


def _literal(literal: Literal, types: Types, schemas: Schemas) -> Literal:
    match literal:
        case Atom():
            return _atom(literal, schemas)
        case Negation(atom=atom):
            return replace(literal, atom=_atom(atom, schemas))
        case Comparison(left=left, right=right):
            left, right = settled(left, types), settled(right, types)
            return replace(literal, left=_beside(left, right, types), right=_beside(right, left, types))
        case Test(call=call):
            return replace(literal, call=settled(call, types))
        case Let(var=var, term=term):
            return replace(literal, term=_as(settled(term, types), types.get(var.name)))


def _atom(atom: Atom, schemas: Schemas) -> Atom:
    columns = schemas[atom.relation]
    return replace(atom, args=tuple(_as(arg, c.type) for arg, c in zip(atom.args, columns, strict=True)))


def _beside(term: Term, other: Term, types: Types) -> Term:
    """A constant with the type of what it is compared with."""
    return term if isinstance(other, Const) else _as(term, type_of(other, types))


def _as(term: Term, kind: Type | None) -> Term:
    return (adapt(term, kind) or term) if kind is not None and isinstance(term, Const) else term
