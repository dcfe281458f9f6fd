"""Capture without Spark: for any history of a table, the netted feed is the difference of its two ends as sets.

So is what the files say that only one of the two versions has, where a table keeps no feed.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

from foreset.ir.program import Column, Source
from foreset.ir.types import BIGINT, INT, STRING, TIMESTAMP_NTZ, parse_type
from foreset.store.capture import changes, here
from foreset.store.capture.feed import SIGN
from foreset.store.capture.here import difference_here, stage_here
from foreset.store.capture.origins import TableOrigin, open_origin
from foreset.store.capture.plan import Feed, SnapshotDiff
from foreset.store.capture.stage import Counts, Inconsistent

Rows = list[tuple[object, ...]]
NAN = float("nan")
# As declared, Arrow type of the table, values that are hard to compare.
KINDS: dict[str, tuple[str, pa.DataType, list[object]]] = {
    "a": ("bigint", pa.int32(), [1, 2, None]),
    "b": ("string", pa.string(), ["x", "", "X", None]),
    "c": ("double", pa.float64(), [0.0, -0.0, NAN, 1.5, None]),
    "d": ("decimal(12,2)", pa.decimal128(10, 2), [Decimal("1.00"), Decimal("-0.10"), None]),
    "e": ("timestamp", pa.timestamp("us", "UTC"), [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None]),
    "f": ("date", pa.date32(), [dt.date(2026, 1, 1), dt.date(1, 1, 1)]),
    "g": ("array<int>", pa.list_(pa.int32()), [[1], [], None]),
    "h": ("tinyint", pa.int8(), [1, -1]),
    "i": ("binary", pa.binary(), [b"", b"\x00", None]),
}


def columns_of(names: Sequence[str]) -> tuple[Column, ...]:
    kinds = [(name, parse_type(KINDS[name][0])) for name in names]
    return tuple(Column(name, kind) for name, kind in kinds if kind)


def arrow(rows: Rows) -> pa.Table:
    fields = [(name, kind) for name, (_, kind, _) in KINDS.items()]
    return pa.table(
        [pa.array([row[i] for row in rows], kind) for i, (_, kind) in enumerate(fields)], names=[n for n, _ in fields]
    )


def source_of(names: Sequence[str], key: Sequence[str] = ()) -> Source:
    return Source("t", columns_of(names), table="t", key=tuple(key))


def origin_of(root: Path, names: Sequence[str], version: int) -> TableOrigin:
    source = source_of(names)
    found = open_origin(None, source, str(root), version)  # type: ignore[arg-type] # no Spark here
    assert isinstance(found, TableOrigin)
    return found


def plain(table: pa.Table) -> set[tuple[object, ...]]:
    """Rows that Python's sets compare as ours do."""

    def value(x: object) -> object:
        if isinstance(x, float):
            return "nan" if x != x else x + 0.0  # noqa: PLR0124 - NaN alone differs from itself
        return tuple(x) if isinstance(x, list) else x

    return {tuple(value(x) for x in row.values()) for row in table.to_pylist()}


def at(path: str, version: int, names: Sequence[str]) -> set[tuple[object, ...]]:
    return plain(DeltaTable(path, version=version).to_pyarrow_table().select(list(names)))


def act(rng: random.Random, path: str) -> None:
    """One change of the kinds that a writer makes."""
    table = DeltaTable(path)
    kind = rng.choice(["append", "append", "delete", "update", "overwrite", "optimize", "restore"])
    if kind == "append":
        write_deltalake(table, some(rng, 3), mode="append")
    elif kind == "delete":
        table.delete(rng.choice(["a = 1", "b = 'x'", "c > 1", "a is null"]))
    elif kind == "update":
        table.update(updates={"b": rng.choice(["'x'", "'y'"])}, predicate=rng.choice(["a = 1", "b = 'x'"]))
    elif kind == "overwrite":
        write_deltalake(table, some(rng, 5), mode="overwrite")
    elif kind == "optimize":
        table.optimize.compact()
    elif table.version() > 1:
        table.restore(rng.randrange(1, table.version()))


def some(rng: random.Random, count: int) -> pa.Table:
    return arrow(
        [tuple(rng.choice(values) for _, _, values in KINDS.values()) for _ in range(rng.randrange(count) + 1)]
    )


def by_versions(after: int, upto: int) -> SnapshotDiff:
    return SnapshotDiff(after, upto, "no change feed")


@pytest.mark.parametrize("way", [Feed, by_versions])
@pytest.mark.parametrize("seed", range(6))
def test_any_history_is_netted_to_the_difference_of_its_ends(tmp_path: Path, seed: int, way) -> None:
    rng = random.Random(seed)
    path = str(tmp_path / "t")
    write_deltalake(path, some(rng, 6), configuration=FEED if way is Feed else None)
    for _ in range(12):
        act(rng, path)
    last = DeltaTable(path).version()
    for after in range(0, last, 3):
        names = rng.sample(list(KINDS), rng.randrange(len(KINDS)) + 1)
        # A key saves reading the other columns, and changes no result even where it does not hold.
        for key in ((), rng.sample(names, rng.randrange(len(names)) + 1)):
            found = difference_here(origin_of(tmp_path, names, last), way(after, last), source_of(names, key))
            assert found is not None
            before, now = at(path, after, names), at(path, last, names)
            assert (plain(found.plus), plain(found.minus)) == (now - before, before - now)
            assert len(plain(found.plus)) == found.plus.num_rows


@pytest.mark.parametrize("way", [Feed, by_versions])
def test_tables_with_local_times_are_read_here(tmp_path: Path, way) -> None:
    """Such a table needs a reader of version 3, and nothing else of one."""
    path, when = str(tmp_path / "t"), dt.datetime(2026, 1, 1)
    kind = pa.timestamp("us")
    write_deltalake(path, pa.table({"a": pa.array([1, 2], pa.int32()), "t": pa.array([when, None], kind)}),
                    configuration=FEED)  # fmt: skip
    assert DeltaTable(path).protocol().min_reader_version == 3
    write_deltalake(path, pa.table({"a": pa.array([3], pa.int32()), "t": pa.array([when], kind)}), mode="append")
    DeltaTable(path).delete("a = 1")
    source = Source("t", (Column("a", INT), Column("t", TIMESTAMP_NTZ)), table="t")
    origin = open_origin(None, source, str(tmp_path), 2)  # type: ignore[arg-type] # no Spark here
    assert isinstance(origin, TableOrigin)
    found = difference_here(origin, way(0, 2), source)
    assert found is not None
    assert (plain(found.plus), plain(found.minus)) == ({(3, when)}, {(1, when)})


def test_the_feed_is_read_from_the_table_that_the_origin_has_opened(tmp_path: Path, monkeypatch) -> None:
    path = str(tmp_path / "t")
    for value in (1, 2):
        write_deltalake(path, pa.table({"a": pa.array([value], pa.int32())}), mode="append", configuration=FEED)
    real, at = DeltaTable.__init__, []
    monkeypatch.setattr(DeltaTable, "__init__", lambda self, *a, **k: at.append(k["version"]) or real(self, *a, **k))
    found = difference_here(origin_of(tmp_path, ["a"], 1), Feed(0, 1), source_of(["a"]))
    assert found is not None
    assert (plain(found.plus), at) == ({(2,)}, [1])


def test_versions_of_another_shape_are_compared_as_declared(tmp_path: Path) -> None:
    """A column that came later was NULL, and a narrower type holds the same values; partitions are columns too."""
    path = str(tmp_path / "t")
    first = pa.table({"a": pa.array([1, 2, 3], pa.int32()), "p": ["x", "y", "x"]})
    write_deltalake(path, first, partition_by=["p"])
    wider = pa.table({"a": pa.array([2, 3, 4], pa.int64()), "p": ["y", "x", "x"], "b": ["new", None, None]})
    write_deltalake(path, wider, mode="overwrite", schema_mode="overwrite", partition_by=["p"])
    columns = (Column("a", BIGINT), Column("p", STRING), Column("b", STRING))
    source = Source("t", columns, table="t")
    origin = open_origin(None, source, str(tmp_path), 1)  # type: ignore[arg-type] # no Spark here
    assert isinstance(origin, TableOrigin)
    found = difference_here(origin, by_versions(0, 1), source)
    assert found is not None
    assert plain(found.plus) == {(2, "y", "new"), (4, "x", None)}
    assert plain(found.minus) == {(1, "x", None), (2, "y", None)}


def test_only_files_that_differ_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, numbered(range(50), "x"))
    write_deltalake(path, numbered([99], "x"), mode="append")
    read: list[int] = []
    columns = changes.columns_of
    monkeypatch.setattr(
        changes, "columns_of", lambda rows, names: (read.append(rows.count_rows()), columns(rows, names))[1]
    )
    found = difference_here(origin_of(tmp_path, ["a"], 1), by_versions(0, 1), source_of(["a"]))
    assert found is not None
    assert plain(found.plus) == {(99,)}
    assert read == [0, 1]
    monkeypatch.setattr(changes, "MOST_ROWS", 0)
    assert difference_here(origin_of(tmp_path, ["a"], 1), by_versions(0, 1), source_of(["a"])) is None, "left to Spark"


def keyed(rng: random.Random, path: str) -> None:
    """One change of a table whose rows mostly have a key of their own in column `a`."""
    table = DeltaTable(path)
    there = [row["a"] for row in table.to_pyarrow_table().select(["a"]).to_pylist()]
    kind = rng.choice(["append", "append", "delete", "update", "replace", "restore", "copy"])
    if kind in ("append", "replace") or not there:
        fresh = [key for key in rng.sample(range(40), 3) if key not in there]
        write_deltalake(table, numbered(fresh, rng.choice("xyz")), mode="append" if kind == "append" else "overwrite")
    elif kind == "delete":
        table.delete(f"a = {rng.choice(there)}")
    elif kind == "update":
        table.update(updates={"b": rng.choice(["'x'", "'y'", "b"])}, predicate=f"a <= {rng.choice(there)}")
    elif kind == "restore" and table.version() > 1:
        table.restore(rng.randrange(1, table.version()))
    elif rng.random() < 0.3:  # a second row of the key: the same or another one
        write_deltalake(table, numbered([rng.choice(there)], rng.choice("xyz")), mode="append")


def numbered(keys: Sequence[int], text: str) -> pa.Table:
    return arrow([(key, text, 1.0, None, None, dt.date(2026, 1, 1), None, 1, None) for key in keys])


@pytest.mark.parametrize("seed", range(8))
def test_that_no_two_rows_have_a_key_is_known_from_one_version_to_the_next(tmp_path: Path, seed: int) -> None:
    """What is known saves looks, and changes no result; it is known again only where it holds."""
    rng = random.Random(seed)
    path = str(tmp_path / "t")
    write_deltalake(path, numbered(range(5), "x"), configuration=FEED)
    for _ in range(10):
        keyed(rng, path)
    last, names, outcomes = DeltaTable(path).version(), ["a", "b"], []
    for after in range(last):
        keys = [DeltaTable(path, version=v).to_pyarrow_table().column("a").to_pylist() for v in range(last + 1)]
        alone = [len(set(found)) == len(found) for found in keys]
        if not alone[after]:
            continue
        for upto in range(after + 1, last + 1):
            origin, source = origin_of(tmp_path, names, upto), source_of(names, ["a"])
            found = difference_here(origin, Feed(after, upto), source, single=len(keys[after]))
            assert found is not None
            before, now = at(path, after, names), at(path, upto, names)
            assert (plain(found.plus), plain(found.minus)) == (now - before, before - now)
            assert found.plus.num_rows + found.minus.num_rows == len(before ^ now)
            outcomes.append((found.single, alone[upto]))
    assert all(holds for known, holds in outcomes if known)
    assert all(known for known, holds in outcomes if holds)
    assert (True, True) in outcomes


def test_what_is_known_of_a_key_is_given_up_where_numbers_of_rows_contradict_it(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, numbered(range(5), "x"), configuration=FEED)
    write_deltalake(path, numbered([7], "x"), mode="append")
    for rows, known in ((5, True), (4, False)):
        found = difference_here(origin_of(tmp_path, ["a"], 1), Feed(0, 1), source_of(["a"], ["a"]), single=rows)
        assert found is not None
        assert (plain(found.plus), found.single) == ({(7,)}, known)


def test_a_key_that_no_two_rows_have_is_looked_for_only_where_it_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, numbered(range(9), "x"), configuration=FEED)
    write_deltalake(path, numbered([9], "x"), mode="append")
    DeltaTable(path).update(updates={"b": "'y'"}, predicate="a = 3")
    DeltaTable(path).delete("a = 5")
    looked: list[object] = []
    whole = here._standing

    def standing(table, places: Sequence[int], keys: pa.Table, columns: tuple[Column, ...]) -> np.ndarray:
        looked.extend((tuple(table.names[place] for place in places), row) for row in keys.to_pylist())
        return whole(table, places, keys, columns)

    monkeypatch.setattr(here, "_standing", standing)
    found = difference_here(origin_of(tmp_path, ["a", "b"], 3), Feed(0, 3), source_of(["a", "b"], ["a"]), single=9)
    assert found is not None
    assert (plain(found.plus), plain(found.minus)) == ({(9, "x"), (3, "y")}, {(3, "x"), (5, "x")})
    assert looked == [(("a",), {"a": 9})]


def test_with_a_key_whole_rows_are_read_only_where_the_key_leaves_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, date = str(tmp_path / "t"), dt.date(2026, 1, 1)
    write_deltalake(path, arrow([(i, "x", 1.0, None, None, date, None, 1, None) for i in range(9)]), configuration=FEED)
    write_deltalake(path, arrow([(9, "x", 1.0, None, None, date, None, 1, None)]), mode="append")
    DeltaTable(path).update(updates={"b": "'y'"}, predicate="a = 3")
    DeltaTable(path).delete("a = 5")
    scanned: list[list[str]] = []
    whole = here._standing

    def standing(table, places: Sequence[int], keys: pa.Table, columns: tuple[Column, ...]) -> np.ndarray:
        scanned.append([*(table.names[place] for place in places), str(keys.num_rows)])
        return whole(table, places, keys, columns)

    monkeypatch.setattr(here, "_standing", standing)
    found = difference_here(origin_of(tmp_path, ["a", "b"], 3), Feed(0, 3), source_of(["a", "b"], ["a"]))
    assert found is not None
    assert [plain(rows) for rows in (found.plus, found.minus)] == [{(9, "x"), (3, "y")}, {(3, "x"), (5, "x")}]
    assert scanned == [["a", "4"], ["a", "b", "0"]]


def test_a_differential_lies_where_spark_looks_for_it_and_a_second_try_replaces_the_first(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = [(i, "x", 1.0, None, None, dt.date(2026, 1, 1), None, 1, None) for i in range(3)]
    write_deltalake(path, arrow(rows[:2]), configuration=FEED)
    write_deltalake(path, arrow(rows[2:]), mode="append")
    DeltaTable(path).delete("a = 0")
    source, staged = source_of(["a", "b"]), tmp_path / "staged"
    for _ in range(2):
        assert stage_here(origin_of(tmp_path, ["a", "b"], 2), Feed(0, 2), source, str(staged)) == Counts(1, 1)
    for sign, value in ((1, 2), (-1, 0)):
        folder = staged / "differential" / f"{SIGN}={sign}"
        (file,) = folder.glob("*.parquet")
        assert pq.ParquetFile(file).read().to_pylist() == [{"a": value, "b": "x"}]


def test_what_delta_rs_does_not_read_is_left_to_spark(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, arrow([]), configuration=FEED)
    write_deltalake(path, some(random.Random(1), 3), mode="append")
    origin = origin_of(tmp_path, ["a"], 1)
    for file in (tmp_path / "t").glob("*.parquet"):
        file.unlink()
    assert stage_here(origin, Feed(0, 1), source_of(["a"]), str(tmp_path / "staged")) is None
    assert stage_here(origin, Feed(0, 1), source_of(["a"]), "s3://bucket/staged") is None


def test_a_feed_that_contradicts_the_table_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, arrow([]), configuration=FEED)
    write_deltalake(path, some(random.Random(1), 3), mode="append")
    monkeypatch.setattr(here, "_copies", lambda _changes, touched, _source: np.zeros(touched.num_rows, np.int64))
    with pytest.raises(Inconsistent):
        difference_here(origin_of(tmp_path, ["a"], 1), Feed(0, 1), source_of(["a"]))
