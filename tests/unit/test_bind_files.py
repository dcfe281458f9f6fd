"""What the in-process reader sees of Delta tables: the same rows as the readers of the store."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from foreset.backends.duckdb.budget import Budget, OutOfBounds
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type, decimal
from foreset.ir.versions import Version
from foreset.relations import bind_files as inputs
from foreset.relations.bind_files import Stored, stored
from foreset.store import arrow, signed
from foreset.store.delta import SparkOnly
from foreset.store.write_once import Txn


def tables_of(*kinds: Type, budget: Budget | None = None) -> Tables:
    return Tables(connect(), {"r": kinds}, budget or Budget())


def rows_of(tables: Tables, parts: Sequence[Part]) -> list[Row]:
    table = tables.make(tables.select(parts, "r"))
    return sorted(tables.fetch(table, tables.schemas["r"]), key=repr)


def txn(number: int) -> Txn:
    from foreset.store.delta import Mark

    return Txn(f"app-{number}", number, Mark("write", token=str(number)))


@pytest.mark.parametrize("folder", ["view", "a=9/_seq=7/view", 'it\'s "a" lake/view'])
def test_signed_rows_over_many_refreshes(tmp_path: Path, folder: str) -> None:
    """Rows come, go and come back, with NULLs: as `arrow.read` sees them after each refresh, in whatever folder."""
    path, columns = str(tmp_path / folder), {"a": "bigint", "b": "string"}
    signed.create(path, columns)
    rng, rows = Random(3), set[tuple[int | None, str | None]]()
    pool = [(a, b) for a in (1, 2, None) for b in ("x", "y", None)]
    seen_again = 0
    ever: set[tuple[int | None, str | None]] = set()
    for seq in range(1, 9):
        plus = [row for row in pool if row not in rows and rng.random() < 0.6]
        minus = [row for row in sorted(rows, key=repr) if rng.random() < 0.4]
        seen_again += len(ever.intersection(plus))
        ever |= rows
        rows = (rows - set(minus)) | set(plus)
        sides = [pa.table({"a": pa.array([r[0] for r in s], pa.int64()), "b": pa.array([r[1] for r in s], pa.string())})
                 for s in (plus, minus)]  # fmt: skip
        if plus or minus:
            signed.append(path, sides[0], sides[1], seq, txn(seq))
        version = DeltaTable(path).version()
        tables = tables_of(BIGINT, STRING)
        parts = inputs.signed_parts(tables, "r", path, version, stored(["a", "b"], [BIGINT, STRING]))
        found = rows_of(tables, parts)
        assert found == sorted(rows, key=repr)
        assert found == sorted((tuple(r.values()) for r in arrow.read(path, version, ["a", "b"]).to_pylist()), key=repr)
    assert seen_again > 3, "no row came back: the hard case was not met"


def test_types_are_those_of_the_spec(tmp_path: Path) -> None:
    """Zero has no sign, timestamps are UTC without a zone, and narrow columns are widened."""
    path, noon = str(tmp_path / "t"), dt.datetime(2026, 11, 18, 12, tzinfo=dt.UTC)
    data = pa.table({
        "d": pa.array([-0.0, math.nan], pa.float64()),
        "i": pa.array([7, None], pa.int32()),
        "n": pa.array([Decimal("0.10"), Decimal("2.50")], pa.decimal128(4, 2)),
        "t": pa.array([noon, None], pa.timestamp("us", "UTC")),
        "z": pa.array([noon.replace(tzinfo=None)] * 2, pa.timestamp("us")),
        "day": pa.array([dt.date(2026, 1, 2)] * 2, pa.date32()),
    })  # fmt: skip
    write_deltalake(path, data)
    files = (DOUBLE, INT, decimal(4, 2), TIMESTAMP, TIMESTAMP_NTZ, DATE)
    read = (DOUBLE, BIGINT, DOUBLE, TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP)
    columns = tuple(
        Stored(name, kind, to, f"c{i}")
        for i, (name, kind, to) in enumerate(zip(data.column_names, files, read, strict=True))
    )
    tables = tables_of(*read)
    table = inputs.bind_table(tables, "r", path, 0, columns)
    assert table.outside
    first, second = sorted(rows_of(tables, [Part(table)]), key=lambda row: row[1] is None)
    plain = noon.replace(tzinfo=None)
    assert first == (0.0, 7, 0.1, plain, plain, dt.datetime(2026, 1, 2))
    assert math.copysign(1, first[0]) == 1.0
    assert math.isnan(second[0])
    assert second[1:4] == (None, 2.5, None)


def test_a_partitioned_table_and_one_that_grew_a_column(tmp_path: Path) -> None:
    """Partition values stand in no file, and a column that came later is missing in the old ones."""
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"p": ["a", "b"], "v": [1, 2]}), partition_by=["p"])
    write_deltalake(path, pa.table({"p": ["c"], "v": [3], "w": ["new"]}), mode="append", schema_mode="merge")
    tables = tables_of(STRING, BIGINT, STRING)
    table = inputs.bind_table(tables, "r", path, 1, stored(["p", "v", "w"], [STRING, BIGINT, STRING]))
    assert rows_of(tables, [Part(table)]) == [("a", 1, None), ("b", 2, None), ("c", 3, "new")]
    tables = tables_of(BIGINT, STRING)
    table = inputs.bind_table(tables, "r", path, 1, stored(["v", "w"], [BIGINT, STRING]))
    assert rows_of(tables, [Part(table)]) == [(1, None), (2, None), (3, "new")]
    old = inputs.bind_table(tables, "r", path, 0, stored(["v"], [BIGINT]))
    assert old.rows == 2


def test_names_are_names_whatever_stands_in_them(tmp_path: Path) -> None:
    path = str(tmp_path / "it's; --" / "t")
    names = ['say "when"', "it's", "select", 'x";drop']
    write_deltalake(path, pa.table({name: [i] for i, name in enumerate(names)}))
    for folder in (False, True):
        tables = tables_of(BIGINT, BIGINT, BIGINT, BIGINT)
        columns = stored(names, [BIGINT] * 4)
        by_log = inputs.bind_table(tables, "r", path, 0, columns)
        table = inputs.bind_folder(tables, path, columns) if folder else by_log
        assert rows_of(tables, [Part(table)]) == [(0, 1, 2, 3)]
        other_order = inputs.bind_folder(tables, path, columns[::-1])
        assert tables.run(Sql(f"SELECT c0, c3 FROM {other_order.name}")) == [(0, 3)]


def test_looks_fetch_only_what_joins_and_then_load_once(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"a": list(range(1000)), "b": ["x"] * 1000}))
    tables = tables_of(BIGINT, STRING)
    table = inputs.bind_table(tables, "r", path, 0, stored(["a", "b"], [BIGINT, STRING]))
    keys = tables.bring([(3,), (5000,), (None,)], (BIGINT,), ("c0",))
    for look in range(4):
        found = tables.look(table, keys, [("c0", "r.c0", False)])
        assert tables.fetch(found, (BIGINT, STRING)) == [(3, "x")]
        assert table.outside is (look < 2)
    assert tables.rows_read == {"r": 1002}


def test_a_table_that_only_spark_reads_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"a": [1]}))
    log = next((tmp_path / "t" / "_delta_log").glob("*.json"))
    text = log.read_text().replace('"minReaderVersion":1', '"minReaderVersion":3,"readerFeatures":["deletionVectors"]')
    log.write_text(text.replace('"minWriterVersion":2', '"minWriterVersion":7,"writerFeatures":["deletionVectors"]'))
    with pytest.raises(SparkOnly, match="can be read by Spark alone"):
        inputs.bind_table(tables_of(BIGINT), "r", path, 0, stored(["a"], [BIGINT]))


def test_bounds() -> None:
    """Each kind of work has its bound, and the text says which one was met."""
    with pytest.raises(OutOfBounds, match="touches more than 10 rows"):
        tables_of(BIGINT, budget=Budget(rows=10)).bring([(i,) for i in range(11)], (BIGINT,), ("c0",))
    tables = tables_of(BIGINT, budget=Budget(loaded=10))
    tables.run(Sql("CREATE TEMP VIEW v9 AS SELECT c0 FROM range(20) t(c0)"))
    tables.put(Ref("r", Version.OLD), Part(Table("v9", 20, "r", outside=True)))
    with pytest.raises(OutOfBounds, match="more than 10 rows into memory"):
        tables.held(tables.bring([(i,) for i in range(9)], (BIGINT,), ("c0",)), Ref("r", Version.OLD))
