"""Terms and conditions as functions of a binding, a tuple of the values of known variables."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from foreset.ir.functions import type_of
from foreset.ir.rules import Comparison, Test
from foreset.ir.terms import Call, Const, Row, Term, Value, Var
from foreset.ir.types import Type, widen
from foreset.values.functions import call
from foreset.values.widen import widener

Reader = Callable[[Row], Value]
Condition = Callable[[Row], bool]
Slots = Mapping[str, int]
Types = Mapping[str, Type]


def equal(a: Value, b: Value) -> bool:
    """Two values that are not NULL are one: NaN equals itself, and is one object in canonical form."""
    return a is b or a == b


_EQUALITY: dict[str, Callable[[Value, Value], bool]] = {"=": equal, "!=": lambda a, b: not equal(a, b)}
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def read_term(term: Term, slots: Slots, types: Types) -> Reader:
    """A function that gives the value of `term` under a binding."""
    match term:
        case Var(name=name):
            slot = slots[name]
            return lambda binding: binding[slot]
        case Const(value=value):
            return lambda _: value
        case Call(function=function, args=args):
            readers = tuple(read_term(arg, slots, types) for arg in args)
            kinds = tuple(known_type(arg, types) for arg in args)
            result = known_type(term, types)
            return lambda binding: call(function, tuple(read(binding) for read in readers), kinds, result)


def read_as(term: Term, kind: Type, slots: Slots, types: Types) -> Reader:
    """Like `read_term`, with the value widened to `kind`."""
    read = read_term(term, slots, types)
    if known_type(term, types) == kind:
        return read
    widen_value = widener(kind)
    return lambda binding: widen_value(read(binding))


def known_type(term: Term, types: Types) -> Type:
    """The type of a term that analysis has passed."""
    kind = type_of(term, types)
    assert kind is not None, f"{term} has no type"
    return kind


def compile_comparison(literal: Comparison, slots: Slots, types: Types) -> Condition:
    """`left op right` in the common type of both; false when a side is NULL."""
    common = widen(known_type(literal.left, types), known_type(literal.right, types))
    assert common is not None, f"{literal} compares what does not mix"
    left, right = read_as(literal.left, common, slots, types), read_as(literal.right, common, slots, types)
    test = _EQUALITY.get(literal.op) or _order(_ORDERED[literal.op])

    def holds(binding: Row) -> bool:
        a, b = left(binding), right(binding)
        return a is not None and b is not None and test(a, b)

    return holds


def compile_test(literal: Test, slots: Slots, types: Types) -> Condition:
    """A boolean function as a condition; NULL is neither true nor, negated, true."""
    read = read_term(literal.call, slots, types)
    wanted = not literal.negated
    return lambda binding: read(binding) is wanted


def _order(holds: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    return lambda a, b: holds(_ordinal(a), _ordinal(b))


def _ordinal(value: Value) -> object:
    """NaN stands above every number, and equals itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value
