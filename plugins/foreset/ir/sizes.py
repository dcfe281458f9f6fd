"""How many bytes a stratum has to read and to hold, from counts of rows, types of columns and sizes of files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from foreset.ir.program import Column
from foreset.ir.reads import places_named
from foreset.ir.strata import Stratum
from foreset.ir.types import Type

_WIDTHS = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "float": 4, "date": 4, "string": 24, "binary": 32}
_OTHERS, _LONG, _SHORT_DIGITS = 8, 16, 18
_ELEMENTS = 8  # of an array, say
REMEMBERED = 1024  # relations: what they are made of stays from refresh to refresh


def width_of(kind: Type) -> int:
    """Bytes of a value in memory, about: nobody knows how long texts are."""
    if kind.element is not None:
        return _LONG + _ELEMENTS * width_of(kind.element)
    if kind.name == "decimal" and kind.precision > _SHORT_DIGITS:
        return _LONG
    return _WIDTHS.get(kind.name, _OTHERS)


@lru_cache(REMEMBERED)
def row_width(columns: tuple[Column, ...]) -> int:
    """Bytes of a row in memory."""
    return sum(width_of(column.type) for column in columns)


@lru_cache(REMEMBERED)
def read_width(stratum: Stratum, relation: str, columns: tuple[Column, ...]) -> int:
    """Bytes of what the rules of a stratum read of a row."""
    places = places_named(relation, (rule for view in stratum.views for rule in view.rules))
    return row_width(tuple(columns[place] for place in sorted(places))) or 1


def summed(counts: Iterable[int | None]) -> int | None:
    """How many there are together; None where one of the counts is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def amount(size: float) -> str:
    """`310 MB`, `1.2 GB`: two digits that matter."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= scale:
            count = size / scale
            return f"{count:.1f} {unit}" if count < 9.95 else f"{count:,.0f} {unit}"
    return f"{size:.0f} bytes"
