"""Terms: what stands in an argument place or on a side of a comparison."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from foreset.diagnostics import Span
from foreset.ir.types import Type

Value = bool | int | float | Decimal | str | bytes | datetime.date | datetime.datetime | tuple["Value", ...] | None
Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. `_` is written anew as `_1`, `_2` ... by rewrite, so that no two are one."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def anonymous(self) -> bool:
        """True for `_` and for the names that rewrite gives to it: they may occur once only."""
        return self.name == "_" or (self.name[0] == "_" and self.name[1:].isdigit())


@dataclass(frozen=True, slots=True)
class Const:
    """A constant with its type; there is no null constant."""

    value: Value
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator from the allow-list, applied to terms."""

    function: str
    args: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Term = Var | Const | Call


def variables(term: Term) -> Iterator[Var]:
    """Every occurrence of a variable in `term`, from left to right."""
    match term:
        case Var():
            yield term
        case Call(args=args):
            for arg in args:
                yield from variables(arg)
        case Const():
            return


def constants(term: Term) -> Iterator[Const]:
    """Every constant in `term`, from left to right."""
    match term:
        case Const():
            yield term
        case Call(args=args):
            for arg in args:
                yield from constants(arg)
        case Var():
            return


def names_in(*terms: Term) -> frozenset[str]:
    """The names of the variables that occur in any of `terms`."""
    return frozenset(var.name for term in terms for var in variables(term))
