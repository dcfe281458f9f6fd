"""Casts as columns: Spark's own, behind patterns that let only plain text through; other text stops the refresh."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.ir.types import BIGINT, BOOLEAN, DOUBLE, Type, decimal
from foreset.store.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

Columns = Sequence["Column"]
Kinds = tuple[Type, ...]

LONG_LIMIT = 2.0**63
WHOLE_FROM = float(1 << 52)
MAX_TEXT = 1000

_WHOLE = r"\A[+-]?[0-9]{1,1000}\z"
_DECIMAL = r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\z"
_DOUBLE = r"\A[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z"
_DATE = r"\A(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_MOMENT = r"\A(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?\z"
_BOOLEAN = r"\A(?i:t|true|y|yes|1|f|false|n|no|0)\z"


def null_or(value: Column, result: Column) -> Column:
    """NULL where `value` is NULL."""
    return F.when(value.isNotNull(), result)


def fail_unless(condition: Column, value: Column, result: Column, reason: str) -> Column:
    """`result` where `condition` holds, NULL where `value` is NULL, and a failure elsewhere."""
    return F.when(value.isNull(), F.lit(None)).when(condition, result).otherwise(F.raise_error(F.lit(reason)))


def half_up(value: Column) -> Column:
    """The nearest whole number of doubles below 2^52, halves away from zero; exact."""
    size = F.abs(value)
    whole = F.floor(size).cast(spark_type(DOUBLE))
    rounded = F.when(size - whole >= 0.5, whole + 1.0).otherwise(whole)
    return F.when(value < 0, -rounded).otherwise(rounded)


def _from_text(text: Column, pattern: str, result: Type, via: Type | None = None) -> Column:
    """`text` cast to `result` where it matches `pattern`."""
    plain = F.rlike(text, F.lit(pattern)) & (F.char_length(text) <= MAX_TEXT)
    value = text.cast(spark_type(via or result)).cast(spark_type(result))
    return fail_unless(plain, text, value, f"bad cast: the text is no {result}")


def to_integral(args: Columns, kinds: Kinds, result: Type) -> Column:
    """Towards zero; doubles beyond the range are refused here, since Spark's limit is off by one."""
    value = args[0]
    if kinds[0].name == "string":
        return _from_text(value, _WHOLE, result)
    if kinds[0].is_fractional:
        value = value.cast(spark_type(DOUBLE))
        fits = (value >= F.lit(-LONG_LIMIT)) & (value < F.lit(LONG_LIMIT))
        value = fail_unless(fits, value, value.cast(spark_type(BIGINT)), f"bad cast: the number is no {result}")
    return value.cast(spark_type(result))


def to_fraction(args: Columns, kinds: Kinds, result: Type) -> Column:
    """By way of double, so that a float is rounded from it on either side."""
    if kinds[0].name == "string":
        return _from_text(args[0], _DOUBLE, result, via=DOUBLE)
    return args[0].cast(spark_type(DOUBLE)).cast(spark_type(result))


def to_decimal(args: Columns, kinds: Kinds, result: Type) -> Column:
    """Rounded half up; of a double it is `X * 10^s`, rounded, that counts."""
    if kinds[0].name == "string":
        return _from_text(args[0], _DECIMAL, result)
    if not kinds[0].is_fractional:
        return args[0].cast(spark_type(result))
    shifted = args[0].cast(spark_type(DOUBLE)) * F.lit(float(10**result.scale))
    fits = (F.abs(shifted) < F.lit(LONG_LIMIT)) & ~F.isnan(shifted)
    whole = F.when(F.abs(shifted) < F.lit(WHOLE_FROM), half_up(shifted)).otherwise(shifted)
    checked = fail_unless(fits, shifted, whole.cast(spark_type(BIGINT)), f"bad cast: the number is no {result}")
    unit = F.lit(Decimal(1).scaleb(-result.scale)).cast(spark_type(decimal(result.scale + 1, result.scale)))
    return (checked.cast(spark_type(decimal(19, 0))) * unit).cast(spark_type(result))


def to_boolean(args: Columns, kinds: Kinds, result: Type) -> Column:
    """Zero is false; text as Spark reads it, without spaces."""
    if kinds[0].name == "string":
        return _from_text(args[0], _BOOLEAN, BOOLEAN)
    return args[0].cast(spark_type(result))


def to_string(args: Columns, _kinds: Kinds, result: Type) -> Column:
    """As Spark writes it."""
    return args[0].cast(spark_type(result))


def to_date(args: Columns, kinds: Kinds, result: Type) -> Column:
    """The day of a timestamp, or the one that text writes."""
    return _from_text(args[0], _DATE, result) if kinds[0].name == "string" else args[0].cast(spark_type(result))


def to_timestamp(args: Columns, kinds: Kinds, result: Type) -> Column:
    """Midnight of a date, or the time that text writes."""
    return _from_text(args[0], _MOMENT, result) if kinds[0].name == "string" else args[0].cast(spark_type(result))
