"""Column types: the names of Spark SQL, and which of them mix.

`widen` is the only place that says when two types meet: as Spark SQL widens
numbers and dates, but text never mixes with numbers.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

MAX_PRECISION = 38
MIN_ADJUSTED_SCALE = 6


@dataclass(frozen=True)
class Type:
    """One column type; `precision` and `scale` for decimals, `element` for arrays."""

    name: str
    precision: int = 0
    scale: int = 0
    element: Type | None = None

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.element is not None:
            return f"array<{self.element}>"
        return self.name

    @functools.cached_property
    def is_integral(self) -> bool:
        """A whole number of 1, 2, 4 or 8 bytes."""
        return self.name in _INTEGRAL

    @property
    def is_numeric(self) -> bool:
        """A number of any kind."""
        return self.name in _NUMERIC

    @functools.cached_property
    def is_fractional(self) -> bool:
        """A binary floating-point number."""
        return self.name in ("float", "double")

    @property
    def is_temporal(self) -> bool:
        """A date or a point in time."""
        return self.name in ("date", "timestamp", "timestamp_ntz")


BOOLEAN, STRING, BINARY = Type("boolean"), Type("string"), Type("binary")
TINYINT, SMALLINT, INT, BIGINT = Type("tinyint"), Type("smallint"), Type("int"), Type("bigint")
FLOAT, DOUBLE = Type("float"), Type("double")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Type("date"), Type("timestamp"), Type("timestamp_ntz")

_INTEGRAL = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
_NUMERIC = (*_INTEGRAL, "decimal", "float", "double")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_SYNONYMS = {
    "bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint",
    "real": "float", "dec": "decimal", "numeric": "decimal", "timestamp_ltz": "timestamp",
}  # fmt: skip
_PLAIN = {t.name: t for t in (BOOLEAN, STRING, BINARY, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE,
                              DATE, TIMESTAMP, TIMESTAMP_NTZ)}  # fmt: skip
_DECIMAL = re.compile(r"decimal\s*(?:\(\s*(\d{1,3})\s*(?:,\s*(\d{1,3})\s*)?\))?")
_ARRAY = re.compile(r"array\s*<(.+)>", re.DOTALL)
TYPE_NAMES = (*_PLAIN, "decimal(p,s)", "array<...>")


def decimal(precision: int, scale: int) -> Type:
    """A decimal type; Spark's own limits apply to the arguments."""
    return Type("decimal", precision, scale)


def array(element: Type) -> Type:
    """The type of a set or list of `element`s."""
    return Type("array", element=element)


@functools.lru_cache(maxsize=1024)
def parse_type(text: str) -> Type | None:
    """Read a Spark SQL type name; None when there is no such type."""
    word = text.strip().lower()
    head = re.split(r"[^a-z_]", word, maxsplit=1)[0]
    word = _SYNONYMS.get(head, head) + word[len(head) :]
    if word in _PLAIN:
        return _PLAIN[word]
    if nested := _ARRAY.fullmatch(word):
        element = parse_type(nested[1])
        return array(element) if element else None
    if number := _DECIMAL.fullmatch(word):
        precision, scale = int(number[1] or 10), int(number[2] or 0)
        return decimal(precision, scale) if 1 <= precision <= MAX_PRECISION and scale <= precision else None
    return None


def as_decimal(integral: Type) -> Type:
    """The decimal that holds every value of an integral type."""
    return integral if integral.name == "decimal" else decimal(_DIGITS[integral.name], 0)


def bounded_decimal(precision: int, scale: int) -> Type:
    """A decimal cut to 38 digits as Spark does it: whole digits first, at least 6 of the fraction."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, MIN_ADJUSTED_SCALE)))


@functools.lru_cache(maxsize=4096)
def widen(left: Type, right: Type) -> Type | None:
    """The type in which values of both can be compared or kept; None when they do not mix."""
    if left == right:
        return left
    if left.is_numeric and right.is_numeric:
        return _widen_numbers(left, right)
    if left.is_temporal and right.is_temporal:
        names = {left.name, right.name}
        return TIMESTAMP if "timestamp" in names else TIMESTAMP_NTZ
    if left.element and right.element:
        element = widen(left.element, right.element)
        return array(element) if element else None
    return None


def _widen_numbers(left: Type, right: Type) -> Type:
    if left.is_integral and right.is_integral:
        return max(left, right, key=lambda t: _INTEGRAL[t.name])
    if left.is_fractional or right.is_fractional:
        return FLOAT if {left.name, right.name} <= {"float", "tinyint", "smallint"} else DOUBLE
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


@functools.lru_cache(maxsize=4096)
def fits(value: Type, column: Type) -> bool:
    """True when every value of type `value` can be kept in `column` without loss of kind."""
    return widen(value, column) == column


def integral_range(kind: Type) -> tuple[int, int]:
    """The least and the greatest value of an integral type."""
    half = 1 << (8 * _INTEGRAL[kind.name] - 1)
    return -half, half - 1
