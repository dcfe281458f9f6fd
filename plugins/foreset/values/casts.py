"""Casts. Text must be written plainly: what Spark would guess at is a failure here and there."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

from foreset.ir.terms import Value
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.values.errors import Failure
from foreset.values.moments import as_date, midnight
from foreset.values.numbers import half_up, scaled, within

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")
_TRUE, _FALSE = frozenset(("t", "true", "y", "yes", "1")), frozenset(("f", "false", "n", "no", "0"))
MAX_TEXT = 1000  # characters of a number


def _refuse(value: Value, kind: Type | str) -> Failure:
    shown = f'"{value[:40]}"' if isinstance(value, str) else str(value)
    return Failure(f"bad cast: {shown} is no {kind}")


def _match(pattern: re.Pattern[str], text: str, kind: Type) -> str:
    if len(text) > MAX_TEXT or not pattern.fullmatch(text):
        raise _refuse(text, kind)
    return text


def to_integral(value: Any, result: Type) -> int:  # noqa: ANN401 - a number, a boolean or text
    """Towards zero; out of range is a failure."""
    if isinstance(value, str):
        return within(int(_match(_WHOLE, value, result)), result)
    if isinstance(value, float) and not math.isfinite(value):
        raise _refuse(value, result)
    return within(int(value), result)


def to_fraction(value: Any, result: Type) -> Value:  # noqa: ANN401 - a number or text
    """The nearest double; a float is the float nearest to that."""
    if isinstance(value, str):
        value = _match(_DOUBLE, value, result)
    return canonical(float(value), result)


def to_decimal(value: Any, result: Type) -> Decimal:  # noqa: ANN401 - a number or text
    """Rounded half up; of a double it is `X * 10^s`, rounded, that counts."""
    if isinstance(value, str):
        return scaled(Decimal(_match(_DECIMAL, value, result)), result)
    if not isinstance(value, float):
        return scaled(value, result)
    shifted = value * float(10**result.scale)
    if not abs(shifted) < 2.0**63:
        raise _refuse(value, result)
    return scaled(Decimal(int(half_up(shifted))).scaleb(-result.scale), result)


def to_boolean(value: Any) -> bool:  # noqa: ANN401 - a boolean, an integer or text
    """Zero is false; text as Spark reads it, without spaces."""
    if not isinstance(value, str):
        return bool(value)
    word = value.lower() if value.isascii() else value
    if word not in _TRUE | _FALSE:
        raise _refuse(value, "boolean")
    return word in _TRUE


def to_string(value: Any) -> str:  # noqa: ANN401 - anything but fractions and arrays
    """As Spark writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case dt.datetime():
            seconds = f"{value.date().isoformat()} {value:%H:%M:%S}"
            return f"{seconds}.{value.microsecond:06}".rstrip("0") if value.microsecond else seconds
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)


def to_date(value: Any, result: Type) -> dt.date:  # noqa: ANN401 - a date, a timestamp or text
    """The day of a timestamp, or the one that text writes."""
    if not isinstance(value, str):
        return as_date(value)
    try:
        return dt.date.fromisoformat(_match(_DATE, value, result))
    except ValueError as error:
        raise _refuse(value, result) from error


def to_timestamp(value: Any, result: Type) -> dt.datetime:  # noqa: ANN401 - a date, a timestamp or text
    """Midnight of a date, or the time that text writes."""
    if not isinstance(value, str):
        return midnight(value)
    try:
        return dt.datetime.fromisoformat(_padded(_match(_MOMENT, value, result)))
    except ValueError as error:
        raise _refuse(value, result) from error


def _padded(text: str) -> str:
    """With six digits of a fraction."""
    whole, dot, fraction = text.partition(".")
    return f"{whole}.{fraction:0<6}" if dot else whole
