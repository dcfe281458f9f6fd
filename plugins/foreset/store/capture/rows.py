"""Rows in the one form in which equal values are equal: the declared columns, types and floats.

Differences, joins and group-bys of Spark already take NULL, NaN and -0.0 for equal to
themselves where they serve as keys; making the values themselves canonical keeps that true
in files, in counts of bytes and outside Spark. Column API only: no text from a spec is parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.store.canonical import canonical_column
from foreset.store.quoting import ticked
from foreset.store.types import row_schema, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def schema_of(columns: tuple[Column, ...]) -> StructType:
    """Spark's schema of a relation; every column may be NULL."""
    return row_schema([c.type for c in columns], [c.name for c in columns])


def project(frame: DataFrame, columns: tuple[Column, ...], *keep: str) -> DataFrame:
    """The declared columns of a table, canonical, and the columns `keep` as they are.

    A column that the frame lacks is NULL: it was added after the version that is read, and
    that is how Delta itself reads such rows. Whether the newest version has it is checked before.
    """
    from pyspark.sql import functions as f

    present = {name.lower(): name for name in frame.columns}
    found = [
        (f.col(ticked(present[c.name.lower()])) if c.name.lower() in present else f.lit(None))
        .cast(spark_type(c.type))
        .alias(c.name)
        for c in columns
    ]
    typed = frame.select(*found, *(f.col(ticked(name)) for name in keep))
    known = (canonical_column(c.name, spark_type(c.type)) for c in columns)
    return typed.select(*known, *(f.col(ticked(name)) for name in keep))
