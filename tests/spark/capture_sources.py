"""A source table under test, and what a refresh must find in it: kept apart from the code under test.

The oracle reads whole versions and compares Python sets; it knows nothing of feeds.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

from foreset.ir.program import Column, Source
from foreset.ir.types import parse_type
from foreset.ir.versions import Version
from foreset.records.captures import CaptureRecord
from foreset.relations.frames import frame
from foreset.relations.located import of_source
from foreset.session import path_sql
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.capture.stage import Counts
from foreset.store.capture.take import Captured, capture

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_runs = count()

Row = tuple[Any, ...]


def source_of(name: str = "edge", **columns: str) -> Source:
    return Source(name, tuple(Column(n, parse_type(t)) for n, t in columns.items()), table=f"raw/{name}")


def plain(row: Iterable[object]) -> Row:
    """Equal as Spark compares: NaN is one value, -0.0 is 0.0, NULL is a value."""

    def one(value: object) -> object:
        if isinstance(value, float):
            return "NaN" if math.isnan(value) else value + 0.0
        return tuple(one(v) for v in value) if isinstance(value, (list, tuple)) else value

    return tuple(one(value) for value in row)


def rows_of(frame: DataFrame | None) -> list[Row]:
    assert frame is not None
    named = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    # Of a timestamp with a zone PySpark tells the time of this process.
    kinds = {name: "timestamp_ntz" for name, kind in named.dtypes if kind == "timestamp"}
    columns = [named[name].cast(kinds[name]) if name in kinds else named[name] for name in named.columns]
    return [plain(row) for row in named.select(*columns).collect()]


class Nightly:
    """One source, refreshed now and then; each refresh is compared with the difference of whole versions."""

    def __init__(self, spark: SparkSession, warehouse: str, source: Source) -> None:
        self.spark, self.warehouse, self.source = spark, warehouse, source
        self.path = str(Path(warehouse, "raw", source.name))
        self.pin: RecordedPin | None = None
        self.seen: set[Row] = set()
        self.mapped = False  # deltalake does not read mapped columns rightly

    def write(self, mode: str = "append", partition: list[str] | None = None, **columns: list[Any]) -> None:
        """Write with deltalake: milliseconds instead of a job."""
        arrow = pa.table(columns)
        new = not Path(self.path).exists()
        write_deltalake(self.path, arrow, mode=mode, configuration=FEED if new else None, partition_by=partition)

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.path)

    def sql(self, statement: str) -> None:
        """Run SQL with `{t}` for the table."""
        path_sql(self.spark).sql(statement.format(t=f"delta.`{self.path}`")).collect()

    def contents(self, version: int) -> set[Row]:
        """The set of declared columns at a version, read whole: by deltalake where it can, else by Spark."""
        names = [column.name for column in self.source.columns]
        with contextlib.suppress(Exception):  # deletion vectors, another spelling: Spark then
            if not self.mapped:
                columns = DeltaTable(self.path, version=version).to_pyarrow_table(columns=names).to_pydict()
                return {plain(row) for row in zip(*(columns[name] for name in names), strict=True)}
        frame = self.spark.read.format("delta").option("versionAsOf", version).load(self.path)
        return {plain(row) for row in frame.select(*names).collect()}

    def refresh(self, **options: Any) -> Captured:
        """Capture, compare with the oracle, and move the pin."""
        directory = str(Path(self.warehouse, "runs", str(next(_runs))))
        found = capture(self.spark, self.source, self.pin, self.warehouse, directory, **options)
        now = self.contents(found.pin.version)
        self.last, self.directory = found, directory
        if found.counts is not None:
            plus, minus = (rows_of(self.frame(version)) for version in (Version.PLUS, Version.MINUS))
            assert (len(set(plus)), len(set(minus))) == (len(plus), len(minus)), "a row twice"
            assert set(plus) == now - self.seen
            assert set(minus) == self.seen - now
            assert (found.counts.inserted, found.counts.deleted) == (len(plus), len(minus))
        self.pin, self.seen = found.pin, now
        return found

    def frame(self, version: Version) -> DataFrame:
        """A version of the source in the last refresh."""
        return read(self.spark, self.source, self.warehouse, self.last, self.directory, version)

    def before(self) -> list[Row]:
        """The state before the last refresh, as the engine would read it."""
        return rows_of(self.frame(Version.OLD))


def read(
    spark: SparkSession, source: Source, root: str, found: Captured, directory: str, version: Version
) -> DataFrame:
    """What a refresh reads of a captured source."""
    counts = found.counts or Counts()
    record = CaptureRecord(
        type(found.way).__name__, found.reason, counts.inserted, counts.deleted, taken_whole=found.counts is None,
        old_lost=found.old_lost, staged=directory,
    )  # fmt: skip
    return frame(spark, of_source(root, source, version, record, found.recorded, found.pin), distinct=True)
