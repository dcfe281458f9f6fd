"""Every function of ir/functions.py as a Spark column: built by calls, never from text.

Arguments are cast to what the function needs before Spark could choose for itself, and
whatever Spark would take or give beyond the meaning in `values/` is made a failure.
Fractions never come out as -0.0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark import casts
from foreset.backends.spark.casts import fail_unless, null_or
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.types import BIGINT, DOUBLE, INT, STRING, Type, widen
from foreset.store.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

Columns = Sequence["Column"]
Kinds = tuple[Type, ...]
SIGNED_DIGITS = 34  # of a decimal, within which Spark's own minus is exact
Compiler = Callable[[Columns, Kinds, Type], "Column"]


def compile_call(name: str, args: list[Column], arg_types: Kinds, result_type: Type) -> Column:
    """The column of a call whose arguments have `arg_types`, in exactly `result_type`."""
    column = (COMPILERS.get(name) or INSIDE[name])(args, arg_types, result_type)
    if result_type.is_fractional:
        column = column + F.lit(0.0).cast(spark_type(result_type))
    return column.cast(spark_type(result_type))


def _plain(function: Callable[..., Column]) -> Compiler:
    """Columns in, column out."""
    return lambda args, _kinds, _result: function(*args)


def _arithmetic(function: Callable[[Column, Column], Column]) -> Compiler:
    """Both arguments in the type of the result; decimals keep their own, as Spark's rules want."""

    def compile_it(args: Columns, kinds: Kinds, result: Type) -> Column:
        left, right = (_operand(arg, kind, result) for arg, kind in zip(args, kinds, strict=True))
        return function(left, right)

    return compile_it


def _operand(arg: Column, kind: Type, result: Type) -> Column:
    return arg if result.name == "decimal" or kind == result else arg.cast(spark_type(result))


def _negate(args: Columns, kinds: Kinds, _result: Type) -> Column:
    return _minus(args[0], kinds[0])


def _abs(args: Columns, kinds: Kinds, _result: Type) -> Column:
    if kinds[0].precision <= SIGNED_DIGITS:
        return F.abs(args[0])
    return F.when(args[0] < _zero(kinds[0]), _minus(args[0], kinds[0])).otherwise(args[0])


def _minus(value: Column, kind: Type) -> Column:
    """Spark rounds a longer decimal when it turns the sign, so that is done in its text."""
    if kind.precision <= SIGNED_DIGITS:
        return -value
    text = value.cast(spark_type(STRING))
    turned = F.when(value < _zero(kind), F.substr(text, F.lit(2))).otherwise(F.concat(F.lit("-"), text))
    return turned.cast(spark_type(kind))


def _zero(kind: Type) -> Column:
    """Zero in the value's own type: beside an int, Spark would round the value."""
    return F.lit(0).cast(spark_type(kind))


def _sign(args: Columns, kinds: Kinds, _result: Type) -> Column:
    value, zero = args[0], _zero(kinds[0])
    return null_or(value, F.when(value > zero, F.lit(1)).when(value < zero, F.lit(-1)).otherwise(F.lit(0)))


def _round(args: Columns, kinds: Kinds, result: Type) -> Column:
    digits = args[1] if len(args) > 1 else F.lit(0)
    if kinds[0].name == "decimal":
        return F.round(args[0], digits)
    value = args[0].cast(spark_type(DOUBLE))
    power = F.pow(F.lit(10.0), digits)
    shifted = value * power
    rounded = casts.half_up(shifted) / power
    return F.when(F.abs(shifted) < casts.WHOLE_FROM, rounded).otherwise(value).cast(spark_type(result))


def _whole(function: Callable[[Column], Column]) -> Compiler:
    def compile_it(args: Columns, kinds: Kinds, result: Type) -> Column:
        if kinds[0].is_integral:
            return args[0].cast(spark_type(result))
        if not kinds[0].is_fractional:
            return function(args[0])
        value = args[0].cast(spark_type(DOUBLE))
        fits = (value >= F.lit(-casts.LONG_LIMIT)) & (value < F.lit(casts.LONG_LIMIT))
        return fail_unless(fits, value, function(value), "overflow: no whole number")

    return compile_it


def _common(function: Callable[..., Column]) -> Compiler:
    """All arguments in the type of the result."""
    return lambda args, _kinds, result: function(*(arg.cast(spark_type(result)) for arg in args))


def _ints(function: Callable[..., Column]) -> Compiler:
    """Whole numbers among the arguments as ints."""

    def compile_it(args: Columns, kinds: Kinds, _result: Type) -> Column:
        taken = (arg.cast(spark_type(INT)) if kind.is_integral else arg for arg, kind in zip(args, kinds, strict=True))
        return function(*taken)

    return compile_it


def _div(args: Columns, _kinds: Kinds, _result: Type) -> Column:
    return F.call_function("div", *(arg.cast(spark_type(BIGINT)) for arg in args))


def _concat(*parts: Column) -> Column:
    return F.concat(*parts)


def _substr(text: Column, start: Column, length: Column | None = None) -> Column:
    return F.substr(text, start) if length is None else F.substr(text, start, length)


def _split_part(text: Column, by: Column, number: Column) -> Column:
    """Spark looks for part -2^31 outside of its array."""
    return F.split_part(text, by, F.when(number == -(2**31), F.lit(1 - 2**31)).otherwise(number))


def _date_bound(text: str) -> Column:
    return F.to_date(F.lit(text))


def _add_days(date: Column, days: Column) -> Column:
    first, last = _date_bound("0001-01-01"), _date_bound("9999-12-31")
    fits = (days >= F.date_diff(first, date)) & (days <= F.date_diff(last, date))
    return fail_unless(fits, fits, F.date_add(date, days), "overflow: out of the years 1 to 9999")


def _add_months(date: Column, months: Column) -> Column:
    month = F.year(date).cast(spark_type(BIGINT)) * 12 + F.month(date) - 1 + months
    fits = (month >= 12) & (month < 120_000)
    return fail_unless(fits, fits, F.add_months(date, months), "overflow: out of the years 1 to 9999")


def _trunc(unit: str) -> Compiler:
    return lambda args, _kinds, _result: F.trunc(args[0], unit)


COMPILERS: dict[str, Compiler] = {
    "+": _arithmetic(lambda a, b: a + b),
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "/": _arithmetic(lambda a, b: a / b),
    "%": _arithmetic(lambda a, b: a % b),
    "neg": _negate,
    "div": _div,
    "abs": _abs,
    "sign": _sign,
    "round": _round,
    "floor": _whole(F.floor),
    "ceil": _whole(F.ceil),
    "sqrt": lambda args, _kinds, _result: F.sqrt(args[0].cast(spark_type(DOUBLE))),
    "is_nan": lambda args, _kinds, _result: null_or(args[0], F.isnan(args[0])),
    "least": _common(F.least),
    "greatest": _common(F.greatest),
    "coalesce": _common(F.coalesce),
    "is_null": _plain(F.isnull),
    "lower": _plain(F.lower),
    "upper": _plain(F.upper),
    "length": _plain(F.char_length),
    "concat": _plain(_concat),
    "substr": _ints(_substr),
    "trim": _plain(F.trim),
    "ltrim": _plain(F.ltrim),
    "rtrim": _plain(F.rtrim),
    "replace": _plain(F.replace),
    "split_part": _ints(_split_part),
    "lpad": _ints(F.lpad),
    "rpad": _ints(F.rpad),
    "starts_with": _plain(F.startswith),
    "ends_with": _plain(F.endswith),
    "contains": _plain(F.contains),
    "year": _plain(F.year),
    "month": _plain(F.month),
    "day": _plain(F.day),
    "day_of_week": _plain(F.dayofweek),
    "hour": _plain(F.hour),
    "minute": _plain(F.minute),
    "second": _plain(F.second),
    "add_days": _ints(_add_days),
    "add_months": _ints(_add_months),
    "days_between": _plain(lambda start, end: F.date_diff(end, start)),
    "trunc_week": _trunc("week"),
    "trunc_month": _trunc("month"),
    "trunc_year": _trunc("year"),
    "last_day": _plain(F.last_day),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), casts.to_integral),
    **dict.fromkeys(("float", "double"), casts.to_fraction),
    "decimal": casts.to_decimal,
    "boolean": casts.to_boolean,
    "string": casts.to_string,
    "date": casts.to_date,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), casts.to_timestamp),
}


def _all(args: Columns, _kinds: Kinds, _result: Type) -> Column:
    """A NULL is not true."""
    false = F.lit(0).cast("boolean")
    return reduce(and_, (F.coalesce(arg, false) for arg in args))


def _compared(function: Callable[[Column, Column], Column]) -> Compiler:
    def compile_it(args: Columns, kinds: Kinds, _result: Type) -> Column:
        common = widen(*kinds)
        assert common is not None
        left, right = (arg.cast(spark_type(common)) for arg in args)
        return function(left, right)

    return compile_it


_OPERATORS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
INSIDE: dict[str, Compiler] = {
    ALL: _all,
    **{name: _compared(getattr(operator, _OPERATORS[op])) for op, name in COMPARING.items()},
}
