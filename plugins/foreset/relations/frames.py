"""Located relations as DataFrames of Spark, and as versions for the runner of steps there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, assert_never

from foreset.ir.program import Column
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, Type
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.records.strata import StagedFile
from foreset.relations.located import (
    COUNTERS,
    AtHand,
    Composed,
    CountersAt,
    Folder,
    Located,
    SignedAt,
    SourceAt,
    by_row,
    staged,
)
from foreset.relations.staged import stage_pieces
from foreset.session.lazy import opened
from foreset.store import counters, signed
from foreset.store.arrow_values import to_arrow
from foreset.store.capture.origins import open_origin
from foreset.store.quoting import ticked
from foreset.store.scans import table_at
from foreset.store.spark_values import collected
from foreset.store.types import column_names, row_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.counters import Lookup
    from foreset.backends.spark.frames import Frames, Piece


@dataclass(frozen=True, slots=True)
class SparkPort:
    """Frames take relations in and give rows out."""

    backend: SparkBackend

    @property
    def frames(self) -> Frames:
        """What the backend works on."""
        return self.backend.versions

    def put(self, versions: Sequence[Located], reads: Reads) -> None:
        """Nothing is opened before it is asked for."""
        for located in versions:
            if located.empty:
                self.frames.put(located.ref)
            else:
                make = partial(pieces, self.frames.spark, located, distinct=reads.tallying)
                self.frames.put_later(located.ref, make)

    def count(self, view: str, stored: Located | None) -> None:
        """Entries are summed for the rows in question."""
        from foreset.backends.spark.counters import CounterFrames

        lookup = None if stored is None or stored.empty else _lookup(self.frames.spark, stored)
        width = len(self.frames.schemas[view])
        self.backend.counters[view] = CounterFrames(width, lookup, single=stored is None)

    def release(self) -> None:
        """Delete what was computed on the way; frames that read it are of no use any more."""
        self.frames.kept.release()

    def rows(self, ref: Ref, most: int | None = None) -> list[Row]:
        """As canonical values."""
        piece = self.frames.read(ref)
        found = piece.frame if most is None else piece.frame.limit(most)
        with self.backend.explaining():
            return [] if piece.rows == 0 else collected(found, self.frames.schemas[ref.relation])

    def changes(self, view: str) -> Mapping[Row, tuple[int, int]]:
        """As canonical values."""
        change, kinds = self._change(view), (*self.frames.schemas[view], BIGINT, BIGINT)
        with self.backend.explaining():
            return by_row([] if change is None else collected(change, kinds))

    def stage(self, ref: Ref, columns: tuple[Column, ...], path: str, order: Sequence[int] = ()) -> StagedFile:
        """Write a version as a folder of parquet files, in the order of the columns at these places."""
        with self.backend.explaining():
            return stage_pieces(self.frames.stored(ref), columns, path, order)

    def stage_changes(self, view: str, columns: tuple[Column, ...], path: str, order: Sequence[int] = ()) -> StagedFile:
        """The same for how counters have changed; where they are tallied by this write, rows are read from there."""
        from foreset.backends.spark.frames import Piece

        change = self._change(view)
        if change is None:
            return StagedFile()
        with self.backend.explaining():
            file = stage_pieces((Piece(change),), columns, path, order)
        if (tallied := self.backend.tallied.pop(view, None)) is not None:
            written = pieces(self.frames.spark, staged(view, Version.CURRENT, columns, file))
            names = column_names(len(self.frames.schemas[view]))
            read = Piece(written[0].frame.select(*names), file.rows) if written else Piece(tallied.frame, 0)
            self.frames.replace(tallied, read)
        return file

    def take_changes(self, view: str, staged: Located) -> None:
        """What another process has changed of counters."""
        from foreset.backends.spark.frames import Piece

        changes = () if staged.empty else (Piece(frame(self.frames.spark, staged), staged.rows),)
        self.backend.counters_of(view).changes += changes

    def _change(self, view: str) -> DataFrame | None:
        return self.backend.counters[view].current() if view in self.backend.counters else None


def spark_port(spark: SparkSession, schemas: Mapping[str, tuple[Type, ...]], folder: str) -> SparkPort:
    """A port to frames that hold nothing yet; what is computed on the way is written below `folder`."""
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.cutting import Keeper
    from foreset.backends.spark.frames import Frames

    session = opened(spark)
    return SparkPort(SparkBackend(Frames(session, dict(schemas), Keeper(session, folder))))


def _lookup(spark: SparkSession, stored: Located) -> Lookup:
    width = len(stored.columns) - len(COUNTERS)

    def lookup(rows: Piece) -> DataFrame:
        place = stored.place
        if not isinstance(place, CountersAt):
            return frame(spark, stored).toDF(*column_names(width), "base", "recursive")
        names = stored.names[:width]
        sums = counters.read(spark, place.path, place.version, names, rows.frame.toDF(*names), few=rows.small)
        return sums.toDF(*column_names(width), "base", "recursive")

    return lookup


def pieces(spark: SparkSession, located: Located, *, distinct: bool = False) -> tuple[Piece, ...]:
    """The rows under the names of steps, as a version is made of them."""
    from foreset.backends.spark.frames import Piece

    if located.place is None or located.rows == 0:
        return ()
    rows = inside(frame(spark, located, distinct=distinct), located.columns)
    return (Piece(rows, located.rows, copies=not distinct and located.copies, key=located.key),)


def frame(spark: SparkSession, located: Located, *, distinct: bool = False) -> DataFrame:
    """The rows under the declared names."""
    place, names = located.place, located.names
    match place:
        case None:
            return _nothing(spark, located)
        case SourceAt(source, root, pin):
            rows = open_origin(spark, source, root, pin.version).at(pin.version).select(*map(ticked, names))
            return rows.distinct() if distinct else rows
        case SignedAt(path, version):
            return signed.read(spark, path, version, names)
        case CountersAt(path, version):
            return table_at(spark, path, version)
        case Folder(path):
            return spark.read.schema(_schema(located)).parquet(path)
        case AtHand(rows):
            return _at_hand(spark, rows, located) if rows else _nothing(spark, located)
        case Composed(itself=Located() as itself):
            return frame(spark, itself, distinct=distinct)
        case Composed():
            return _composed(spark, located, place, distinct=distinct)
        case _:
            assert_never(place)


def _composed(spark: SparkSession, located: Located, place: Composed, *, distinct: bool) -> DataFrame:
    from foreset.backends.spark.frames import anti

    kept = [piece.frame for piece in pieces(spark, place.base, distinct=distinct)]
    for gone in pieces(spark, place.less):
        kept = [anti(rows, gone.hinted, len(located.columns)) for rows in kept]
    united = [*kept, *(piece.frame for piece in pieces(spark, place.more))]
    return reduce(lambda a, b: a.unionAll(b), united).toDF(*located.names) if united else _nothing(spark, located)


def _at_hand(spark: SparkSession, rows: Collection[Row], located: Located) -> DataFrame:
    from foreset.backends.spark.frames import from_arrow

    kinds = [column.type for column in located.columns]
    arrow = to_arrow(list(rows), kinds, column_names(len(kinds)))
    return from_arrow(spark, arrow, kinds).frame.toDF(*located.names)


def _nothing(spark: SparkSession, located: Located) -> DataFrame:
    return spark.createDataFrame([], _schema(located))


def inside(frame: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """A frame under the names of steps, in the declared order."""
    from pyspark.sql import functions as F

    return frame.select(*(F.col(ticked(column.name)).alias(f"c{i}") for i, column in enumerate(columns)))


def _schema(located: Located) -> StructType:
    return row_schema([column.type for column in located.columns], located.names)
