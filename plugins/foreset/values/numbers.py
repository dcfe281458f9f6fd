"""Arithmetic as Spark does it in ANSI mode: nothing wraps, and decimals round half up."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

from foreset.ir.terms import Row, Value
from foreset.ir.types import BIGINT, Type, integral_range
from foreset.ir.values import DECIMALS, NAN, as_scaled, canonical
from foreset.values.errors import Failure

Kinds = tuple[Type, ...]
_PRODUCTS = Context(prec=39, rounding=ROUND_HALF_UP)  # Spark multiplies with one digit more than it keeps
_WIDE = Context(prec=130, rounding=ROUND_DOWN)
_QUOTIENT_SCALE = Decimal(1).scaleb(-39)
_EXACT_BELOW = float(1 << 52)  # from here on every double is whole


def within(value: int, kind: Type) -> int:
    """`value`, which must be in the range of an integral type."""
    low, high = integral_range(kind)
    if not low <= value <= high:
        raise Failure(f"overflow: {value} is out of the range of {kind}")
    return value


def scaled(value: Decimal | int, kind: Type) -> Decimal:
    """`value` in a decimal type, rounded half up; it must not have more digits before the point."""
    found = as_scaled(value, kind)
    if found is None:
        raise Failure(f"overflow: {value} has too many digits for {kind}")
    return found


def _arithmetic(
    integers: Callable[[int, int], int],
    decimals: Callable[[Decimal, Decimal], Decimal],
    fractions: Callable[[float, float], float],
) -> Callable[[Any, Any, Type], Value]:
    def apply(a: Any, b: Any, result: Type) -> Value:  # noqa: ANN401 - numbers of any type, as `result` says
        if result.is_integral:
            return within(integers(a, b), result)
        if result.name == "decimal":
            return scaled(decimals(Decimal(a), Decimal(b)), result)
        return canonical(fractions(float(a), float(b)), result)

    return apply


def _no_zero(divisor: float | Decimal) -> None:
    if divisor == 0:
        raise Failure("division by zero")


def _whole_quotient(a: int, b: int) -> int:
    _no_zero(b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _whole_remainder(a: int, b: int) -> int:
    return a - b * _whole_quotient(a, b)


def _decimal_quotient(a: Decimal, b: Decimal) -> Decimal:
    """Rounded half up at 39 digits behind the point, and then once more to the result: as Spark does."""
    _no_zero(b)
    return _WIDE.divide(a, b).quantize(_QUOTIENT_SCALE, rounding=ROUND_HALF_UP, context=_WIDE)


def _decimal_remainder(a: Decimal, b: Decimal) -> Decimal:
    _no_zero(b)
    return _WIDE.remainder(a, b)


def _quotient(a: float, b: float) -> float:
    _no_zero(b)
    return a / b


def _remainder(a: float, b: float) -> float:
    _no_zero(b)
    return NAN if math.isinf(a) or math.isnan(a) else math.fmod(a, b)


add = _arithmetic(lambda a, b: a + b, DECIMALS.add, lambda a, b: a + b)
subtract = _arithmetic(lambda a, b: a - b, DECIMALS.subtract, lambda a, b: a - b)
multiply = _arithmetic(lambda a, b: a * b, _PRODUCTS.multiply, lambda a, b: a * b)
divide = _arithmetic(_whole_quotient, _decimal_quotient, _quotient)
remainder = _arithmetic(_whole_remainder, _decimal_remainder, _remainder)


def whole_division(a: int, b: int) -> int:
    """`div`: towards zero, always a bigint."""
    return within(_whole_quotient(a, b), BIGINT)


def negate(value: Any, result: Type) -> Value:  # noqa: ANN401 - any number
    """`-X`."""
    return _unsigned(value.copy_negate() if isinstance(value, Decimal) else -value, result)


def absolute(value: Any, result: Type) -> Value:  # noqa: ANN401 - any number
    """`abs(X)`."""
    return _unsigned(value.copy_abs() if isinstance(value, Decimal) else abs(value), result)


def _unsigned(value: Any, result: Type) -> Value:  # noqa: ANN401 - any number
    return within(value, result) if result.is_integral else canonical(value, result)


def sign(value: Any) -> int:  # noqa: ANN401 - an integer or a decimal
    """-1, 0 or 1."""
    return int(value > 0) - int(value < 0)


def half_up(value: float) -> float:
    """The nearest whole number of a finite double, halves away from zero; exact, no step rounds."""
    size = abs(value)
    if size < _EXACT_BELOW:
        whole = math.floor(size)
        size = float(whole + (size - whole >= 0.5))
    return math.copysign(size, value)


def round_to(args: Row, result: Type) -> Value:
    """A decimal half up; a double `X * 10^n` half up, divided by `10^n` again."""
    value = args[0]
    if isinstance(value, Decimal):
        return scaled(value, result)
    assert isinstance(value, float)
    digits = args[1] if len(args) > 1 else 0
    assert isinstance(digits, int)
    power = float(10**digits)
    shifted = value * power
    if math.isnan(shifted) or math.isinf(shifted) or abs(shifted) >= _EXACT_BELOW:
        return canonical(value, result)
    return canonical(half_up(shifted) / power, result)


def floor(value: Any, result: Type) -> Value:  # noqa: ANN401 - any number
    """The greatest whole number not above `value`."""
    return _whole(value, math.floor, result)


def ceil(value: Any, result: Type) -> Value:  # noqa: ANN401 - any number
    """The least whole number not below `value`."""
    return _whole(value, math.ceil, result)


def _whole(value: Any, to_whole: Callable[[Any], int], result: Type) -> Value:  # noqa: ANN401 - any number
    if isinstance(value, float) and not math.isfinite(value):
        raise Failure(f"overflow: {value} is no whole number")
    whole = to_whole(value)
    return scaled(whole, result) if result.name == "decimal" else within(whole, result)


def square_root(value: Any) -> float:  # noqa: ANN401 - any number
    """NaN below zero, as in Java."""
    number = float(value)
    return NAN if math.isnan(number) or number < 0 else math.sqrt(number)
