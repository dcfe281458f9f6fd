"""Arrow columns as canonical Python values of the declared types, and such values as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from foreset.ir.program import Column
from foreset.ir.terms import Row, Value
from foreset.ir.types import STRING, Type
from foreset.ir.values import canonical
from foreset.store.types import arrow_type
from foreset.values.widen import widened

if TYPE_CHECKING:
    import pyarrow as pa


def to_rows(table: pa.Table, columns: Sequence[Column]) -> list[Row]:
    """Arrow rows as canonical values of the declared types."""
    picked = [values_of(table.column(index), column) for index, column in enumerate(columns)]
    return list(zip(*picked, strict=True)) if picked else []


def values_of(found: pa.Array | pa.ChunkedArray, column: Column) -> list[Value]:
    """The values of one column."""
    import pyarrow as pa

    kind = column.type
    if (kind.is_integral and pa.types.is_integer(found.type)) or (kind == STRING and pa.types.is_string(found.type)):
        return list(found.to_pylist())  # most columns are such, and there is one form of each value
    return [canonical(_plain(widened(_plain(value), column.type)), column.type) for value in found.to_pylist()]


def _plain(value: Any) -> Any:  # noqa: ANN401 - Arrow's Python values
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value


def to_arrow(rows: Sequence[Row], kinds: Sequence[Type], names: Sequence[str]) -> pa.Table:
    """Python rows as an Arrow table."""
    import pyarrow as pa

    columns = [pa.array([row[i] for row in rows], arrow_type(kind)) for i, kind in enumerate(kinds)]
    return pa.table(columns, names=list(names))
