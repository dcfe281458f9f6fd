"""Columns in canonical form, and null-safe matching of whole rows, as Spark expressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from foreset.store.quoting import ticked

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def canonical(frame: DataFrame, columns: Sequence[str]) -> list[Column]:
    """The columns with -0.0 as 0.0 and every NaN as the one NaN, so that readers without Spark compare alike."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    return [canonical_column(name, types[name]) for name in columns]


def canonical_column(name: str, kind: DataType) -> Column:
    """The same for one column whose type is known: asking a frame for its schema is a call to the server."""
    from pyspark.sql import functions as sf

    return _canonical(sf.col(ticked(name)), kind).alias(name)


def same_row(left: DataFrame, right: DataFrame, pairs: Sequence[tuple[str, str]]) -> Column:
    """All pairs of columns are equal, NULL being equal to NULL; Spark hashes such a join."""
    equal = [left[ticked(a)].eqNullSafe(right[ticked(b)]) for a, b in pairs]
    return reduce(lambda one, other: one & other, equal)


def without(rows: DataFrame, less: DataFrame, columns: Sequence[str]) -> DataFrame:
    """`rows - less` as sets of the columns, NULL being equal to NULL."""
    other = less.select(*[less[ticked(name)].alias(f"_r_{i}") for i, name in enumerate(columns)])
    pairs = [(name, f"_r_{i}") for i, name in enumerate(columns)]
    return rows.join(other, same_row(rows, other, pairs), "left_anti").select(*map(ticked, columns))


def _canonical(column: Column, kind: DataType) -> Column:
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    match kind:
        case st.FloatType() | st.DoubleType():
            name = kind.simpleString()
            zero, nan = sf.lit(0.0).cast(name), sf.lit(float("nan")).cast(name)
            return sf.when(sf.isnan(column), nan).otherwise((column + zero).cast(name))
        case st.ArrayType(elementType=inner) if _has_floats(inner):
            return sf.transform(column, lambda item: _canonical(item, inner))
        case _:
            return column


def _has_floats(kind: DataType) -> bool:
    from pyspark.sql import types as st

    return isinstance(kind, (st.FloatType, st.DoubleType)) or (
        isinstance(kind, st.ArrayType) and _has_floats(kind.elementType)
    )
