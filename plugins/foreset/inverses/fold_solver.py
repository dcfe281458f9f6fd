"""Expressions of aggregates as z3 sees them: integers of ticks, each within what its type can hold.

Only what is whole arithmetic is taken: `Unsupported` says that samples must do. What the solver finds is always run by
the expressions themselves before anything is said of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from foreset.ir.functions import type_of
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import Type, integral_range
from foreset.ir.values import canonical

Expr: TypeAlias = Any  # z3 has no types of its own


class Unsupported(Exception):
    """What is no arithmetic of integers."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A number as ticks of its type."""

    ticks: Expr
    type: Type


@dataclass(slots=True)
class Encoder:
    """Expressions in one z3 context; `ranges` holds that nothing overflows on the way."""

    context: Any
    types: Mapping[str, Type]
    ranges: list[Expr] = field(default_factory=list)

    def variable(self, name: str, kind: Type) -> Typed:
        """A fresh unknown of a type."""
        import z3

        return self._within(z3.FreshInt(name, self.context), kind)

    def term(self, term: Term, given: Mapping[str, Typed]) -> Typed:
        """`term` of the values `given`."""
        match term:
            case Var(name=name):
                return given[name]
            case Const(value=value, type=kind):
                return Typed(self._number(ticks_of(value, kind)), kind)
            case Call(function=function, args=args):
                gives = type_of(term, self.types)
                if gives is None or function not in _FUNCTIONS:
                    raise Unsupported(function)
                found = _FUNCTIONS[function](self, [self.term(arg, given) for arg in args], gives)
                return self._within(found, gives)

    def as_type(self, found: Typed, kind: Type) -> Typed:
        """The same number in a wider type."""
        return Typed(self.scaled(found, kind.scale), kind)

    def scaled(self, found: Typed, scale: int) -> Expr:
        """Ticks of another scale, rounded half up."""
        import z3

        more = scale - found.type.scale
        if more >= 0:
            return found.ticks * 10**more
        size = 10**-more
        up = (found.ticks + size // 2) / size
        down = -((-found.ticks + size // 2) / size)
        return z3.If(found.ticks >= 0, up, down)

    def truncated(self, ticks: Expr, size: int) -> Expr:
        """Divided by a constant, towards zero."""
        import z3

        positive = z3.If(ticks >= 0, ticks / abs(size), -((-ticks) / abs(size)))
        return positive if size > 0 else -positive

    def _number(self, value: int) -> Expr:
        import z3

        return z3.IntVal(value, self.context)

    def _within(self, ticks: Expr, kind: Type) -> Typed:
        low, high = range_of(kind)
        self.ranges += [ticks >= low, ticks <= high]
        return Typed(ticks, kind)


def range_of(kind: Type) -> tuple[int, int]:
    """The ticks that a type can hold."""
    if kind.is_integral:
        return integral_range(kind)
    if kind.name == "decimal":
        return 1 - 10**kind.precision, 10**kind.precision - 1
    if kind.name == "boolean":
        return 0, 1
    raise Unsupported(str(kind))


def ticks_of(value: Value, kind: Type) -> int:
    """A value as ticks of its type."""
    range_of(kind)
    if not isinstance(value, int | Decimal):
        raise Unsupported(repr(value))
    return int(Decimal(value).scaleb(kind.scale)) if kind.name == "decimal" else int(value)


def value_of(ticks: int, kind: Type) -> Value:
    """The value of so many ticks."""
    if kind.name == "boolean":
        return bool(ticks)
    return canonical(Decimal(ticks).scaleb(-kind.scale), kind) if kind.name == "decimal" else ticks


# ---------------------------------------------------------------- functions
Args = list[Typed]
Function = Callable[[Encoder, Args, Type], Expr]


def _common(encoder: Encoder, args: Args) -> tuple[list[Expr], int]:
    scale = max(arg.type.scale for arg in args)
    return [encoder.scaled(arg, scale) for arg in args], scale


def _rescaled(encoder: Encoder, ticks: Expr, scale: int, kind: Type) -> Expr:
    return encoder.scaled(Typed(ticks, Type("decimal", 38, scale)), kind.scale)


def _linear(sign: int) -> Function:
    def made(encoder: Encoder, args: Args, kind: Type) -> Expr:
        (left, right), scale = _common(encoder, args)
        return _rescaled(encoder, left + sign * right, scale, kind)

    return made


def _product(encoder: Encoder, args: Args, kind: Type) -> Expr:
    left, right = args
    return _rescaled(encoder, left.ticks * right.ticks, left.type.scale + right.type.scale, kind)


def _constant(ticks: Expr) -> int:
    import z3

    found = z3.simplify(ticks)
    if not z3.is_int_value(found) or not found.as_long():
        raise Unsupported("division by what is no constant")
    return int(found.as_long())


def _remainder(encoder: Encoder, args: Args, kind: Type) -> Expr:
    (left, right), scale = _common(encoder, args)
    size = _constant(right)
    return _rescaled(encoder, left - size * encoder.truncated(left, size), scale, kind)


def _whole_division(encoder: Encoder, args: Args, _: Type) -> Expr:
    return encoder.truncated(args[0].ticks, _constant(args[1].ticks))


def _chosen(least: bool) -> Function:  # noqa: FBT001 - one of two
    def made(encoder: Encoder, args: Args, kind: Type) -> Expr:
        import z3

        found, *others = [encoder.scaled(arg, kind.scale) for arg in args]
        for other in others:
            found = z3.If(other < found if least else other > found, other, found)
        return found

    return made


def _absolute(_encoder: Encoder, args: Args, _: Type) -> Expr:
    import z3

    return z3.If(args[0].ticks < 0, -args[0].ticks, args[0].ticks)


def _sign(_encoder: Encoder, args: Args, _: Type) -> Expr:
    import z3

    return z3.If(args[0].ticks < 0, -1, z3.If(args[0].ticks > 0, 1, 0))


def _floor(up: bool) -> Function:  # noqa: FBT001 - one of two
    def made(_encoder: Encoder, args: Args, _: Type) -> Expr:
        size = 10 ** args[0].type.scale
        return -((-args[0].ticks) / size) if up else args[0].ticks / size

    return made


def _to_whole(encoder: Encoder, args: Args, _: Type) -> Expr:
    return encoder.truncated(args[0].ticks, 10 ** args[0].type.scale)


def _to_boolean(_encoder: Encoder, args: Args, _: Type) -> Expr:
    import z3

    return z3.If(args[0].ticks == 0, 0, 1)


def _to_scale(encoder: Encoder, args: Args, kind: Type) -> Expr:
    return encoder.scaled(args[0], kind.scale)


_FUNCTIONS: dict[str, Function] = {
    "+": _linear(1),
    "-": _linear(-1),
    "*": _product,
    "%": _remainder,
    "div": _whole_division,
    "neg": lambda _encoder, args, _: -args[0].ticks,
    "abs": _absolute,
    "sign": _sign,
    "least": _chosen(least=True),
    "greatest": _chosen(least=False),
    "coalesce": _to_scale,  # nothing here is NULL
    "floor": _floor(up=False),
    "ceil": _floor(up=True),
    "round": _to_scale,
    "decimal": _to_scale,
    "boolean": _to_boolean,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _to_whole),
}
