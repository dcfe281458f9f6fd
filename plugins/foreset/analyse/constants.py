"""Constants take the type of what they meet, where that type can hold them exactly enough.

A `5` is as good a tinyint as a bigint, and `0.1` in a column of doubles means the double
nearest to it. What does not fit keeps its own type, and typing finds the fault.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from foreset.ir.functions import type_of
from foreset.ir.terms import Call, Const, Term, Value
from foreset.ir.types import BIGINT, INT, TIMESTAMP, TIMESTAMP_NTZ, Type, bounded_decimal, fits, integral_range, widen
from foreset.ir.values import Misfit, as_scaled, canonical, coerce

_CHOOSING = ("least", "greatest", "coalesce")
_WRITTEN_TIMES = ("date", "timestamp", "timestamp_ntz")


def adapt(const: Const, kind: Type) -> Const | None:
    """`const` as a constant of type `kind`; None when `kind` cannot hold it."""
    value = _adapted(const.value, const.type, kind)
    return None if value is None else replace(const, value=value, type=kind)


def _adapted(value: Value, own: Type, kind: Type) -> Value:
    if own == kind:
        return value
    match value:
        case int() if own.is_integral and kind.is_integral:
            low, high = integral_range(kind)
            return value if low <= value <= high else None
        case int() | Decimal() if own.is_numeric and kind.name == "decimal":
            scaled = as_scaled(Decimal(value), kind)
            return scaled if scaled == value else None
        case int() | Decimal() | float() if own.is_numeric and kind.is_fractional:
            return canonical(float(value), kind)
        case dt.date() if own.is_temporal and kind in (TIMESTAMP, TIMESTAMP_NTZ):
            return coerce(value, kind)
        case _:
            return None


def natural(const: Const) -> Const:
    """A number with the type that Spark gives to it as a literal: an int if it is one, then a bigint."""
    value = const.value
    if not const.type.is_integral or not isinstance(value, int):
        return const
    for kind in (INT, BIGINT):
        low, high = integral_range(kind)
        if low <= value <= high:
            return replace(const, type=kind)
    return const


def folded(term: Term) -> Term:
    """`term` with negative numbers and written dates as constants, and numbers in their natural types."""
    match term:
        case Const():
            return natural(term)
        case Call(function=function, args=args):
            inner = tuple(folded(arg) for arg in args)
            if len(inner) == 1 and isinstance(inner[0], Const):
                return _folded_call(function, inner[0], term)
            return replace(term, args=inner)
        case _:
            return term


def _folded_call(function: str, arg: Const, call: Call) -> Term:
    value = arg.value
    if function == "neg" and isinstance(value, int | Decimal | float) and not isinstance(value, bool):
        kind = arg.type
        if isinstance(value, Decimal):
            return Const(value.copy_negate() if value else value, kind, call.span)
        return natural(Const(-value if value else value, kind, call.span))
    if function in _WRITTEN_TIMES and isinstance(value, str) and (moment := _written_time(function, value)):
        return Const(moment, Type(function), call.span)
    return replace(call, args=(arg,))


def _written_time(kind: str, text: str) -> Value:
    """The date or timestamp that `text` writes; None when it is none."""
    try:
        return coerce(text, Type(kind))
    except Misfit:
        return None


def settled(term: Term, types: Mapping[str, Type]) -> Term:
    """`term` with the constants inside calls typed by their neighbours, as Spark types literals.

    An integer beside a decimal is a decimal of just its digits, so that `P * 2` does not
    grow by ten; a constant that is chosen for want of another value has that one's type.
    """
    if not isinstance(term, Call):
        return term
    args = tuple(settled(arg, types) for arg in term.args)
    if term.function in _CHOOSING:
        args = _chosen(args, types)
    elif term.function in ("+", "-", "*", "/", "%"):
        args = _beside_decimals(args, types)
    return replace(term, args=args)


def _chosen(args: tuple[Term, ...], types: Mapping[str, Type]) -> tuple[Term, ...]:
    common: Type | None = None
    for arg in args:
        if not isinstance(arg, Const) and (kind := type_of(arg, types)):
            common = widen(common, kind) if common else kind
    if common is None:
        return args
    return tuple((adapt(arg, common) or arg) if isinstance(arg, Const) else arg for arg in args)


def _beside_decimals(args: tuple[Term, ...], types: Mapping[str, Type]) -> tuple[Term, ...]:
    kinds = [type_of(arg, types) for arg in args]
    if not any(kind and kind.name == "decimal" for kind in kinds):
        return args
    return tuple(_digits(arg) if isinstance(arg, Const) else arg for arg in args)


def _digits(const: Const) -> Const:
    if not const.type.is_integral or not isinstance(const.value, int):
        return const
    return adapt(const, bounded_decimal(len(str(abs(const.value))), 0)) or const


def adapted_to_all(const: Const, kinds: tuple[Type, ...]) -> Const:
    """`const` with the type of one of `kinds` that fits all the others, if there is one."""
    for kind in kinds:
        if all(fits(kind, other) for other in kinds) and (found := adapt(const, kind)):
            return found
    return const
