"""Our column types in Spark, Arrow and DuckDB; the readers of steps, capture and verification all look here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from foreset.ir.types import Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

_DUCK = {"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
         "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR", "binary": "BLOB", "date": "DATE",
         "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP"}  # fmt: skip


@cache
def column_names(width: int) -> tuple[str, ...]:
    """The names of a relation's columns where rules are evaluated, by position: nothing of a spec gets into a query."""
    return tuple(f"c{i}" for i in range(width))


def spark_type(kind: Type) -> DataType:
    """The Spark type of a column."""
    from pyspark.sql import types as st

    if kind.name == "decimal":
        return st.DecimalType(kind.precision, kind.scale)
    return st.ArrayType(spark_type(kind.element)) if kind.element else _spark()[kind.name]


def row_schema(kinds: Sequence[Type], names: Sequence[str] | None = None) -> StructType:
    """Spark's schema of a relation; every column may be NULL."""
    from pyspark.sql import types as st

    pairs = zip(names or column_names(len(kinds)), kinds, strict=True)
    return st.StructType([st.StructField(name, spark_type(kind)) for name, kind in pairs])


@cache
def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a column, timestamps without their zone, which is UTC."""
    import pyarrow as pa

    if kind.name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return pa.list_(arrow_type(kind.element)) if kind.element else _arrow()[kind.name]


@cache
def duck_type(kind: Type) -> str:
    """The DuckDB type, in words of our own; both kinds of timestamp are UTC without a zone."""
    if kind.name == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})"
    return f"{duck_type(kind.element)}[]" if kind.element else _DUCK[kind.name]


_BYTES = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "float": 4, "date": 4, "decimal": 16}


def rough_width(kinds: Sequence[Type]) -> int:
    """About how many bytes a row takes, before anything is compressed."""
    return sum(32 if kind.element or kind.name in ("string", "binary") else _BYTES.get(kind.name, 8) for kind in kinds)


@cache
def _spark() -> Mapping[str, DataType]:
    from pyspark.sql import types as st

    return {
        "boolean": st.BooleanType(), "string": st.StringType(), "binary": st.BinaryType(),
        "tinyint": st.ByteType(), "smallint": st.ShortType(), "int": st.IntegerType(), "bigint": st.LongType(),
        "float": st.FloatType(), "double": st.DoubleType(),
        "date": st.DateType(), "timestamp": st.TimestampType(), "timestamp_ntz": st.TimestampNTZType(),
    }  # fmt: skip


@cache
def _arrow() -> Mapping[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(),
        "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
        "float": pa.float32(), "double": pa.float64(),
        "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamp_ntz": pa.timestamp("us"),
    }  # fmt: skip
