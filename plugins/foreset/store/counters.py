"""Derivation counters as additive rows: a refresh appends differences, a reader sums them.

Never negative after summing: the engine asserts that, and nothing here clamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.store import arrow, delta
from foreset.store.canonical import canonical, same_row
from foreset.store.laid import Laid
from foreset.store.quoting import ticked
from foreset.store.scans import table_at
from foreset.store.signed import ordered
from foreset.store.write_once import Read, Rows, Txn, ensure_table, put

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BASE, RECURSIVE, SEQ = "base", "recursive", "_seq"
# Under names of their own in the table: a view may well have a column named `base`.
STORED = {BASE: "_base", RECURSIVE: "_recursive"}
HIDDEN = {"_base": "bigint", "_recursive": "bigint", SEQ: "bigint"}
LOG_FILES, FEW_LOG_FILES = 200, 50  # the second where all is so small that a file costs more than writing it anew
LOG_RATIO, LEAST_ROWS = 1.0, 20_000
BROADCAST_ROWS = 500_000


def create(path: str, columns: Mapping[str, str]) -> None:
    """An empty table of counters for rows of these columns."""
    ensure_table(path, {**columns, **HIDDEN}, partition_by=(SEQ,))


def load(path: str, counts: Rows, seq: int, txn: Txn) -> None:
    """Replace all counters, after a build or a change of the rules: the columns, then `_base` and `_recursive`."""
    put(_entries(counts, seq), path, txn, (SEQ,), anew=True)


def append(path: str, counts: Rows, seq: int, txn: Txn) -> None:
    """Append one refresh's differences, in the same form."""
    put(_entries(counts, seq), path, txn, (SEQ,), anew=False)


def _entries(counts: Rows, seq: int) -> Rows:
    import pyarrow as pa

    if isinstance(counts, Laid):
        return counts.under({SEQ: seq})
    if isinstance(counts, pa.Table):
        return arrow.canonical_table(counts).append_column(SEQ, pa.array([seq] * counts.num_rows, pa.int64()))
    from pyspark.sql import functions as sf

    numbers = [sf.col(name).cast("bigint").alias(name) for name in STORED.values()]
    return counts.select(*canonical(counts, _keys(counts.columns)), *numbers, sf.lit(seq).cast("bigint").alias(SEQ))


def _keys(names: Sequence[str]) -> list[str]:
    return [name for name in names if name not in STORED.values()]


def read(
    spark: SparkSession,
    path: str,
    version: int,
    columns: Sequence[str],
    keys: DataFrame | None = None,
    *,
    few: bool = True,
) -> DataFrame:
    """The sums, with columns `_base` and `_recursive`; of the rows in `keys` only, if given.

    The keys go first, by a null-safe semi-join, so that only entries of those rows are grouped.
    """
    from pyspark.sql import functions as sf

    entries = table_at(spark, path, version)
    if keys is not None:
        wanted = keys.select(*[sf.col(ticked(name)).alias(f"_k_{i}") for i, name in enumerate(columns)])
        wanted = sf.broadcast(wanted) if few else wanted
        match = same_row(entries, wanted, [(name, f"_k_{i}") for i, name in enumerate(columns)])
        entries = entries.join(wanted, match, "left_semi")
    return _sums(entries, columns)


def rebase(path: str, version: int, counts: Read, seq: int, txn: Txn, order: Sequence[str]) -> None:
    """Append and compact in one version: one entry for each row, none where both counters are zero."""
    import pyarrow as pa

    kept: Read
    if isinstance(counts, pa.Table):
        stored = arrow.read_plain(path, version, counts.column_names).cast(counts.schema)
        kept = _summed(pa.concat_tables([stored, arrow.canonical_table(counts)]))
    else:
        from pyspark.sql import functions as sf

        columns = _keys(counts.columns)
        before = table_at(counts.sparkSession, path, version).select(*map(ticked, [*columns, *STORED.values()]))
        entries = before.unionByName(counts.select(*canonical(counts, columns), *STORED.values()))
        kept = _sums(entries, columns).where((sf.col("_base") != 0) | (sf.col("_recursive") != 0))
    load(path, ordered(kept, order), seq, txn)


def _sums(entries: DataFrame, columns: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as sf

    return entries.groupBy(*map(ticked, columns)).agg(*(sf.sum(name).alias(name) for name in STORED.values()))


def _summed(entries: pa.Table) -> pa.Table:
    """One entry for each row, with the sums of its counters, if they are not all zero."""
    import numpy as np
    import pyarrow as pa

    from foreset.store import scratch

    sums = list(STORED.values())
    keys = _keys(entries.column_names)
    # Positions as names: whatever the columns are called, nothing of theirs gets into the text.
    places = [f"c{i}" for i in range(len(keys))]
    numbered = entries.select([*keys, *sums]).rename_columns([*places, "b", "r"])
    numbered = numbered.append_column("row", pa.array(np.arange(entries.num_rows)))
    sums_of = "select min(row) as row, sum(b)::bigint as b, sum(r)::bigint as r from e"
    query = f"{sums_of} group by {', '.join(places)} having sum(b) <> 0 or sum(r) <> 0"
    with scratch.cursor() as connection:
        connection.register("e", numbered)
        found = connection.execute(query).fetchnumpy()
    kept = entries.take(pa.array(found["row"], pa.int64()))
    for name, values in zip(sums, (found["b"], found["r"]), strict=True):
        kept = kept.set_column(kept.column_names.index(name), name, pa.array(values, pa.int64()))
    return kept


@dataclass(frozen=True, slots=True)
class Extent:
    """What the log says of a table of counters at one version, without a job."""

    base_rows: int  # of the oldest seq: the last load or compaction
    log_rows: int
    log_files: int

    @property
    def rows(self) -> int:
        """All entries."""
        return self.base_rows + self.log_rows

    def passed(self, more: int, files: int = 1) -> bool:
        """Whether the appended entries, with `more` in so many files to come, outweigh the base or lie in too many."""
        most_files = FEW_LOG_FILES if self.rows + more <= LEAST_ROWS else LOG_FILES
        many = self.log_files + files > most_files
        return many or self.log_rows + more > LOG_RATIO * max(self.base_rows, LEAST_ROWS)


def describe(path: str, version: int, open_at: delta.OpenAt = delta.open_table) -> Extent:
    """Read a table's extent from its log."""
    table = open_at(path, version)
    assert table is not None, f"{path} does not exist"
    files = delta.listed_files(table)
    first = min((file[f"partition.{SEQ}"] for file in files), default=0)
    base = [file["num_records"] for file in files if file[f"partition.{SEQ}"] == first]
    log = [file["num_records"] for file in files if file[f"partition.{SEQ}"] != first]
    return Extent(sum(base), sum(log), len(log))
