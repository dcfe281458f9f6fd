"""Every function of ir/functions.py on single values: the meaning that Spark is held to."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from foreset.ir.functions import ALL, COMPARING, SIGNATURES
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.values import casts, moments, numbers, texts
from foreset.values.errors import Failure
from foreset.values.widen import widened

Kinds = tuple[Type, ...]
Implementation = Callable[[Row, Type], Value]

__all__ = ["IMPLEMENTATIONS", "Failure", "call"]


def call(name: str, args: Row, kinds: Kinds, result: Type) -> Value:
    """The value of a call on canonical values; raises `Failure`.

    `kinds` are the types of the arguments. Values carry enough of them for now, but a
    reader must pass them, so that a function may come that needs them.
    """
    if len(args) != len(kinds):
        raise TypeError(f"{name}: {len(args)} values for {len(kinds)} types")
    if None in args and SIGNATURES[name].null_propagating:
        return None
    return (IMPLEMENTATIONS.get(name) or INSIDE[name])(args, result)


def _values(function: Callable[..., Value]) -> Implementation:
    """Values in, value out."""
    return lambda args, _result: function(*args)


def _typed(function: Callable[..., Value]) -> Implementation:
    """The same, for a function that must know the type of its result."""
    return lambda args, result: function(*args, result)


def _order(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 - any value but an array
    """NaN is the greatest number."""
    odd = isinstance(value, float) and math.isnan(value)
    return odd, 0 if odd else value


def _extreme(choose: Callable[..., Value]) -> Implementation:
    def apply(args: Row, result: Type) -> Value:
        known = [widened(value, result) for value in args if value is not None]
        return choose(known, key=_order) if known else None

    return apply


def _coalesce(args: Row, result: Type) -> Value:
    return next((widened(value, result) for value in args if value is not None), None)


IMPLEMENTATIONS: dict[str, Implementation] = {
    "+": _typed(numbers.add),
    "-": _typed(numbers.subtract),
    "*": _typed(numbers.multiply),
    "/": _typed(numbers.divide),
    "%": _typed(numbers.remainder),
    "neg": _typed(numbers.negate),
    "div": _values(numbers.whole_division),
    "abs": _typed(numbers.absolute),
    "sign": _values(numbers.sign),
    "round": numbers.round_to,
    "floor": _typed(numbers.floor),
    "ceil": _typed(numbers.ceil),
    "sqrt": _values(numbers.square_root),
    "is_nan": _values(math.isnan),
    "least": _extreme(min),
    "greatest": _extreme(max),
    "coalesce": _coalesce,
    "is_null": _values(lambda value: value is None),
    "lower": _values(texts.lower),
    "upper": _values(texts.upper),
    "length": _values(len),
    "concat": _values(lambda *parts: "".join(parts)),
    "substr": _values(texts.substr),
    "trim": _values(lambda text: text.strip(" ")),
    "ltrim": _values(lambda text: text.lstrip(" ")),
    "rtrim": _values(lambda text: text.rstrip(" ")),
    "replace": _values(texts.replace),
    "split_part": _values(texts.split_part),
    "lpad": _values(texts.lpad),
    "rpad": _values(texts.rpad),
    "starts_with": _values(lambda text, part: text.startswith(part)),
    "ends_with": _values(lambda text, part: text.endswith(part)),
    "contains": _values(lambda text, part: part in text),
    "year": _values(lambda value: value.year),
    "month": _values(lambda value: value.month),
    "day": _values(lambda value: value.day),
    "day_of_week": _values(moments.day_of_week),
    "hour": _values(lambda value: value.hour),
    "minute": _values(lambda value: value.minute),
    "second": _values(lambda value: value.second),
    "add_days": _values(moments.add_days),
    "add_months": _values(moments.add_months),
    "days_between": _values(lambda start, end: (end - start).days),
    "trunc_week": _values(moments.trunc_week),
    "trunc_month": _values(lambda value: value.replace(day=1)),
    "trunc_year": _values(lambda value: value.replace(month=1, day=1)),
    "last_day": _values(moments.last_day),
    **{kind: _typed(casts.to_integral) for kind in ("tinyint", "smallint", "int", "bigint")},
    **{kind: _typed(casts.to_fraction) for kind in ("float", "double")},
    "decimal": lambda args, result: casts.to_decimal(args[0], result),
    "boolean": _values(casts.to_boolean),
    "string": _values(casts.to_string),
    "date": _typed(casts.to_date),
    **{kind: _typed(casts.to_timestamp) for kind in ("timestamp", "timestamp_ntz")},
}


def _compared(op: str) -> Implementation:
    """Both sides in their common type, as comparisons of rules have them."""
    test = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
            ">=": operator.ge}[op]  # fmt: skip
    return lambda args, _result: bool(test(_order(args[0]), _order(args[1])))


INSIDE: dict[str, Implementation] = {
    ALL: _values(lambda *parts: all(part is True for part in parts)),
    **{name: _compared(op) for op, name in COMPARING.items()},
}
