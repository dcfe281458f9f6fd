"""Derivation counters in Spark: what is stored, and what the tallies of this run change.

Changes are small frames of (row, base, recursive); the stored counters are looked
up only for the rows in question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.frames import Piece
from foreset.ir.steps import Standing
from foreset.store.types import column_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Lookup = Callable[[Piece], "DataFrame"]  # rows -> their stored counters (row, base, recursive), absent if none


@dataclass(slots=True)
class CounterFrames:
    """The counters of one relation; `stored` is None where none are kept or all were forgotten.

    `single`: no row can have two derivations, before or after; then nothing need be stored or looked up.
    """

    width: int
    stored: Lookup | None = None
    single: bool = False
    changes: list[Piece] = field(default_factory=list)

    def standing(self, rows: Piece, wanted: Standing) -> DataFrame:
        """The rows of `rows` whose counters are as `wanted` says."""
        names = column_names(self.width)
        zero = F.lit(0).cast("bigint")
        asked = rows.frame.select(*names, *(zero.alias(n) for n in ("b0", "r0", "b1", "r1")), F.lit(1).alias("asked"))
        parts = [asked]
        if self.stored is not None:
            before = self.stored(rows)
            b, r = F.col("base"), F.col("recursive")
            old = (b.alias("b0"), r.alias("r0"), b.alias("b1"), r.alias("r1"))
            parts.append(before.select(*names, *old, _not_asked()))
        for change in self.changes:
            found = _of_rows(change.frame, rows, names)
            b, r = F.col("base"), F.col("recursive")
            new = (zero.alias("b0"), zero.alias("r0"), b.alias("b1"), r.alias("r1"))
            parts.append(found.select(*names, *new, _not_asked()))
        united = reduce(lambda a, c: a.unionAll(c), parts)
        sums = [F.sum(n).alias(n) for n in ("b0", "r0", "b1", "r1", "asked")]
        return united.groupBy(*names).agg(*sums).where(self._condition(wanted) & (F.col("asked") > 0)).select(*names)

    def current(self) -> DataFrame | None:
        """All changes of this run, one row for each row that they name; None when there are none."""
        if not self.changes:
            return None
        united = reduce(lambda a, b: a.unionAll(b), [piece.frame for piece in self.changes])
        if len(self.changes) > 1:
            sums = [F.sum(n).alias(n) for n in ("base", "recursive")]
            united = united.groupBy(*column_names(self.width)).agg(*sums)
        return united.where((F.col("base") != 0) | (F.col("recursive") != 0))

    def impossible(self) -> DataFrame | None:
        """Rows with a negative counter, or two derivations where one can be: the state is wrong if there is one."""
        change = self.current()
        if change is None:
            return None
        if self.single:
            return change.where(F.abs("base") > 1)
        names = column_names(self.width)
        if self.stored is not None:
            before = self.stored(Piece(change.select(*names)))
            change = change.unionAll(before.select(*change.columns))
            change = change.groupBy(*names).agg(F.sum("base").alias("base"), F.sum("recursive").alias("recursive"))
        return change.where((F.col("base") < 0) | (F.col("recursive") < 0))

    def _condition(self, wanted: Standing) -> Column:
        before, base = F.col("b0") + F.col("r0"), F.col("b1")
        now = F.col("b1") + F.col("r1")
        if self.single:  # the change alone says what was there before
            return {Standing.APPEARED: now > 0, Standing.VANISHED: now < 0}[wanted]
        return {
            Standing.APPEARED: (before == 0) & (now > 0),
            Standing.VANISHED: (before > 0) & (now == 0),
            Standing.UNFOUNDED: base == 0,
            Standing.STANDING: now > 0,
            Standing.GONE: now == 0,
        }[wanted]


def _not_asked() -> Column:
    return F.lit(0).alias("asked")


def _of_rows(frame: DataFrame, rows: Piece, names: tuple[str, ...]) -> DataFrame:
    keyed = semi_on(frame, rows.hinted, names)
    return keyed.select(*names, "base", "recursive")


def semi_on(frame: DataFrame, rows: DataFrame, names: tuple[str, ...]) -> DataFrame:
    """The rows of `frame` whose key columns stand in `rows`; NULL equals NULL."""
    pairs = [F.col(f"l.{name}").eqNullSafe(F.col(f"r.{name}")) for name in names]
    return frame.alias("l").join(rows.alias("r"), reduce(lambda a, b: a & b, pairs), "left_semi")
