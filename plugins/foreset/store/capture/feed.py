"""From copies to sets: which rows of a source appeared, and which are gone with their last copy.

A change feed is a log, not a difference: an UPDATE writes a row out and in again though no
column that we read has changed, a RESTORE writes back what was there before. So the feed is
projected first and summed second, and of what is left only rows count whose number of
copies went from none to some or from some to none.

Copies are counted in the *new* version, and those of the old one follow by subtraction:
the old data files may be vacuumed while the feed is still whole. A count below zero is then
proof that feed and table disagree; it is counted and reported, never clamped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.store.canonical import same_row
from foreset.store.capture.rows import project
from foreset.store.layout import CAME_OR_WENT
from foreset.store.quoting import ticked
from foreset.store.scans import table_at

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession

NET = "foreset_net"  # copies that came minus copies that went
COPIES = "foreset_copies"  # in the new version
SIGN = CAME_OR_WENT  # +1: the row is new in the set, -1: it is gone, 0: impossible, see above


def read_version(spark: SparkSession, path: str, version: int, columns: tuple[Column, ...]) -> DataFrame:
    """The table's rows at `version`, every copy, declared columns only."""
    return project(table_at(spark, path, version), columns)


def read_feed(spark: SparkSession, path: str, after: int, upto: int, columns: tuple[Column, ...]) -> DataFrame:
    """The changes of `(after, upto]`, each copy with its sign in `NET`; ranges are versions, never times."""
    from pyspark.sql import functions as f

    reader = spark.read.format("delta").option("readChangeFeed", "true")
    feed = reader.option("startingVersion", str(after + 1)).option("endingVersion", str(upto)).load(path)
    rows = project(feed, columns, "_change_type")
    arrives = rows["_change_type"].isin("insert", "update_postimage")
    return rows.withColumn(NET, f.when(arrives, f.lit(1)).otherwise(f.lit(-1))).drop("_change_type")


def netted(signed: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """Rows whose number of copies has changed, with the difference in `NET`."""
    from pyspark.sql import functions as f

    return _grouped(signed, columns, f.sum(NET).alias(NET)).where(f.col(NET) != 0)


def crossings(touched: DataFrame, table: DataFrame, columns: tuple[Column, ...], *, few: bool) -> DataFrame:
    """Of the rows in `touched` those that entered or left the set; `table` is the new version.

    `few`: the touched rows fit into memory, so the table is filtered where it lies and
    never shuffled.
    """
    from pyspark.sql import functions as f

    keys = touched.select(*(f.col(ticked(c.name)).alias(f"foreset_key_{i}") for i, c in enumerate(columns)))
    pairs = [(c.name, f"foreset_key_{i}") for i, c in enumerate(columns)]
    bound = table.join(f.broadcast(keys) if few else keys, same_row(table, keys, pairs), "left_semi")
    counted = bound.withColumn(NET, f.lit(0).cast("bigint")).withColumn(COPIES, f.lit(1))
    both = counted.unionByName(touched.withColumn(COPIES, f.lit(0)))
    sums = _grouped(both, columns, f.sum(NET).alias(NET), f.sum(COPIES).alias(COPIES))
    before = f.col(COPIES) - f.col(NET)
    sign = (
        f.when(before < 0, f.lit(0))
        .when((before == 0) & (f.col(COPIES) > 0), f.lit(1))
        .when((before > 0) & (f.col(COPIES) == 0), f.lit(-1))
    )
    return sums.withColumn(SIGN, sign).drop(NET, COPIES).where(f.col(SIGN).isNotNull())


def difference(before: DataFrame, now: DataFrame, columns: tuple[Column, ...]) -> DataFrame:
    """The exact difference of two bags as sets, with its sign in `SIGN`, in one shuffle of both."""
    from pyspark.sql import functions as f

    old, new = "foreset_old", "foreset_new"
    zero, one = f.lit(0), f.lit(1)
    left = before.withColumn(old, one).withColumn(new, zero)
    right = now.withColumn(old, zero).withColumn(new, one)
    sums = _grouped(left.unionByName(right), columns, f.max(old).alias(old), f.max(new).alias(new))
    return sums.withColumn(SIGN, f.col(new) - f.col(old)).drop(old, new).where(f.col(SIGN) != 0)


def _grouped(frame: DataFrame, columns: tuple[Column, ...], *sums: Expression) -> DataFrame:
    return frame.groupBy(*(ticked(c.name) for c in columns)).agg(*sums)
