"""`Spread` in plain Python sets."""

from __future__ import annotations

from foreset.backends.sets.rows import Memory
from foreset.ir.steps import Ref, Spread
from foreset.ir.terms import Row
from foreset.ir.versions import Version


def spread_out(step: Spread, memory: Memory, version: Version) -> set[Row]:
    """The fixpoint in one state: round by round, whoever needs the key of a new row gets that row."""
    needing: dict[Row, list[Row]] = {}
    for row in memory.rows(Ref(step.needs, version)):
        middle = len(row) // 2
        if None not in row[middle:]:
            needing.setdefault(row[middle:], []).append(row[:middle])
    fresh = set(memory.rows(Ref(step.base, version)))
    found: set[Row] = set()
    while fresh:
        found |= fresh
        derived = (_under(row, key, step.key) for row in fresh for key in needing.get(_key_of(row, step.key), ()))
        fresh = set(derived) - found
    return found


def _key_of(row: Row, places: tuple[int, ...]) -> Row:
    return tuple(row[i] for i in places)


def _under(row: Row, key: Row, places: tuple[int, ...]) -> Row:
    """The row with another key."""
    other = dict(zip(places, key, strict=True))
    return tuple(other.get(i, value) for i, value in enumerate(row))
