"""Derivation counters as additive rows: a refresh appends differences, a reader sums them.

Never negative after summing: the engine asserts that, and nothing here clamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from foreset.store import delta, pins
from foreset.store.canonical import canonical, same_row
from foreset.store.quoting import ticked
from foreset.store.scans import table_at

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BASE, RECURSIVE, SEQ = "base", "recursive", "_seq"
# Under names of their own in the table: a view may well have a column named `base`.
STORED = {BASE: "_base", RECURSIVE: "_recursive"}
HIDDEN = {"_base": "bigint", "_recursive": "bigint", SEQ: "bigint"}
LOG_FILES, LOG_RATIO, LEAST_ROWS = 200, 1.0, 20_000
BROADCAST_ROWS = 500_000


def create(path: str, columns: Mapping[str, str]) -> None:
    """An empty table of counters for rows of these columns."""
    pins.ensure_table(path, {**columns, **HIDDEN}, partition_by=(SEQ,))


def load(path: str, counts: DataFrame, columns: Sequence[str], seq: int, txn: pins.Txn) -> None:
    """Replace all counters: after a build, or a change of the rules."""
    _write(counts, path, columns, seq, txn, mode="overwrite")


def append_delta(path: str, counts: DataFrame, columns: Sequence[str], seq: int, txn: pins.Txn) -> None:
    """Append one refresh's differences: the columns, then `_base` and `_recursive`."""
    _write(counts, path, columns, seq, txn, mode="append")


def load_arrow(path: str, counts: pa.Table, seq: int, txn: pins.Txn) -> None:
    """`load` for entries that are here: the columns, then `_base` and `_recursive`; no Spark job."""
    delta.replace_exactly(txn.target(path), _entries(counts, seq), txn.mark, {txn.app_id: txn.version})


def append_arrow(path: str, counts: pa.Table, seq: int, txn: pins.Txn) -> None:
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


def compact(spark: SparkSession, path: str, version: int, columns: Sequence[str], seq: int, txn: pins.Txn) -> None:
    """Write the sums as one entry per row, without the rows whose counters are all zero."""
    from pyspark.sql import functions as sf

    sums = read(spark, path, version, columns)
    kept = sums.where((sf.col("_base") != 0) | (sf.col("_recursive") != 0))
    load(path, kept, columns, seq, txn)


def needs_compaction(path: str, version: int, more: int = 0) -> bool:
    """Whether the appended entries, with `more` to come, outweigh the compacted ones or lie in too many files."""
    table = delta.open_table(path, version)
    assert table is not None, f"{path} does not exist"
    files = delta.listed_files(table)
    first = min((file[f"partition.{SEQ}"] for file in files), default=0)
    base = sum(file["num_records"] for file in files if file[f"partition.{SEQ}"] == first)
    log = [file["num_records"] for file in files if file[f"partition.{SEQ}"] != first]
    return len(log) + 1 > LOG_FILES or sum(log) + more > LOG_RATIO * max(base, LEAST_ROWS)


def _write(counts: DataFrame, path: str, columns: Sequence[str], seq: int, txn: pins.Txn, *, mode: str) -> None:
    from pyspark.sql import functions as sf

    numbers = [sf.col(name).cast("bigint").alias(name) for name in STORED.values()]
    rows = counts.select(*canonical(counts, columns), *numbers, sf.lit(seq).cast("bigint").alias(SEQ))
    writer = rows.write.format("delta").mode(mode).partitionBy(SEQ).options(**txn.options())
    if mode == "overwrite":
        writer = writer.option("overwriteSchema", "true")
    writer.save(path)
