"""Rows in the one form in which equal values are equal: the declared columns, types and floats.

Differences, joins and group-bys of Spark already take NULL, NaN and -0.0 for equal to
themselves where they serve as keys; making the values themselves canonical keeps that true
in files, in counts of bytes and outside Spark. Column API only: no text from a spec is parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.ir.types import Type
from foreset.store.canonical import canonical_column, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


def spark_type(kind: Type) -> DataType:
    """Spark's type object."""
    from pyspark.sql import types as t

    if kind.name == "decimal":
        return t.DecimalType(kind.precision, kind.scale)
    if kind.element is not None:
        return t.ArrayType(spark_type(kind.element))
    plain: dict[str, DataType] = {
        "boolean": t.BooleanType(), "string": t.StringType(), "binary": t.BinaryType(),
        "tinyint": t.ByteType(), "smallint": t.ShortType(), "int": t.IntegerType(), "bigint": t.LongType(),
        "float": t.FloatType(), "double": t.DoubleType(),
        "date": t.DateType(), "timestamp": t.TimestampType(), "timestamp_ntz": t.TimestampNTZType(),
    }  # fmt: skip
    return plain[kind.name]


def schema_of(columns: tuple[Column, ...]) -> StructType:
    """Spark's schema of a relation; every column may be NULL."""
    from pyspark.sql import types as t

    return t.StructType([t.StructField(c.name, spark_type(c.type)) for c in columns])


def project(frame: DataFrame, columns: tuple[Column, ...], *keep: str) -> DataFrame:
    """The declared columns of a table, canonical, and the columns `keep` as they are.

    A column that the frame lacks is NULL: it was added after the version that is read, and
    that is how Delta itself reads such rows. Whether the newest version has it is checked before.
    """
    from pyspark.sql import functions as f

    present = {name.lower(): name for name in frame.columns}
    found = [
        (f.col(quoted(present[c.name.lower()])) if c.name.lower() in present else f.lit(None))
        .cast(spark_type(c.type))
        .alias(c.name)
        for c in columns
    ]
    typed = frame.select(*found, *(f.col(quoted(name)) for name in keep))
    known = (canonical_column(c.name, spark_type(c.type)) for c in columns)
    return typed.select(*known, *(f.col(quoted(name)) for name in keep))
