"""Relations in all their versions as DataFrames.

A piece is a DataFrame of distinct rows whose number is known once it was computed; a merge appends a piece and costs
nothing. Pieces are cut off from their lineage, so that round 60 of a recursion plans as fast as round 1. Columns are
`c0`, `c1` ... by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.ir.steps import Ref
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.machine.versions import Versions
from foreset.store.types import column_names, row_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from foreset.backends.spark.cutting import Keeper

BROADCAST_ROWS = 200_000  # at most so many rows of a width that nobody knows are sent to every executor on our word
BROADCAST_BYTES = 32 << 20  # of rows whose width is known; strata side by side share a heap of 2.5 GB
ROW_BYTES, VALUE_BYTES, LONG_BYTES = 16, 8, 40  # of a row, of a value of fixed width, of any other as it mostly is
_births = count()


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Distinct rows of one version; `rows` is None while nobody has counted them."""

    frame: DataFrame
    rows: int | None = None
    computed: bool = False  # cut off from where it came from: reading it plans and opens nothing
    place: str | None = None  # the folder where it was written by a `Keeper`
    born: int = field(default_factory=lambda: next(_births))  # which piece of all it is
    copies: bool = False  # a row may stand there more than once: so it is in sources without a key
    raw: DataFrame | None = None  # of a plan that nobody has run: the same before copies were taken out
    fragile: frozenset[int] = frozenset()  # of such a plan: columns whose computation may fail
    key: tuple[int, ...] | None = None  # columns on which no two rows agree, if any are known

    @property
    def with_copies(self) -> DataFrame:
        """The rows, perhaps some of them more than once: for readers that mind no copies."""
        return self.frame if self.raw is None else self.raw

    @property
    def small(self) -> bool:
        """Known to be small enough for a broadcast."""
        return self.rows is not None and self.rows <= BROADCAST_ROWS

    @property
    def hinted(self) -> DataFrame:
        """The rows, with the word that they may be broadcast where they are few."""
        return F.broadcast(self.frame) if self.small else self.frame


@dataclass(slots=True)
class Frames(Versions[Piece]):
    """What is known of every relation at one moment."""

    spark: SparkSession
    schemas: dict[str, tuple[Type, ...]]
    kept: Keeper
    rows_read: dict[str, int] = field(default_factory=dict)  # of large stored states, by relation

    def parts(self, ref: Ref) -> tuple[Piece, ...]:
        """The pieces of a stored or virtual version; the count of one that lacks some rows is an upper bound."""
        for stored in self.stored_in(ref):
            if stored.version in (Version.OLD, Version.NEW):
                rows = sum(piece.rows or 0 for piece in self.stored(stored))
                self.rows_read[ref.relation] = self.rows_read.get(ref.relation, 0) + rows
        return tuple(self._less(piece, less, ref.relation) if less else piece for piece, less in self.composed(ref))

    def read(self, ref: Ref) -> Piece:
        """A version as one piece."""
        parts = self.parts(ref)
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Piece(self.nothing(ref.relation), 0)
        copies = any(piece.copies for piece in parts)
        return Piece(union([piece.frame for piece in parts]), self.count(ref), copies=copies)

    def held(self, rows: Piece, ref: Ref) -> DataFrame | None:
        """The rows of `rows` that a version holds, found by one look at each of its pieces; None: none."""
        few = self.hinted(rows, ref.relation)
        hits = [semi(piece.frame, few, self._width(ref)) for piece in self.parts(ref)]
        return union(hits) if hits else None

    def few(self, ref: Ref) -> bool:
        """True when a version is known to be small enough for a broadcast."""
        count = self.count(ref)
        return count is not None and count <= BROADCAST_ROWS and sent(count, self.schemas[ref.relation])

    def hinted(self, piece: Piece, relation: str) -> DataFrame:
        """The rows, with the word that they may be broadcast where they are few."""
        return F.broadcast(piece.frame) if sent(piece.rows, self.schemas[relation]) else piece.frame

    def _less(self, piece: Piece, gone: Sequence[Piece], relation: str) -> Piece:
        width = len(self.schemas[relation])
        left = reduce(lambda left, one: anti(left, self.hinted(one, relation), width), gone, piece.frame)
        return Piece(left, piece.rows, copies=piece.copies, key=piece.key)

    def less(self, frame: DataFrame, refs: Sequence[Ref]) -> DataFrame:
        """The rows of `frame` in none of `refs`, which are few."""
        for ref in refs:
            if not self.empty(ref):
                frame = anti(frame, self.hinted(self.read(ref), ref.relation), self._width(ref))
        return frame

    def without(self, rows: Piece, refs: Sequence[Ref]) -> DataFrame:
        """The rows of `rows` in none of `refs`.

        Few rows are sent to the large versions, and only what was found there comes back:
        no large version is moved. Many rows are compared the ordinary way.
        """
        frame = rows.frame
        for ref in refs:
            if self.empty(ref):
                continue
            if sent(rows.rows, self.schemas[ref.relation]):
                found = self.held(rows, ref)
                frame = frame if found is None else anti(frame, F.broadcast(found), self._width(ref))
            else:
                frame = anti(frame, self.hinted(self.read(ref), ref.relation), self._width(ref))
        return frame

    def nothing(self, relation: str) -> DataFrame:
        """No rows, with the columns of `relation`."""
        fields = row_schema(self.schemas[relation]).fields
        return self.spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))

    def _width(self, ref: Ref) -> int:
        return len(self.schemas[ref.relation])


def sent(rows: int | None, kinds: Sequence[Type]) -> bool:
    """Whether so many rows of these types may be sent to every executor; None is not known."""
    if rows is None:
        return False
    long = sum(kind.name in ("string", "binary", "array") for kind in kinds)
    return rows * (ROW_BYTES + LONG_BYTES * long + VALUE_BYTES * (len(kinds) - long)) <= BROADCAST_BYTES


def anti(left: DataFrame, right: DataFrame, width: int | None = None) -> DataFrame:
    """The rows of `left` that are not in `right`; NULL equals NULL. Over Connect, finding out the width is a call."""
    return left.alias("l").join(right.alias("r"), _same(width or len(left.columns)), "left_anti")


def semi(left: DataFrame, right: DataFrame, width: int | None = None) -> DataFrame:
    """The rows of `left` that are in `right`; NULL equals NULL."""
    return left.alias("l").join(right.alias("r"), _same(width or len(left.columns)), "left_semi")


def _same(width: int) -> Column:
    pairs = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in column_names(width)]
    return reduce(lambda a, b: a & b, pairs)


def from_arrow(spark: SparkSession, rows: pa.Table, kinds: Sequence[Type]) -> Piece:
    """Rows that are here; no Python worker is needed, Arrow goes to the JVM as it is."""
    frame, fields = spark.createDataFrame(rows), row_schema(kinds).fields
    return Piece(frame.select(*(F.col(field.name).cast(field.dataType) for field in fields)), rows.num_rows)


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of all frames."""
    return reduce(lambda a, b: a.unionAll(b), frames)
