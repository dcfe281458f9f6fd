"""Differentials of views in the run directory: written once per stratum, read by whoever comes after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.records.strata import StagedFile
from foreset.refresh.context import Context
from foreset.store import arrow, files
from foreset.store.layout import is_local, join
from foreset.store.quoting import ticked
from foreset.store.types import row_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from foreset.backends.spark.frames import Piece

FEW_FILES = 100_000  # rows that one file may well hold


def stage(context: Context, pieces: tuple[Piece, ...], columns: tuple[Column, ...], *where: str) -> StagedFile:
    """Write the pieces as one parquet folder; says where and how many rows, None for no rows."""
    assert all(piece.rows is not None for piece in pieces), "rows that nobody counted would be lost here"
    rows = sum(piece.rows or 0 for piece in pieces)
    if not rows:
        return StagedFile()
    path = context.path(*where)
    frame = pieces[0].frame
    for piece in pieces[1:]:
        frame = frame.unionAll(piece.frame)
    named = frame.toDF(*(column.name for column in columns))
    (named.coalesce(1) if rows <= FEW_FILES else named).write.mode("overwrite").parquet(path)
    return StagedFile(path, rows)


def stage_arrow(context: Context, rows: pa.Table, columns: tuple[Column, ...], *where: str) -> StagedFile:
    """The same for rows that are in this process; their columns are in the declared order, under any names."""
    import pyarrow.parquet as pq

    if not rows.num_rows:
        return StagedFile()
    path = context.path(*where)
    system, inner = files.filesystem(path)
    if is_local(path):
        system.create_dir(inner, recursive=True)
    schema = arrow.schema_of({column.name: str(column.type) for column in columns})
    named = rows.rename_columns(schema.names).cast(schema)
    pq.write_table(named, join(inner, "part-00000.parquet"), filesystem=system)
    return StagedFile(path, rows.num_rows)


def staged_frame(context: Context, file: StagedFile, columns: tuple[Column, ...]) -> DataFrame | None:
    """What was staged, under the declared names; None for no rows."""
    if file.path is None:
        return None
    names = tuple(column.name for column in columns)
    schema = row_schema(tuple(column.type for column in columns), names)
    return context.spark.read.schema(schema).parquet(file.path)


def inside(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """A frame under the engine's names, in the declared order."""
    from pyspark.sql import functions as F

    picked = [F.col(ticked(column.name)).alias(f"c{i}") for i, column in enumerate(columns)]
    return frame.select(*picked)
