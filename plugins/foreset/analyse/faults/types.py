"""Faults of types, FS301 to FS399."""

from __future__ import annotations

import re

from foreset.diagnostics import Diagnostic, Span
from foreset.ir.functions import OPERATORS, SIGNATURES, Argument, result_of
from foreset.ir.types import Type

Shown = tuple[str, Type]  # what the user wrote, or a column's name, with its type
_CONSTANT = re.compile(r'".*"|-?[0-9][0-9.]*|true|false', re.DOTALL)


def _a(kind: Type) -> str:
    """The type with its article."""
    return f"{'an' if kind.name[0] in 'aeiou' else 'a'} {kind}"


def cast_to(text: str, own: Type, kind: Type) -> str:
    """The call that turns `text` of type `own` into `kind`; empty when there is none."""
    size = (kind.precision, kind.scale) if kind.name == "decimal" else ()
    args = (Argument(own), *(Argument(Type("int"), number) for number in size))
    if result_of(kind.name, args) != kind:
        return ""
    return f"{kind.name}({', '.join((text, *map(str, size)))})"


def _cast_hint(text: str, own: Type, kind: Type) -> str:
    call = cast_to(text, own, kind)
    return f"write `{call}`" if call else f"use another value: there is no cast from {own} to {kind}"


def _mixing_hint(left: Shown, right: Shown) -> str:
    """How to compare the two: write a constant otherwise, or cast one side (text, where one is text)."""
    for (text, own), (_, kind) in ((left, right), (right, left)):
        if _CONSTANT.fullmatch(text) and (hint := _written_hint(text, own, kind)):
            return hint
    sides = ((left, right), (right, left)) if left[1].name == "string" else ((right, left), (left, right))
    for (text, own), (_, kind) in sides:
        if call := cast_to(text, own, kind):
            return f"write `{call}`"
    return ""


def variable_of_two_types(name: str, span: Span, here: tuple[Type, str], there: tuple[Type, str]) -> Diagnostic:
    """One name stands for values that can never be equal."""
    message = f"`{name}` is {_a(there[0])} in {there[1]}, but {_a(here[0])} in {here[1]}"
    other = f"{name}2" if not name[-1].isdigit() else f"{name}b"
    call = cast_to(name, there[0], here[0])
    cast = f" and compare them: `{other} = {call}`" if call else ""
    hint = f"{there[0].name} and {here[0].name} do not mix: give the second another name{cast}"
    return Diagnostic("FS301", message, span, hint)


def uncomparable(span: Span, op: str, left: Shown, right: Shown) -> Diagnostic:
    """The two sides are of kinds that do not mix."""
    message = f"`{left[0]} {op} {right[0]}` compares {_a(left[1])} with {_a(right[1])}"
    hint = f"{left[1].name} and {right[1].name} do not mix"
    mend = _mixing_hint(left, right)
    return Diagnostic("FS302", message, span, f"{hint}: {mend}" if mend else hint)


def untyped_call(span: Span, function: str, text: str, args: tuple[Shown, ...]) -> Diagnostic:
    """A function or an operator on arguments that it does not take."""
    kinds = tuple(kind for _, kind in args)
    taken = ", ".join(text if _CONSTANT.fullmatch(text) else str(kind) for text, kind in args)
    if function in OPERATORS and function != "neg":
        message = f"`{text}` is not defined: `{function}` does not take {_a(kinds[0])} and {_a(kinds[1])}"
        return Diagnostic("FS303", message, span, _operator_hint(function, kinds))
    if function == "neg":
        return Diagnostic("FS303", f"`{text}` is not defined: {_a(kinds[0])} has no sign", span)
    message = f"`{function}` does not take ({taken})"
    return Diagnostic("FS303", message, span, SIGNATURES[function].doc)


def _operator_hint(function: str, kinds: tuple[Type, ...]) -> str:
    names = {kind.name for kind in kinds}
    if function == "+" and names == {"string"}:
        return "join texts with `concat(A, B)`"
    if "date" in names:
        return "use `add_days(D, n)` or `days_between(D, E)`"
    return "operators take numbers: cast the others, as `int(X)`"


def misfit(span: Span, column: Shown, relation: str, value: Shown, *, of_head: bool = False) -> Diagnostic:
    """The value may not fit the column, or not mix with it; the column of a head may get another type."""
    message = f"column `{column[0]}` of `{relation}` is {_a(column[1])}, but `{value[0]}` is {_a(value[1])}"
    cast = _cast_hint(value[0], value[1], column[1])
    return Diagnostic("FS304", message, span, f"declare `{column[0]}` as {value[1]}, or {cast}" if of_head else cast)


def misfit_of_constant(span: Span, column: Shown, relation: str, value: Shown) -> Diagnostic:
    """A constant that no row of the column can equal, or that cannot be kept in it."""
    message = f"column `{column[0]}` of `{relation}` is {_a(column[1])}: it cannot hold `{value[0]}`"
    return Diagnostic("FS305", message, span, _written_hint(value[0], value[1], column[1]))


def _written_hint(text: str, own: Type, kind: Type) -> str:
    if kind.name == "string" and own.is_numeric:
        return f'write it in quotes: `"{text}"`'
    if own.name == "string" and kind.is_temporal:
        return f"write `{kind.name}({text})`"
    if own.name == "string" and kind.is_numeric:
        return "write numbers without quotes"
    if kind.name == "boolean":
        return "write `true` or `false`"
    if own.is_numeric and kind.is_numeric:
        return "the number is out of range, or has digits that the type cannot keep"
    return ""


def unordered(span: Span, op: str, kind: Type) -> Diagnostic:
    """Arrays are equal or not, and that is all."""
    return Diagnostic("FS306", f"`{op}` does not order values of type {kind}", span, "compare them with `=` or `!=`")
