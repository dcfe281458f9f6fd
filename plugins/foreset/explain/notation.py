"""Rules in normal form, made readable again: `_` for what nobody reads, names where many columns are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foreset.ir.program import Column
from foreset.ir.rules import Atom, Literal, Negation, Rule
from foreset.ir.terms import Term, Var

Columns = Mapping[str, Sequence[Column]]


def readable(rule: Rule, columns: Columns) -> Rule:
    """The rule as a person would write it."""
    return replace(rule, body=tuple(_literal(literal, columns) for literal in rule.body))


def _literal(literal: Literal, columns: Columns) -> Literal:
    match literal:
        case Atom():
            return _atom(literal, columns)
        case Negation(atom=atom):
            return replace(literal, atom=_atom(atom, columns))
        case _:
            return literal


def _atom(atom: Atom, columns: Columns) -> Atom:
    """Named arguments where two or more are left out, as rules over wide tables have them."""
    blank = [_is_blank(arg) for arg in atom.args]
    known = columns.get(atom.relation)
    if known and 1 < sum(blank) < len(blank):
        named = [(c.name, arg) for c, arg, left_out in zip(known, atom.args, blank, strict=True) if not left_out]
        return replace(atom, args=tuple(arg for _, arg in named), columns=tuple(name for name, _ in named))
    return replace(atom, args=tuple(Var("_") if _is_blank(arg) else arg for arg in atom.args))


def _is_blank(arg: Term) -> bool:
    return isinstance(arg, Var) and replace(arg, name=arg.name.rstrip("~")).anonymous  # `~`: renamed by a helper
