"""Values in canonical form: equal values are one value, as Spark compares them.

-0.0 is 0.0, NaN is one NaN object (so that sets and dicts take it for itself), decimals
carry the scale of their column, floats have four bytes, timestamps are UTC.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

from foreset.ir.terms import Row, Value
from foreset.ir.types import Type, integral_range

NAN = float("nan")
DECIMALS = Context(prec=80, rounding=ROUND_HALF_UP)


def canonical_float(value: float) -> float:
    """The one representative of a double."""
    if math.isnan(value):
        return NAN
    return value + 0.0


def single(value: float) -> float:
    """Round a double to four bytes; beyond their range it is infinite, as in Java."""
    try:
        return canonical_float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def as_scaled(value: Decimal | int, kind: Type) -> Decimal | None:
    """`value` with the scale of `kind`, rounded half up; None when it has too many digits."""
    try:
        scaled = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), context=DECIMALS)
    except InvalidOperation:
        return None
    if not scaled:
        return scaled.copy_abs()  # there is one zero
    return scaled if len(scaled.as_tuple().digits) <= kind.precision else None


def canonical(value: Value, kind: Type) -> Value:
    """`value`, known to be of type `kind`, in its canonical form."""
    match value:
        case None:
            return None
        case float():
            return single(value) if kind.name == "float" else canonical_float(value)
        case Decimal():
            return as_scaled(value, kind)
        case datetime.datetime() if value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=None)
        case tuple() if kind.element is not None:
            return tuple(canonical(item, kind.element) for item in value)
        case _:
            return value


class Misfit(ValueError):
    """A written value that a column of the given type cannot hold; the text says why."""


def coerce(value: object, kind: Type) -> Value:
    """A value as people write it in YAML or CSV, in the canonical form of `kind`.

    Text stays text and numbers stay numbers: only what the type can hold exactly is
    taken, and decimals, dates and timestamps may also be written as text.
    """
    if value is None:
        return None
    taken = _coerced(value, kind)
    if taken is None:
        raise Misfit(f"{value!r} is not a value of type {kind}")
    return canonical(taken, kind)


def _coerced(value: object, kind: Type) -> Value:
    match kind.name:
        case "boolean":
            return value if isinstance(value, bool) else None
        case "string":
            return value if isinstance(value, str) else None
        case "binary":
            return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else None
        case "float" | "double":
            number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
            return float(value) if number else None  # type: ignore[arg-type]
        case "decimal":
            return _coerced_decimal(value, kind)
        case "date" | "timestamp" | "timestamp_ntz":
            return _coerced_time(value, kind)
        case "array":
            assert kind.element is not None
            items = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else None
            return None if items is None else tuple(coerce(item, kind.element) for item in items)
        case _:
            low, high = integral_range(kind)
            whole = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            return value if whole else None  # type: ignore[return-value]


def _coerced_decimal(value: object, kind: Type) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        return None
    scaled = as_scaled(exact, kind) if exact.is_finite() else None
    return scaled if scaled == exact else None


def _coerced_time(value: object, kind: Type) -> Value:
    try:
        if kind.name == "date":
            if isinstance(value, str):
                return datetime.date.fromisoformat(value)
            return value if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime) else None
        if isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    if isinstance(value, datetime.datetime):
        return value
    return datetime.datetime(value.year, value.month, value.day) if isinstance(value, datetime.date) else None  # noqa: DTZ001 - naive is UTC here


_RANK = {type(None): 0, bool: 1, int: 2, float: 2, Decimal: 2, str: 3, bytes: 4, datetime.date: 5, datetime.datetime: 6}


def sort_key(row: Row) -> tuple[object, ...]:
    """A total order of rows of one relation: NULL first, NaN above all numbers, as Spark sorts."""
    return tuple(_value_key(value) for value in row)


def _value_key(value: Value) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return (7, sort_key(value))
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2, 1, 0)
    rank = _RANK[type(value)]
    return (rank, 0, value) if rank == 2 else (rank, value)
