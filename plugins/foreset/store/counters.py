"""Derivation counters as additive rows: a refresh appends differences, a reader sums them.

Never negative after summing: the engine asserts that, and nothing here clamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.store import delta, write_once
from foreset.store.canonical import canonical, same_row
from foreset.store.quoting import ticked
from foreset.store.scans import table_at
from foreset.store.signed import ordered

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
    write_once.ensure_table(path, {**columns, **HIDDEN}, partition_by=(SEQ,))


def load(path: str, counts: DataFrame, columns: Sequence[str], seq: int, txn: write_once.Txn) -> None:
    """Replace all counters: after a build, or a change of the rules."""
    _write(counts, path, columns, seq, txn, mode="overwrite")


def append_delta(path: str, counts: DataFrame, columns: Sequence[str], seq: int, txn: write_once.Txn) -> None:
    """Append one refresh's differences: the columns, then `_base` and `_recursive`."""
    _write(counts, path, columns, seq, txn, mode="append")


def load_arrow(path: str, counts: pa.Table, seq: int, txn: write_once.Txn) -> None:
    """`load` for entries that are here: the columns, then `_base` and `_recursive`; no Spark job."""
    delta.replace_exactly(txn.target(path), _entries(counts, seq), txn.mark, {txn.app_id: txn.version})


def append_arrow(path: str, counts: pa.Table, seq: int, txn: write_once.Txn) -> None:
    """`append_delta` for entries that are here."""
    import pyarrow as pa

    table = txn.target(path)
    schema = pa.schema(table.schema())
    entries = _entries(counts, seq).select(schema.names).cast(schema)
    delta.append_exactly(table, entries, txn.mark, {txn.app_id: txn.version})


def _entries(counts: pa.Table, seq: int) -> pa.Table:
    import pyarrow as pa

    from foreset.store.arrow import canonical_table

    return canonical_table(counts).append_column(SEQ, pa.array([seq] * counts.num_rows, pa.int64()))


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
    sums = [sf.sum(name).alias(name) for name in STORED.values()]
    return entries.groupBy(*map(ticked, columns)).agg(*sums)


def rebase(
    path: str,
    version: int,
    counts: DataFrame,
    columns: Sequence[str],
    seq: int,
    txn: write_once.Txn,
    order: Sequence[str],
) -> None:
    """Append and compact in one version: one entry for each row, none where both counters are zero."""
    from pyspark.sql import functions as sf

    names = [*columns, *STORED.values()]
    stored = table_at(counts.sparkSession, path, version).select(*map(ticked, names))
    entries = stored.unionByName(counts.select(*canonical(counts, columns), *STORED.values()))
    sums = entries.groupBy(*map(ticked, columns)).agg(*(sf.sum(name).alias(name) for name in STORED.values()))
    kept = sums.where((sf.col("_base") != 0) | (sf.col("_recursive") != 0))
    load(path, ordered(kept, order), columns, seq, txn)


def rebase_arrow(
    path: str, version: int, counts: pa.Table, seq: int, txn: write_once.Txn, order: Sequence[str]
) -> None:
    """The same for entries that fit into this process."""
    import pyarrow as pa

    from foreset.store import arrow
    from foreset.store.clustered import clustered

    stored = arrow.read_plain(path, version, counts.column_names).cast(counts.schema)
    load_arrow(path, clustered(_summed(pa.concat_tables([stored, arrow.canonical_table(counts)])), order), seq, txn)


def _summed(entries: pa.Table) -> pa.Table:
    """One entry for each row, with the sums of its counters, if they are not all zero."""
    import numpy as np
    import pyarrow as pa

    from foreset.store import scratch

    sums = list(STORED.values())
    keys = [name for name in entries.column_names if name not in sums]
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

    def passed(self, more: int) -> bool:
        """Whether the appended entries, with `more` to come, outweigh the base or lie in too many files."""
        most_files = FEW_LOG_FILES if self.rows + more <= LEAST_ROWS else LOG_FILES
        return self.log_files + 1 > most_files or self.log_rows + more > LOG_RATIO * max(self.base_rows, LEAST_ROWS)


def describe(path: str, version: int, open_at: delta.OpenAt = delta.open_table) -> Extent:
    """Read a table's extent from its log."""
    table = open_at(path, version)
    assert table is not None, f"{path} does not exist"
    files = delta.listed_files(table)
    first = min((file[f"partition.{SEQ}"] for file in files), default=0)
    base = [file["num_records"] for file in files if file[f"partition.{SEQ}"] == first]
    log = [file["num_records"] for file in files if file[f"partition.{SEQ}"] != first]
    return Extent(sum(base), sum(log), len(log))


def _write(counts: DataFrame, path: str, columns: Sequence[str], seq: int, txn: write_once.Txn, *, mode: str) -> None:
    from pyspark.sql import functions as sf

    numbers = [sf.col(name).cast("bigint").alias(name) for name in STORED.values()]
    rows = counts.select(*canonical(counts, columns), *numbers, sf.lit(seq).cast("bigint").alias(SEQ))
    writer = rows.write.format("delta").mode(mode).partitionBy(SEQ).options(**txn.options())
    if mode == "overwrite":
        writer = writer.option("overwriteSchema", "true")
    writer.save(path)
