"""Exact arithmetic in DuckDB: terms whose value it computes digit for digit as we do.

Whole numbers, and decimals whose result type keeps every digit. What cannot be said this
way is for our own functions, in Python. So is everything where one value does
not fit its type: by `TRY_CAST` it becomes NULL, by `CAST`, or with more than 38 digits, it
stops the query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from foreset.backends.duckdb.types import widening
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import Type, as_decimal
from foreset.store.types import duck_type
from foreset.values.terms import known_type

COMPARISONS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPERATORS = ("+", "-", "*")
_CASTS = ("decimal", "bigint", "int")


@dataclass(frozen=True, slots=True)
class Writer:
    """How the parts of a term are written: variables, and the cast that may fail."""

    types: Mapping[str, Type]
    variable: Callable[[str], str]
    cast: str = "CAST"

    def term(self, term: Term) -> str | None:
        """The term in its own type; None where DuckDB might give another value than we do."""
        kind = known_type(term, self.types)
        match term:
            case Var(name=name):
                return self.variable(name)
            case Const(value=int() | Decimal() as value) if not isinstance(value, bool):
                return f"CAST({Decimal(value):f} AS {duck_type(kind)})"
            case Call(function=function, args=(left, right)) if function in _OPERATORS:
                return self._operation(function, left, right, kind)
            case Call(function=function, args=(inner, *_)) if function in _CASTS:
                return self._narrowed(inner, kind)
        return None

    def _operation(self, function: str, left: Term, right: Term, kind: Type) -> str | None:
        room = _room(function, known_type(left, self.types), known_type(right, self.types), kind)
        if room is None:
            return None
        sides = [self.term(side) for side in (left, right)]
        if sides[0] is None or sides[1] is None:
            return None
        both = f" {function} ".join(f"CAST({text} AS {wide})" for text, wide in zip(sides, room, strict=True))
        return f"{self.cast}({both} AS {duck_type(kind)})"

    def _narrowed(self, inner: Term, kind: Type) -> str | None:
        """A cast; DuckDB rounds decimals half away from zero, as we do."""
        given = known_type(inner, self.types)
        if not (given.is_integral or (given.name == kind.name == "decimal")):
            return None
        text = self.term(inner)
        return None if text is None else f"{self.cast}({text} AS {duck_type(kind)})"

    def widened(self, term: Term, kind: Type) -> str | None:
        """The term as a value of a wider type."""
        text = self.term(term)
        return None if text is None else widening(text, known_type(term, self.types), kind)


def _room(function: str, left: Type, right: Type, kind: Type) -> tuple[str, str] | None:
    """Types of both sides in which no step loses a digit; None if the result type does. DuckDB stops at 39 digits."""
    if kind.is_integral:
        return "HUGEINT", "HUGEINT"
    if kind.name != "decimal":
        return None
    a, b = as_decimal(left), as_decimal(right)
    if kind.scale != (a.scale + b.scale if function == "*" else max(a.scale, b.scale)):
        return None
    return f"DECIMAL(38,{a.scale})", f"DECIMAL(38,{b.scale})"
