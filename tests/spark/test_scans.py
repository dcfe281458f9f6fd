"""Tables that Spark reads from their files: the same rows as through Delta, and which tables are left to it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from foreset.session import path_sql
from foreset.store import scans
from foreset.store.scans import FEW_FILES, table_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

INSTANT = pa.timestamp("us", "UTC")


def rows(number: int, *, sign: int = 1, seq: int = 1) -> pa.Table:
    """A few rows of many types, with NULLs."""
    return pa.table({
        "key": pa.array([number, number + 1, None], pa.int32()),
        "amount": pa.array([Decimal("1.50"), None, Decimal(number)], pa.decimal128(12, 2)),
        "of day": pa.array([date(2026, 1, 1), None, date(1200, 2, 3)], pa.date32()),
        "at": pa.array([datetime(2026, 1, 1, 3, tzinfo=UTC), datetime(1700, 1, 1, tzinfo=UTC), None], INSTANT),
        "names": pa.array([["ä", None], [], None], pa.list_(pa.string())),
        "_sign": pa.array([sign] * 3, pa.int8()),
        "_seq": pa.array([seq] * 3, pa.int64()),
    })  # fmt: skip


def same(spark: SparkSession, path: str, version: int | None = None) -> None:
    """What is read is what Delta reads, types included."""
    newest = DeltaTable(path).version() if version is None else version
    found = table_at(spark, path, newest)
    expected = spark.read.format("delta").option("versionAsOf", newest).load(path)
    columns = expected.columns
    assert found.select(columns).dtypes == expected.dtypes
    assert Counter(map(str, found.select(columns).collect())) == Counter(map(str, expected.collect()))


def read_plainly(path: str) -> bool:
    return scans._plain_files(path, DeltaTable(path).version()) is not None


def test_ours_and_those_of_others(spark: SparkSession, warehouse: str) -> None:
    signed, source = f"{warehouse}/signed", f"{warehouse}/source"
    for seq, sign in ((1, 1), (2, 1), (2, -1), (3, 1)):
        write_deltalake(signed, rows(seq, sign=sign, seq=seq), partition_by=["_sign", "_seq"], mode="append")
    for number in range(3):
        write_deltalake(source, rows(number).drop(["_sign", "_seq"]), mode="append")
    DeltaTable(source).delete("key = 1")
    assert read_plainly(signed)
    assert read_plainly(source)
    for path in (signed, source):
        for version in range(DeltaTable(path).version() + 1):
            same(spark, path, version)


def test_a_column_that_came_later_is_null(spark: SparkSession, warehouse: str) -> None:
    path = f"{warehouse}/source"
    write_deltalake(path, pa.table({"a": [1, 2]}))
    write_deltalake(path, pa.table({"a": [3], "b": ["x"]}), mode="append", schema_mode="merge")
    assert read_plainly(path)
    same(spark, path)
    same(spark, path, 0)


def test_written_by_spark(spark: SparkSession, warehouse: str) -> None:
    path = f"{warehouse}/source"
    made = spark.sql(
        "SELECT id, CAST(id AS DECIMAL(30, 4)) AS d, TIMESTAMP_NTZ'2026-01-01 00:00:00' AS t FROM range(5)"
    )
    made.write.format("delta").save(path)
    assert read_plainly(path)
    same(spark, path)


@pytest.mark.parametrize(
    ("what", "properties"),
    [("deletion vectors", {"delta.enableDeletionVectors": "true"}), ("mapping", {"delta.columnMapping.mode": "name"})],
)
def test_features_are_left_to_delta(what: str, properties: dict[str, str], spark: SparkSession, warehouse: str) -> None:
    path = f"{warehouse}/source"
    writer = spark.range(100).coalesce(1).write.format("delta")
    for name, value in properties.items():
        writer = writer.option(name, value)
    writer.save(path)
    path_sql(spark).sql(f"DELETE FROM delta.`{path}` WHERE id = 7").collect()
    assert scans._plain_files(path, 1) is None, what
    assert table_at(spark, path, 1).count() == 99


def test_partitions_of_others_names_like_patterns_and_many_files(spark: SparkSession, warehouse: str) -> None:
    parts, odd, many = f"{warehouse}/parts", f"{warehouse}/odd{{1}}", f"{warehouse}/many"
    write_deltalake(parts, pa.table({"a": [1, 2], "on": ["x", None]}), partition_by=["on"])
    write_deltalake(odd, pa.table({"a": [1]}))
    for number in range(FEW_FILES + 1):
        write_deltalake(many, pa.table({"a": [number]}), mode="append")
    for path in (parts, odd, many):
        assert not read_plainly(path)
    same(spark, parts)
    same(spark, many)


def test_a_file_that_is_gone_is_deltas_to_report(spark: SparkSession, warehouse: str) -> None:
    path = f"{warehouse}/source"
    write_deltalake(path, pa.table({"a": [1]}))
    Path(DeltaTable(path).file_uris()[0]).unlink()
    assert not read_plainly(path)
