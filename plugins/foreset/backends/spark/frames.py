"""Relations in all their versions as DataFrames.

A stored version is a tuple of disjoint pieces, each a DataFrame of distinct rows
whose number is known once it was computed; a merge appends a piece and costs
nothing. Pieces are cut off from their lineage, so that round 60 of a recursion
plans as fast as round 1. Columns are `c0`, `c1` ... by position.

Virtual versions are disjoint compositions too (ir/versions.py), so reading one
never repeats a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.ir.steps import Ref
from foreset.ir.types import Type
from foreset.ir.versions import VIRTUAL, Version
from foreset.store.types import column_names, row_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BROADCAST_ROWS = 200_000  # at most so many rows are sent to every executor on our word


@dataclass(frozen=True, slots=True)
class Piece:
    """Distinct rows of one version; `rows` is None while nobody has counted them."""

    frame: DataFrame
    rows: int | None = None
    computed: bool = False  # cut off from where it came from: reading it plans and opens nothing

    @property
    def small(self) -> bool:
        """Known to be small enough for a broadcast."""
        return self.rows is not None and self.rows <= BROADCAST_ROWS

    @property
    def hinted(self) -> DataFrame:
        """The rows, with the word that they may be broadcast where they are few."""
        return F.broadcast(self.frame) if self.small else self.frame


@dataclass(slots=True)
class Frames:
    """What the engine knows of every relation at one moment."""

    spark: SparkSession
    schemas: dict[str, tuple[Type, ...]]
    rows_read: dict[str, int] = field(default_factory=dict)  # of large stored states, by relation
    _stored: dict[Ref, tuple[Piece, ...]] = field(default_factory=dict)

    def put(self, ref: Ref, *pieces: Piece) -> None:
        """Replace a stored version; pieces known to be empty are dropped."""
        self._stored[ref] = tuple(piece for piece in pieces if piece.rows != 0)

    def pieces(self, ref: Ref) -> tuple[Piece, ...]:
        """The pieces of a stored version; none when it is empty."""
        return self._stored.get(ref, ())

    def count(self, ref: Ref) -> int | None:
        """How many rows a version has at most; None when it is not known."""
        counts = [piece.rows for part in self._grown_from(ref) for piece in self.pieces(part)]
        return None if None in counts else sum(count for count in counts if count is not None)

    def empty(self, ref: Ref) -> bool:
        """True when a version is known to be empty."""
        return self.count(ref) == 0

    def read(self, ref: Ref) -> Piece:
        """A stored or virtual version as one piece; its count is an upper bound for virtual ones."""
        frames = [piece.frame for part in self._grown_from(ref) for piece in self._kept(part, ref)]
        if not frames:
            return Piece(self.nothing(ref.relation), 0)
        return Piece(reduce(lambda a, b: a.unionAll(b), frames), self.count(ref))

    def held(self, rows: Piece, ref: Ref) -> DataFrame | None:
        """The rows of `rows` that a version holds, found by one look at each of its pieces; None: none."""
        width = self._width(ref)
        parts = [piece for part in self._grown_from(ref) for piece in self._kept(part, ref)]
        hits = [semi(piece.frame, rows.hinted, width) for piece in parts]
        return reduce(lambda a, b: a.unionAll(b), hits) if hits else None

    def few(self, ref: Ref) -> bool:
        """True when a version is known to be small enough for a broadcast."""
        count = self.count(ref)
        return count is not None and count <= BROADCAST_ROWS

    def less(self, frame: DataFrame, refs: Sequence[Ref]) -> DataFrame:
        """The rows of `frame` in none of `refs`, which are few."""
        for ref in refs:
            if not self.empty(ref):
                frame = anti(frame, self.read(ref).hinted, self._width(ref))
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
            if rows.small:
                found = self.held(rows, ref)
                frame = frame if found is None else anti(frame, F.broadcast(found), self._width(ref))
            else:
                frame = anti(frame, self.read(ref).hinted, self._width(ref))
        return frame

    def overdeleted(self) -> dict[str, int]:
        """How many rows a deletion took, and how many of them it had to put back: for those who measure."""

        def rows(version: Version) -> int:
            return sum(p.rows or 0 for ref, pieces in self._stored.items() if ref.version is version for p in pieces)

        return {"overdeleted": rows(Version.DEL), "rederived": rows(Version.RED)}

    def stored_of(self, ref: Ref) -> tuple[Ref, ...]:
        """The stored versions that reading `ref` looks at."""
        shape = VIRTUAL.get(ref.version)
        if shape is None or ref in self._stored:
            return (ref,)
        return tuple(Ref(ref.relation, version) for version in (shape.base, *shape.less, *shape.more))

    def nothing(self, relation: str) -> DataFrame:
        """No rows, with the columns of `relation`."""
        fields = row_schema(self.schemas[relation]).fields
        return self.spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))

    def _grown_from(self, ref: Ref) -> tuple[Ref, ...]:
        """The stored versions whose rows a version may hold. A virtual one may be stored all the same:
        the new state of a source is simply its table.
        """
        shape = VIRTUAL.get(ref.version)
        if shape is None or ref in self._stored:
            return (ref,)
        return tuple(Ref(ref.relation, version) for version in (shape.base, *shape.more))

    def _kept(self, part: Ref, whole: Ref) -> tuple[Piece, ...]:
        """The pieces of `part`; those of a virtual version's base without its `less`."""
        pieces = self.pieces(part)
        if part.version in (Version.OLD, Version.NEW):
            self.rows_read[part.relation] = self.rows_read.get(part.relation, 0) + sum(p.rows or 0 for p in pieces)
        shape = VIRTUAL.get(whole.version)
        if shape is None or part.version is not shape.base:
            return pieces
        less = [p for v in shape.less for p in self.pieces(Ref(part.relation, v))]
        width = self._width(part)
        return tuple(Piece(reduce(lambda f, gone: anti(f, gone.hinted, width), less, p.frame), p.rows) for p in pieces)

    def _width(self, ref: Ref) -> int:
        return len(self.schemas[ref.relation])


def anti(left: DataFrame, right: DataFrame, width: int | None = None) -> DataFrame:
    """The rows of `left` that are not in `right`; NULL equals NULL. Over Connect, finding out the width is a call."""
    return left.alias("l").join(right.alias("r"), _same(width or len(left.columns)), "left_anti")


def semi(left: DataFrame, right: DataFrame, width: int | None = None) -> DataFrame:
    """The rows of `left` that are in `right`; NULL equals NULL."""
    return left.alias("l").join(right.alias("r"), _same(width or len(left.columns)), "left_semi")


def _same(width: int) -> Column:
    pairs = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in column_names(width)]
    return reduce(lambda a, b: a & b, pairs)
