"""Write rows into the folder of a run, for whoever comes after: once, as parquet files under the declared names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from foreset.ir.program import Column
from foreset.records.strata import StagedFile
from foreset.relations.arrow import schema_of
from foreset.store import files
from foreset.store.counted import write_counting
from foreset.store.layout import is_local, join

if TYPE_CHECKING:
    from foreset.backends.spark.frames import Piece

FEW_FILES = 100_000  # rows that one file may well hold


def stage(rows: pa.Table, columns: tuple[Column, ...], path: str) -> StagedFile:
    """Stage rows that are here; their columns are in the declared order, under any names."""
    if not rows.num_rows:
        return StagedFile()
    system, inner = files.filesystem(path)
    if is_local(path):
        system.create_dir(inner, recursive=True)
    schema = schema_of(columns)
    named = rows.rename_columns(schema.names).cast(schema)
    pq.write_table(named, join(inner, "part-00000.parquet"), filesystem=system)
    return StagedFile(path, rows.num_rows)


def stage_pieces(pieces: Sequence[Piece], columns: tuple[Column, ...], path: str) -> StagedFile:
    """The same for rows in Spark: a plan that nobody has run is run by this write, which counts them."""
    known = [piece.rows for piece in pieces]
    rows = None if None in known else sum(row or 0 for row in known)
    if rows == 0:
        return StagedFile()
    frame = pieces[0].frame
    for piece in pieces[1:]:
        frame = frame.unionAll(piece.frame)
    named = frame.toDF(*(column.name for column in columns))
    found = write_counting(named.coalesce(1) if rows is not None and rows <= FEW_FILES else named, path)
    return StagedFile(path, found) if found else StagedFile()
