"""Views as signed rows: a refresh appends what came (+1) and what went (-1), and rewrites nothing.

`plus` holds only rows that were absent and `minus` only rows that were there, so the signs of a
row alternate along `_seq`, and a row is visible if and only if one of its + entries has no later
- entry; there is then exactly one such entry. Reading is one null-safe anti-join of the + rows
with the few - rows, and after a load or a compaction a plain scan.

The tables are partitioned by `_sign` and `_seq`: what a file holds is known from the log without
opening it, the - rows are read apart from the base, and the two columns cost no space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from foreset.store import arrow, delta
from foreset.store.canonical import canonical, same_row, without
from foreset.store.clustered import clustered
from foreset.store.delta import SEQ, SIGN
from foreset.store.laid import Laid
from foreset.store.quoting import ticked
from foreset.store.scans import table_at
from foreset.store.write_once import Read, Rows, Txn, ensure_table, put

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HIDDEN = {SIGN: "tinyint", SEQ: "bigint"}
BROADCAST_ROWS = 500_000  # more - rows than these are joined as Spark sees fit


@dataclass(frozen=True, slots=True)
class Extent:
    """What the log says of a signed table at one version, without a job."""

    plus_rows: int
    minus_rows: int
    base_rows: int  # + rows of the oldest seq: the last load or compaction
    log_files: int  # files beside the base
    size: int  # bytes

    @property
    def visible(self) -> int:
        """The number of visible rows: each - row takes exactly one + row away."""
        return self.plus_rows - self.minus_rows


@dataclass(frozen=True, slots=True)
class Threshold:
    """When reading has become dear enough to write the table anew."""

    minus_ratio: float = 0.10  # - rows to base rows: they are all matched on each reading
    log_ratio: float = 0.50  # appended rows to base rows
    log_files: int = 200
    least_rows: int = 20_000  # below this, ratios do not matter
    few_log_files: int = 50  # so many where all is so small: writing it anew costs less than one file more each night

    def passed(self, extent: Extent, plus: int = 0, minus: int = 0, files: int = 0) -> bool:
        """Whether the table, with `plus` and `minus` more rows in so many files, should be compacted."""
        minus_rows = extent.minus_rows + minus
        appended = extent.plus_rows - extent.base_rows + plus + minus_rows
        floor = max(extent.base_rows, self.least_rows)
        small = extent.plus_rows + plus <= self.least_rows
        most_files = self.few_log_files if small else self.log_files
        return (
            minus_rows > self.minus_ratio * floor
            or appended > self.log_ratio * floor
            or extent.log_files + max(files, (plus > 0) + (minus > 0)) > most_files
        )


def create(path: str, columns: Mapping[str, str]) -> None:
    """An empty signed table for rows of these columns (Spark type names)."""
    if clash := set(columns) & set(HIDDEN):
        raise ValueError(f"a view cannot have a column named {min(clash)}")
    ensure_table(path, {**columns, **HIDDEN}, partition_by=(SIGN, SEQ))


def load(path: str, rows: Rows, seq: int, txn: Txn) -> None:
    """Replace all rows: a first load, or a rebuild whose columns may differ."""
    put(_signed(rows, 1, seq), path, txn, (SIGN, SEQ), anew=True)


def append(path: str, plus: Rows | None, minus: Rows | None, seq: int, txn: Txn) -> None:
    """Append one refresh's exact differential, as one version; both sides are of one kind."""
    parts = [_signed(rows, sign, seq) for rows, sign in ((plus, 1), (minus, -1)) if not _known_empty(rows)]
    if not parts:
        raise ValueError("an empty differential is not written at all")
    put(reduce(_beside, parts), path, txn, (SIGN, SEQ), anew=False)


def read(
    spark: SparkSession, path: str, version: int, columns: Sequence[str], extent: Extent | None = None
) -> DataFrame:
    """The visible rows at a pinned version."""
    from pyspark.sql import functions as sf

    extent = extent or describe(path, version)
    table = table_at(spark, path, version)
    entries = table.where(sf.col(SIGN) == 1)
    if not extent.minus_rows:
        return entries.select(*map(ticked, columns))
    gone = table.where(sf.col(SIGN) == -1).select(
        *[sf.col(ticked(name)).alias(f"_m_{i}") for i, name in enumerate(columns)], sf.col(SEQ).alias("_m_seq")
    )
    if extent.minus_rows <= BROADCAST_ROWS:
        gone = sf.broadcast(gone)
    match = same_row(entries, gone, [(name, f"_m_{i}") for i, name in enumerate(columns)])
    return entries.join(gone, match & (gone["_m_seq"] > entries[SEQ]), "left_anti").select(*map(ticked, columns))


def rebase(
    path: str, version: int, plus: Read | None, minus: Read | None, seq: int, txn: Txn, order: Sequence[str] = ()
) -> None:
    """Append and compact in one version: what a refresh does when the threshold is passed."""
    import pyarrow as pa

    some = plus if plus is not None else minus
    assert some is not None, "an empty differential is not written at all"
    rows: Read
    if isinstance(some, pa.Table):
        rows = arrow.read(path, version, some.column_names).cast(some.schema)
        rows = rows if minus is None else arrow.difference(rows, minus)
    else:
        rows = read(some.sparkSession, path, version, some.columns)
        rows = rows if minus is None else without(rows, minus, some.columns)
    load(path, ordered(rows if plus is None else _both(rows, plus), order), seq, txn)


def ordered(rows: Read, order: Sequence[str]) -> Read:
    """Rows, or each file of them, in the order of these columns: what is looked up together lies together."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return clustered(rows, order)
    return rows.sortWithinPartitions(*map(ticked, order)) if order else rows


def describe(path: str, version: int, open_at: delta.OpenAt = delta.open_table) -> Extent:
    """Read a table's extent from its log."""
    table = open_at(path, version)
    assert table is not None, f"{path} does not exist"
    files = delta.listed_files(table)
    plus = [file for file in files if file[f"partition.{SIGN}"] == 1]
    base = min((file[f"partition.{SEQ}"] for file in plus), default=None)
    base_files = [file for file in plus if file[f"partition.{SEQ}"] == base]
    return Extent(
        plus_rows=sum(file["num_records"] for file in plus),
        minus_rows=sum(file["num_records"] for file in files) - sum(file["num_records"] for file in plus),
        base_rows=sum(file["num_records"] for file in base_files),
        log_files=len(files) - len(base_files),
        size=sum(file["size_bytes"] for file in files),
    )


def _signed(rows: Rows, sign: int, seq: int) -> Rows:
    import pyarrow as pa

    if isinstance(rows, Laid):
        return rows.under({SIGN: sign, SEQ: seq})
    if isinstance(rows, pa.Table):
        data = arrow.canonical_table(rows).append_column(SIGN, pa.array([sign] * rows.num_rows, pa.int8()))
        return data.append_column(SEQ, pa.array([seq] * rows.num_rows, pa.int64()))
    from pyspark.sql import functions as sf

    marks = sf.lit(sign).cast("tinyint").alias(SIGN), sf.lit(seq).cast("bigint").alias(SEQ)
    return rows.select(*canonical(rows, rows.columns), *marks)


def _beside(one: Rows, other: Rows) -> Rows:
    if isinstance(one, Laid):
        assert isinstance(other, Laid), "both sides are of one kind"
        return one.beside(other)
    assert not isinstance(other, Laid), "both sides are of one kind"
    return _both(one, other)


def _both(one: Read, other: Read) -> Read:
    import pyarrow as pa

    return pa.concat_tables([one, other]) if isinstance(one, pa.Table) else one.unionByName(other)


def _known_empty(rows: Rows | None) -> bool:
    import pyarrow as pa

    return rows is None or (isinstance(rows, pa.Table) and not rows.num_rows)
