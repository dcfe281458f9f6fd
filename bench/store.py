"""Append, read and compact a view of 5 million rows; `python bench/store.py [ROWS]`, FORESET_SPARK as usual."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from foreset.session import open_session
from foreset.store import arrow, delta, signed, write_once

T = TypeVar("T")
COLUMNS = {"src": "string", "dst": "string", "weight": "double"}


def timed(name: str, act: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = act()
    print(f"{name:44} {time.perf_counter() - start:7.2f} s", flush=True)
    return result


def rows(spark: SparkSession, first: int, count: int) -> DataFrame:
    number = sf.col("id")
    return spark.range(first, first + count).select(
        sf.concat(sf.lit("n"), (number % 100_000).cast("string")).alias("src"),
        sf.concat(sf.lit("m"), number.cast("string")).alias("dst"),
        (number / 3).alias("weight"),
    )


def scan(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as root, open_session(None, root) as session:
        spark, path = session.spark, str(Path(root, "bench", "closure"))
        signed.create(path, COLUMNS)
        seq = 0

        def txn() -> write_once.Txn:
            return write_once.Txn("bench", seq, delta.Mark("write", token=delta.new_token()))

        def version() -> int:
            table = delta.open_table(path)
            assert table is not None
            return table.version()

        def measure(when: str) -> None:
            at = version()
            print(f"   {signed.describe(path, at)}")
            for _ in range(2):
                timed(f"Spark reads, {when}", lambda: scan(signed.read(spark, path, at, list(COLUMNS))))
            timed(f"deltalake and DuckDB read, {when}", lambda: arrow.read(path, at, list(COLUMNS)))

        seq += 1
        timed("load", lambda: signed.load(path, rows(spark, 0, count), seq, txn()))
        measure("no - rows")

        def append(size: int) -> None:
            plus, minus = rows(spark, count + seq * size, size), rows(spark, seq * size, size)
            signed.append(path, plus, minus, seq, txn())

        for size in (1_000, 1_000, 1_000, 100_000, 100_000):
            seq += 1
            timed(f"Spark appends {size:,} + and {size:,} -", partial(append, size))
        small = rows(spark, 2 * count, 1_000).toArrow()
        seq += 1
        timed("deltalake appends 1,000 +", lambda: signed.append(path, small, None, seq, txn()))
        measure("203,000 - rows")
        seq += 1
        before = version()
        visible = signed.read(spark, path, before, list(COLUMNS))
        timed("compact", lambda: signed.load(path, visible, seq, txn()))
        measure("compacted")
        table = delta.open_table(path)
        assert table is not None
        timed("reset by deltalake", lambda: delta.restore_exactly(table, before, delta.Mark("reset", to=before)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
