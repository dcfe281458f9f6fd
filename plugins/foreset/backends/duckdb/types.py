"""Values that DuckDB gives, and the widenings of their types.

Every text made here consists of our own words and of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.store.types import duck_type


@lru_cache(maxsize=1024)
def widening(column: str, kind: Type, to: Type) -> str:
    """`column` as a value of the wider type `to`, digit for digit what `values.widen` makes of it."""
    if kind == to or duck_type(kind) == duck_type(to):
        return column
    if to.element:
        raise OutOfBounds(f"it compares {kind} with {to}")
    target = duck_type(to)
    if to.is_fractional and kind.name == "decimal":
        # by way of text: the nearest double, where a division would round twice
        return f"CAST(CAST(CAST({column} AS VARCHAR) AS DOUBLE) AS {target})"
    if to.name == "decimal":
        return f"TRY_CAST({column} AS {target})"  # beyond 38 digits there is no value
    return f"CAST({column} AS {target})"


def from_duck(rows: Iterable[tuple[object, ...]], kinds: Sequence[Type]) -> list[Row]:
    """What DuckDB fetched, as canonical values."""
    odd = {i for i, kind in enumerate(kinds) if kind.is_fractional or kind.element}
    if not odd:
        return [tuple(row) for row in rows]  # type: ignore[arg-type]
    return [tuple(_plain(v, kinds[i]) if i in odd else v for i, v in enumerate(row)) for row in rows]  # type: ignore[misc]


def _plain(value: object, kind: Type) -> Value:
    return canonical(_tuples(value), kind)


def _tuples(value: object) -> Value:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value  # type: ignore[return-value]
