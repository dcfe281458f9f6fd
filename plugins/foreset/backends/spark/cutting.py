"""Compute a frame once, count it, and read it as often as needed: without its lineage, and until it is released.

Few rows come here and go back as rows of a plan: they lie nowhere else. All others are written as parquet below the
run's folder, where they need no heap, outlive the executors that wrote them, and are deleted when nobody reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from foreset.backends.spark.frames import Piece
from foreset.store import files
from foreset.store.layout import join

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

AT_HAND = 10_000  # so many rows come here at most
DOUBT = 10  # after a wrong guess, so many times more rows are expected than is said
CODEC = "lz4_raw"
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"  # where Spark writes down the types of a file


@dataclass(slots=True)
class Keeper:
    """What one stratum has computed."""

    spark: SparkSession
    folder: str  # nobody else writes there
    _written: dict[str, int] = field(default_factory=dict)  # what was written where, and when
    _doubt: int = 1
    _numbers: Iterator[int] = field(default_factory=count)

    def keep(self, frame: DataFrame, most: int | None = None) -> Piece:
        """One action. `most`: how many rows are expected; where few are and many come, it is begun anew."""
        if most is not None and most * self._doubt <= AT_HAND:
            rows = frame.limit(AT_HAND + 1).toArrow()
            if rows.num_rows <= AT_HAND:
                return Piece(_put_back(self.spark, rows), rows.num_rows, computed=True)
            self._doubt *= DOUBT
        place = join(self.folder, str(next(self._numbers)))
        frame.write.option("compression", CODEC).parquet(place)
        rows_written, schema = _counted(place)
        piece = Piece(self.spark.read.schema(schema).parquet(place), rows_written, computed=True, place=place)
        self._written[place] = piece.born
        return piece

    def sweep(self, live: Iterable[Piece]) -> None:
        """Delete what no live piece reads. One that nobody has run may read all that was kept before it was made."""
        places, latest = set(), -1
        for piece in live:
            if piece.computed:
                places.add(piece.place)
            else:
                latest = max(latest, piece.born)
        gone = [place for place, born in self._written.items() if born > latest and place not in places]
        for place in gone:
            del self._written[place]
            files.delete_tree(place)

    def release(self) -> None:
        """Delete all that was written; what cannot be deleted now goes with the run."""
        self._written.clear()
        with suppress(OSError):
            files.delete_tree(self.folder)


def _put_back(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows that came from Spark, under the types that they had there."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def _counted(place: str) -> tuple[int, StructType]:
    """How many rows a folder holds, and their types, by the ends of its files: as exact as what is read there."""
    from pyarrow import dataset
    from pyspark.sql.types import StructType

    system, inner = files.filesystem(place)
    found = dataset.dataset(inner, format="parquet", filesystem=system)
    return found.count_rows(), StructType.fromJson(json.loads(found.schema.metadata[SPARK_SCHEMA]))
