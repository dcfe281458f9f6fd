"""Write rows into the folder of a run, for whoever comes after: once, and as the table of a view is to have them.

Parquet files under the declared names, in canonical form, in the order of the view's layout: the commit takes them over
as they are (store/laid.py), however many rows they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from foreset.ir.program import Column
from foreset.ir.sizes import summed
from foreset.records.strata import LAID, StagedFile
from foreset.relations.arrow import schema_of
from foreset.store import files
from foreset.store.arrow import canonical_table, has_nan
from foreset.store.canonical import canonical_column
from foreset.store.clustered import LEADING, MANY_ROWS, ROW_GROUP
from foreset.store.counted import write_counting
from foreset.store.footers import NO_NAN
from foreset.store.laid import FILE_BYTES
from foreset.store.layout import is_local, join
from foreset.store.quoting import ticked
from foreset.store.types import rough_width, row_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from foreset.backends.spark.frames import Piece

FEW_FILES = 100_000  # rows that one file may well hold


def stage(rows: Iterable[pa.Table], columns: tuple[Column, ...], path: str) -> StagedFile:
    """Stage rows that are here or come piece by piece, each with its columns in the declared order, under any names.

    A piece is a row group, if it is not larger than one.
    """
    folder = f"{path}{LAID}"
    system, inner = files.filesystem(folder)
    schema, found, number = schema_of(columns), 0, 0
    pieces = (piece for piece in rows if piece.num_rows)
    piece = next(pieces, None)
    while piece is not None:
        if not number and is_local(folder):
            system.create_dir(inner, recursive=True)
        with ExitStack() as open_files:
            sink = open_files.enter_context(system.open_output_stream(join(inner, f"part-{number:05d}.parquet")))
            writer = open_files.enter_context(pq.ParquetWriter(sink, schema))
            nan = False
            while piece is not None and sink.tell() < FILE_BYTES:
                named = canonical_table(piece.rename_columns(schema.names).cast(schema))
                writer.write_table(named, row_group_size=ROW_GROUP)
                nan = nan or has_nan(named)
                found += piece.num_rows
                piece = next(pieces, None)
            if not nan:
                writer.add_key_value_metadata(NO_NAN)
        number += 1
    return StagedFile(folder, found) if found else StagedFile()


def stage_pieces(
    pieces: Sequence[Piece], columns: tuple[Column, ...], path: str, order: Sequence[int] = ()
) -> StagedFile:
    """The same for rows in Spark: a plan that nobody has run is run by this write, which counts them."""
    rows = summed(piece.rows for piece in pieces)
    if rows == 0:
        return StagedFile()
    named = _as_declared(reduce(lambda one, other: one.unionAll(other), (piece.frame for piece in pieces)), columns)
    if rows is not None and rows <= FEW_FILES:
        named = named.coalesce(1)
    if order and (rows is None or rows >= MANY_ROWS):
        named = named.sortWithinPartitions(*(ticked(columns[place].name) for place in order[:LEADING]))
    folder = f"{path}{LAID}"
    found = write_counting(named, folder, most_rows=FILE_BYTES // rough_width([column.type for column in columns]))
    return StagedFile(folder, found) if found else StagedFile()


def _as_declared(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Under the declared names, in the declared types and in canonical form."""
    kinds = row_schema([column.type for column in columns], [column.name for column in columns])
    typed = (canonical_column(one.name, one.dataType).cast(one.dataType).alias(one.name) for one in kinds)
    return frame.toDF(*kinds.names).select(*typed)
