"""Our types as Spark's, and back."""

from __future__ import annotations

from pyspark.sql import types as spark

from foreset.ir.types import Type, array, decimal, parse_type

_PLAIN: dict[str, spark.DataType] = {
    "boolean": spark.BooleanType(),
    "tinyint": spark.ByteType(),
    "smallint": spark.ShortType(),
    "int": spark.IntegerType(),
    "bigint": spark.LongType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "string": spark.StringType(),
    "binary": spark.BinaryType(),
    "date": spark.DateType(),
    "timestamp": spark.TimestampType(),
    "timestamp_ntz": spark.TimestampNTZType(),
}


def spark_type(kind: Type) -> spark.DataType:
    """The Spark type of a column."""
    if kind.name == "decimal":
        return spark.DecimalType(kind.precision, kind.scale)
    if kind.element is not None:
        return spark.ArrayType(spark_type(kind.element))
    return _PLAIN[kind.name]


def own_type(kind: spark.DataType) -> Type | None:
    """Our type for Spark's; None when a relation cannot have such a column."""
    if isinstance(kind, spark.DecimalType):
        return decimal(kind.precision, kind.scale)
    if isinstance(kind, spark.ArrayType):
        element = own_type(kind.elementType)
        return array(element) if element else None
    return parse_type(kind.simpleString())


def row_schema(kinds: tuple[Type, ...], names: tuple[str, ...] | None = None) -> spark.StructType:
    """The schema of a relation; columns are `c0`, `c1` ... inside the engine."""
    labels = names or column_names(len(kinds))
    pairs = zip(labels, kinds, strict=True)
    return spark.StructType([spark.StructField(name, spark_type(kind)) for name, kind in pairs])


def column_names(width: int) -> tuple[str, ...]:
    """The names of columns inside the engine, by position."""
    return tuple(f"c{i}" for i in range(width))
