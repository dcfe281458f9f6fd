"""Whether a rule can derive a row twice, told from its head and from what tells rows below apart."""

from __future__ import annotations

from collections.abc import Mapping

from foreset.ir.rules import Atom, Let, Literal, Rule, literal_variables
from foreset.ir.terms import Var, names_in


def tells_apart(rule: Rule, keys: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether each row of the head says which rows it was derived from, so that no other derivation has it.

    `keys` has, by relation, the places of columns in which no two rows agree; else all columns are needed.
    What the head shows tells one row apart, its columns tell the next: an order its customer, a customer the nation.
    """
    known = {arg.name for arg in rule.head.args if isinstance(arg, Var)}
    left = [literal for literal in rule.body if isinstance(literal, (Atom, Let))]
    while found := [literal for literal in left if _needs(literal, keys) <= known]:
        known |= {var.name for literal in found for var in literal_variables(literal)}
        left = [literal for literal in left if literal not in found]
    return not any(isinstance(literal, Atom) for literal in left)


def _needs(literal: Literal, keys: Mapping[str, tuple[int, ...]]) -> frozenset[str]:
    """The variables by which the others of an atom or a `=` are known."""
    match literal:
        case Atom(relation=relation, args=args):
            return names_in(*(args[place] for place in keys.get(relation, range(len(args)))))
        case Let(term=term):
            return names_in(term)
        case _:
            raise TypeError(f"{literal} binds nothing")
