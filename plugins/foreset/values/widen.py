"""Implicit widening of single values, as a column of a narrower type meets a wider one."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

from foreset.ir.terms import Value
from foreset.ir.types import Type
from foreset.ir.values import as_scaled, canonical_float, single


def widened(value: Value, kind: Type) -> Value:
    """`value` of a type that fits `kind`, as a value of `kind`."""
    match kind.name, value:
        case _, None:
            return None
        case "float", (int() | float() | Decimal()):
            return single(float(value))
        case "double", (int() | float() | Decimal()):
            return canonical_float(float(value))
        case "decimal", (int() | Decimal()):
            return as_scaled(value, kind)
        case (("timestamp" | "timestamp_ntz"), datetime.date()) if not isinstance(value, datetime.datetime):
            return datetime.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive is UTC here
        case "array", tuple() if kind.element is not None:
            return tuple(widened(item, kind.element) for item in value)
        case _:
            return value


def widener(kind: Type | None) -> Callable[[Value], Value]:
    """`widened` for one type; the identity for None."""
    if kind is None:
        return _same
    return lambda value: widened(value, kind)


def _same(value: Value) -> Value:
    return value
