"""Column types in DuckDB and Arrow, and the widenings between them.

Every text made here consists of our own words and of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from foreset.inproc.budget import OutOfBounds
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import canonical

_DUCK = {"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
         "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR", "binary": "BLOB", "date": "DATE",
         "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP"}  # fmt: skip
_ARROW = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
          "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(),
          "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamp_ntz": pa.timestamp("us")}  # fmt: skip


def column_names(width: int) -> tuple[str, ...]:
    """The names of a relation's columns here: `c0`, `c1` ..."""
    return tuple(f"c{i}" for i in range(width))


def duck_type(kind: Type) -> str:
    """The DuckDB type; both kinds of timestamp are UTC without a zone."""
    if kind.name == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})"
    return f"{duck_type(kind.element)}[]" if kind.element else _DUCK[kind.name]


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of such a column."""
    if kind.name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return pa.list_(arrow_type(kind.element)) if kind.element else _ARROW[kind.name]


def widening(column: str, kind: Type, to: Type) -> str:
    """`column` as a value of the wider type `to`, digit for digit what `reference.widen` makes of it."""
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


def to_arrow(rows: Sequence[Row], kinds: Sequence[Type], names: Sequence[str]) -> pa.Table:
    """Python rows as an Arrow table."""
    columns = [pa.array([row[i] for row in rows], arrow_type(kind)) for i, kind in enumerate(kinds)]
    return pa.table(columns, names=list(names))


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
