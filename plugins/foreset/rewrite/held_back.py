"""What is not answered yet: `not in(...)` of a function that may keep old answers holds only where there is an answer.

    homeless(N) :- person(N), not in(book:city(N))

becomes, with `on_error: keep`,

    homeless(N) :- person(N), not book~city(N, _), not book~city~held(N)

The last relation has the arguments for which the domain failed and never answered before. It is empty on most days.
"""

from __future__ import annotations

from collections.abc import Set

from foreset.ir.asked import held_name
from foreset.ir.domains import DomainFunction
from foreset.ir.program import Column
from foreset.ir.rules import Atom, DomainCall, Negation
from foreset.ir.terms import Const, Row, Term
from foreset.ir.types import BOOLEAN

_ONLY = Const(value=True, type=BOOLEAN)  # the one value of such a relation of a function without arguments


def held_columns(function: DomainFunction) -> tuple[Column, ...]:
    """Its columns."""
    return function.args or (Column("held", BOOLEAN),)


def held_rows(function: DomainFunction, arguments: Set[Row]) -> frozenset[Row]:
    """Its rows."""
    return frozenset(arguments if function.args else ((_ONLY.value,) for _ in arguments))


def held_atom(called: str, arguments: tuple[Term, ...]) -> Atom:
    """An atom of it."""
    return Atom(held_name(called), arguments or (_ONLY,))


def answered(call: DomainCall) -> Negation:
    """The literal that says that a call has an answer."""
    return Negation(held_atom(call.called, call.args), call.span)
