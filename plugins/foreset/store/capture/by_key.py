"""Sources in which no two rows agreed on the key: what came and went is told by keys alone, in Spark.

As `here.py` does it in process. A row that goes was then the only one of its key, and so is one that comes in its
place; only keys that come and were not there are looked for, in the key's columns. That feed and table belong
together is seen from the number of rows. So no copies are counted, for which a large table would be shuffled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.ir.program import Column, Source
from foreset.store import delta
from foreset.store.canonical import same_row
from foreset.store.capture.feed import NET, SIGN
from foreset.store.capture.origins import Origin, TableOrigin
from foreset.store.quoting import ticked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 500_000  # so many keys are sent to every worker
CAME, WENT = "foreset_came", "foreset_went"


@dataclass(frozen=True, slots=True)
class Alone:
    """A declared key of which it is known that no two rows had it."""

    key: tuple[Column, ...]
    before: int  # rows
    now: int

    def told(self, touched: DataFrame, table: DataFrame, net: int) -> DataFrame | None:
        """Which rows came and went; None where two rows may have one key now, or had it."""
        from pyspark.sql import functions as f

        if self.now != self.before + net:
            return None
        names = [ticked(column.name) for column in self.key]
        copies = f.col(NET)
        changed = touched.groupBy(*names).agg(
            f.sum(f.greatest(copies, f.lit(0))).alias(CAME), f.sum(f.greatest(-copies, f.lit(0))).alias(WENT)
        )
        fresh = changed.where(f.col(WENT) == 0).select(*names)
        most = changed.agg(
            f.greatest(f.max(CAME), f.max(WENT)).alias("most"), f.count_if(f.col(WENT) == 0).alias("fresh")
        ).first()
        if most is None or most["most"] > 1 or not self._stand_once(fresh, int(most["fresh"]), table):
            return None
        return touched.withColumn(SIGN, copies.cast("int")).drop(NET)

    def _stand_once(self, fresh: DataFrame, count: int, table: DataFrame) -> bool:
        """Each of these keys stands in one row; the table is read between their least and greatest values."""
        from pyspark.sql import functions as f

        if not count:
            return True
        labels = [f"foreset_key_{i}" for i in range(len(self.key))]
        names = [column.name for column in self.key]
        keys = fresh.toDF(*labels)
        wanted = f.broadcast(keys) if count <= FEW else keys
        rows = table.select(*map(ticked, names))
        found = rows.join(wanted, same_row(rows, keys, list(zip(names, labels, strict=True))), "left_semi")
        each = found.groupBy(*map(ticked, names)).agg(f.count(f.lit(1)).alias("n"))
        seen = each.agg(f.count(f.lit(1)).alias("keys"), f.max("n").alias("most")).first()
        return seen is not None and (seen["keys"], seen["most"]) == (count, 1)


def known_alone(origin: Origin, source: Source, single: int | None, upto: int) -> Alone | None:
    """What is known of the key, where the log says how many rows there are now."""
    if single is None or not isinstance(origin, TableOrigin) or not source.key:
        return None
    try:
        with delta.reading(origin.place):
            table = origin.opened(origin.place, upto)
            rows = None if table is None else delta.rows_in(delta.listed_files(table))
    except delta.SparkOnly:
        return None
    return None if rows is None else Alone(tuple(source.columns[place] for place in source.key_places), single, rows)

