"""Values that go to Spark and come back: timestamps are UTC, whatever the time zone of a process is.

By itself PySpark takes a datetime without a zone for one of the process's own time zone, and gives such ones back.
So what goes there says its zone, and what comes back goes through `timestamp_ntz` in a session whose zone is UTC.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from foreset.ir.terms import Row, Value
from foreset.ir.types import TIMESTAMP, TIMESTAMP_NTZ, Type, array
from foreset.ir.values import canonical
from foreset.store.types import column_names, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def literal(value: object, kind: Type) -> Column:
    """A constant as a column of its type."""
    from pyspark.sql import functions as F

    return F.lit(_with_zone(value)).cast(spark_type(kind))


def collected(frame: DataFrame, kinds: Sequence[Type]) -> list[Row]:
    """The rows of a frame, brought here in canonical form; `kinds` are the types of its columns."""
    from pyspark.sql import functions as F

    names = column_names(len(kinds))
    columns = [F.col(name).cast(spark_type(without_zone(kind))) for name, kind in zip(names, kinds, strict=True)]
    rows = frame.toDF(*names).select(*columns).collect()
    return [tuple(canonical(_plain(v), kind) for v, kind in zip(row, kinds, strict=True)) for row in rows]


def without_zone(kind: Type) -> Type:
    """The type in which a value may pass between Spark and Python unchanged."""
    if kind.element is not None:
        return array(without_zone(kind.element))
    return TIMESTAMP_NTZ if kind == TIMESTAMP else kind


def _with_zone(value: Any) -> Any:  # noqa: ANN401 - a constant of any type
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return [_with_zone(item) for item in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Value:  # noqa: ANN401 - a value of Spark's
    if isinstance(value, bytearray):
        return bytes(value)
    return tuple(map(_plain, value)) if isinstance(value, list) else value
