"""Exact arithmetic in a query: whole numbers, and decimals whose result type keeps every digit.

The backend on DuckDB has its own (backends/duckdb/terms.py). These say the same apart from it, so that a slip in one
is seen by the other. What does not fit its type stops the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import Type, as_decimal
from foreset.store.types import duck_type
from foreset.values.terms import known_type

WORD = 18  # digits of a decimal in 64 bits: of two such DuckDB makes one of 18 digits, or stops


class Unsaid(Exception):
    """SQL would not say it, or not as we mean it."""


@dataclass(frozen=True, slots=True)
class ExactTerms:
    """Terms as texts; `bound` has those of the variables."""

    types: Mapping[str, Type]
    bound: Mapping[str, str]
    quick: bool  # in words of 64 bits
    cast: str = "CAST"  # what makes a value fit its type

    def text(self, term: Term) -> str:
        """The term in its own type."""
        kind = known_type(term, self.types)
        match term:
            case Var(name=name):
                return self.bound[name]
            case Const(value=int() | Decimal() as value) if not isinstance(value, bool):
                return f"CAST({Decimal(value):f} AS {duck_type(kind)})"
            case Call(function="+" | "-" | "*" as sign, args=(left, right)):
                return self._calculated(f" {sign} ", (left, right), kind)
            case Call(function="decimal" | "bigint" | "int", args=(inner, *_)):
                given = known_type(inner, self.types)
                if given.is_integral or given.name == kind.name == "decimal":  # rounded half away from zero, as ours
                    return f"{self.cast}({self.text(inner)} AS {duck_type(kind)})"
        raise Unsaid

    def _calculated(self, sign: str, sides: tuple[Term, Term], kind: Type) -> str:
        kinds = [known_type(side, self.types) for side in sides]
        if kind.is_integral:
            wide = ["BIGINT" if self.quick else "HUGEINT"] * 2
        else:
            scales = [as_decimal(one).scale for one in kinds] if kind.name == "decimal" else [-1, -1]
            if kind.scale != (sum(scales) if "*" in sign else max(scales)):
                raise Unsaid  # it is no decimal, or one that drops digits
            widths = [min(as_decimal(one).precision, WORD) if self.quick else 38 for one in kinds]
            wide = [f"DECIMAL({width},{scale})" for width, scale in zip(widths, scales, strict=True)]
        both = sign.join(f"CAST({self.text(side)} AS {own})" for side, own in zip(sides, wide, strict=True))
        if self.quick and not kind.is_integral:
            return f"({both})"  # no more digits than its type has
        return f"{self.cast}({both} AS {duck_type(kind)})"


def cast(text: str, kind: Type, to: Type) -> str:
    """A whole number or decimal in a wider type, any other value in its own."""
    return text if duck_type(kind) == duck_type(to) else f"CAST({text} AS {duck_type(to)})"
