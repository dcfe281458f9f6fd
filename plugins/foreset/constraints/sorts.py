"""Sorts of variables, and their values as whole numbers of ticks.

A decimal with two places counts hundredths, a date days, a timestamp microseconds, a boolean is 0 or 1.
So every number is an integer and linear constraints over them can be decided. Text has no ticks.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import total_ordering

from foreset.ir.terms import Value
from foreset.ir.types import BOOLEAN, DATE, INT, MAX_PRECISION, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type, decimal

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - naive is UTC here
_MICROSECOND = dt.timedelta(microseconds=1)
_EXACT = Context(prec=200, rounding=ROUND_FLOOR)


@dataclass(frozen=True, slots=True, order=True)
class Sort:
    """What a variable ranges over; `scale` counts decimal places of numbers."""

    kind: str
    scale: int = 0

    def __str__(self) -> str:
        return str(type_of_sort(self))


NUMBER, TEXT, TRUTH = Sort("number"), Sort("text"), Sort("boolean")
DAY, MOMENT, LOCAL_MOMENT = Sort("date"), Sort("timestamp"), Sort("timestamp_ntz")
_SORTS = {STRING: TEXT, BOOLEAN: TRUTH, DATE: DAY, TIMESTAMP: MOMENT, TIMESTAMP_NTZ: LOCAL_MOMENT}


@total_ordering
@dataclass(frozen=True, slots=True)
class Variable:
    """A variable with its sort; columns of entries carry the names of their columns."""

    name: str
    sort: Sort

    def __hash__(self) -> int:
        return hash(self.name)  # names tell variables apart nearly always, and they are looked up often

    def __lt__(self, other: Variable) -> bool:
        return (self.name, self.sort) < (other.name, other.sort)


def sort_of(kind: Type) -> Sort | None:
    """The sort of a column; None where constraints cannot be exact (double, float) or make no sense."""
    if kind.is_integral:
        return NUMBER
    if kind.name == "decimal":
        return Sort("number", kind.scale)
    return _SORTS.get(kind)


def type_of_sort(sort: Sort) -> Type:
    """A type that has this sort, for printing."""
    if sort.kind == "number":
        return decimal(MAX_PRECISION, sort.scale) if sort.scale else INT
    return next(kind for kind, known in _SORTS.items() if known == sort)


def sort_of_value(value: Value) -> Sort | None:
    """The sort of a constant."""
    match value:
        case bool():
            return TRUTH
        case int():
            return NUMBER
        case Decimal():
            exponent = value.as_tuple().exponent
            return Sort("number", max(0, -exponent)) if isinstance(exponent, int) else None
        case str():
            return TEXT
        case dt.datetime():
            return MOMENT
        case dt.date():
            return DAY
        case _:
            return None


def ticks(value: Value, sort: Sort) -> Fraction | int | None:
    """`value` in ticks of `sort`, perhaps between two of them; None when it is of another kind."""
    match value:
        case bool():
            return int(value) if sort.kind == "boolean" else None
        case int():
            return value * 10**sort.scale if sort.kind == "number" else None
        case Decimal():
            return Fraction(value) * 10**sort.scale if sort.kind == "number" else None
        case dt.datetime():
            return (value - _EPOCH) // _MICROSECOND if sort.kind.startswith("timestamp") else None
        case dt.date():
            return value.toordinal() if sort.kind == "date" else None
        case _:
            return None


def from_ticks(number: int, sort: Sort) -> Value:
    """The value that `number` ticks stand for; OverflowError or ValueError beyond the calendar."""
    match sort.kind:
        case "boolean":
            return bool(number)
        case "date":
            return dt.date.fromordinal(number)
        case "timestamp" | "timestamp_ntz":
            return _EPOCH + number * _MICROSECOND
        case _ if sort.scale:
            return _EXACT.scaleb(Decimal(number), -sort.scale)
        case _:
            return number
