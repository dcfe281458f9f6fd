"""Files that a commit takes over: what is staged is the table's, written once, and its log tells the truth of it."""

from __future__ import annotations

import datetime as dt
import json
import math
import shutil
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

import foreset
from foreset.errors import EnvironmentFault
from foreset.ir.program import Column
from foreset.ir.types import BIGINT, parse_type
from foreset.ir.versions import Version
from foreset.relations import staged, tables
from foreset.relations.located import Located
from foreset.relations.located import staged as at
from foreset.store import arrow, delta, epochs, footers, gc, signed, write_once
from foreset.store.laid import Laid, Part
from foreset.store.layout import Layout

SPEC = """\
group: g
sources:
  edge: {table: t/edge, columns: {a: bigint, b: bigint}}
views:
  step:
    columns: {a: bigint, b: bigint}
    rules: ["step(X, Y) :- edge(X, Y), X != Y"]
  both:
    columns: {a: bigint}
    rules: ["both(X) :- step(X, Y)", "both(Y) :- step(X, Y)"]
"""
MOMENT = dt.datetime(2026, 11, 20, 15, 0, 0, 123456)
UTC = MOMENT.replace(tzinfo=dt.UTC)
LONG = "ü" * 40
VALUES: dict[str, list[Any]] = {
    "tinyint": [-128, 0, 127],
    "smallint": [-5, 7],
    "int": [3, -3],
    "bigint": [-(2**63), 2**63 - 1],
    "decimal(38,10)": [Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001")],
    "decimal(9,2)": [Decimal("-1.25"), Decimal("9999999.99")],
    "string": [LONG, LONG + "a", "", "\U0010ffff" * 40, "a\ud7ff" * 20, "Zürich", '"\\\n'],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [UTC, UTC.replace(microsecond=999_999), UTC.replace(year=1), UTC.replace(year=9999)],
    "timestamp_ntz": [MOMENT, MOMENT.replace(microsecond=1), dt.datetime.max],
    "double": [math.nan, math.inf, -math.inf, 1e308, -0.0],
    "float": [math.nan, 0.5],
    "boolean": [True, False],
    "binary": [b"", b"\xff" * 50],
    "array<double>": [[], [math.nan, None, -0.0]],
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(str(tmp_path / "wh"), "g")


def columns_of(kinds: dict[str, str]) -> tuple[Column, ...]:
    found = [(name, parse_type(kind)) for name, kind in kinds.items()]
    return tuple(Column(name, kind) for name, kind in found if kind is not None)


def laid(layout: Layout, kinds: dict[str, str], pieces: Sequence[pa.Table], place: str = "x") -> Laid:
    """Rows as a stratum stages them."""
    columns = columns_of(kinds)
    found = at("v", Version.PLUS, columns, staged.stage(pieces, columns, f"{layout.runs}/{place}/plus")).laid
    assert found is not None
    return found


def loaded(layout: Layout, kinds: dict[str, str], rows: Laid) -> str:
    path = layout.view("v")
    signed.create(path, kinds)
    signed.load(path, rows, 7, write_once.Txn("t", 1, delta.Mark("write")))
    return path


@pytest.mark.parametrize("kind", VALUES)
def test_no_value_is_skipped_by_what_the_log_says_of_its_file(layout: Layout, kind: str) -> None:
    """A file of its own for each value, and one for all: readers that go by bounds find each."""
    kinds = {"n": "bigint", "v": kind}
    schema = arrow.schema_of(kinds)
    values = [*VALUES[kind], None]
    every = pa.table([pa.array(range(len(values))), pa.array(values, schema.field("v").type)], schema=schema)
    singles = [laid(layout, kinds, [every.slice(i, 1)], f"one{i}") for i in range(len(values))]
    rows = laid(layout, kinds, [every], "all")
    for one in singles:
        rows = rows.beside(one)
    path = loaded(layout, kinds, rows)
    table = DeltaTable(path)
    found = table.to_pyarrow_dataset()
    for number, value in enumerate(values):
        by_number = found.to_table(filter=ds.field("n") == number)
        assert by_number.num_rows == 2, "in the file of all, and in its own"
        if value is None:
            assert found.to_table(filter=ds.field("v").is_null()).num_rows == 2
        elif "array" not in kind and not (isinstance(value, float) and math.isnan(value)):
            bound = pa.scalar(value, schema.field("v").type)
            assert found.to_table(filter=ds.field("v") == bound).num_rows >= 2, value
            assert found.to_table(filter=ds.field("v") >= bound).num_rows >= 2, value
    told = pa.table(table.get_add_actions(flatten=True))
    assert sum(told["num_records"].to_pylist()) == 2 * len(values) == signed.describe(path, 1).visible
    if "array" not in kind:
        assert sum(told["null_count.v"].to_pylist()) == 2
    for file, size in zip(told["path"].to_pylist(), told["size_bytes"].to_pylist(), strict=True):
        assert Path(path, file).stat().st_size == size


BOUNDS: dict[str, tuple[pa.Array, Any, Any]] = {
    "whole": (pa.array([3, None, -1]), -1, 3),
    "text": (pa.array([LONG, "a", None]), "a", "ü" * 31 + "ý"),
    "gap": (pa.array(["x" * 31 + "\ud7ff" + "y"]), "x" * 31 + "\ud7ff", "x" * 31 + "\ue000"),
    "time": (pa.array([UTC], pa.timestamp("us", "UTC")), "2026-11-20T15:00:00.123Z", "2026-11-20T15:00:00.124Z"),
    "local": (pa.array([MOMENT], pa.timestamp("us")), "2026-11-20T15:00:00.123", "2026-11-20T15:00:00.124"),
    "price": (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), 1.5, 1.5),
    "truth": (pa.array([True, False]), False, True),
    "zero": (pa.array([0.0, 1.5]), 0.0, 1.5),
    "infinite": (pa.array([math.inf, -math.inf]), "-Infinity", "Infinity"),
}
DOUBTS: dict[str, pa.Array] = {
    "nothing is greater": pa.array(["\U0010ffff" * 40]),
    "no time is later": pa.array([dt.datetime.max], pa.timestamp("us")),
    "no date of Python": pa.array([2**62]).view(pa.timestamp("us")),
}


def told_of(folder: Path, rows: pa.Table, **more: str) -> dict[str, Any]:
    with pq.ParquetWriter(folder / "f.parquet", rows.schema) as writer:
        writer.write_table(rows, row_group_size=1)
        writer.add_key_value_metadata(more or footers.NO_NAN)
    found: dict[str, Any] = json.loads(footers.stats_of(pq.read_metadata(folder / "f.parquet")))
    return found


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_as_narrow_as_they_can_be_and_no_narrower(tmp_path: Path, name: str) -> None:
    values, low, high = BOUNDS[name]
    void = pa.nulls(len(values), pa.int64())
    told = told_of(tmp_path, pa.table({name: values, "void": void, "binary": [b"x"] * len(values)}))
    assert told["numRecords"] == len(values)
    assert (told["minValues"], told["maxValues"]) == ({name: low}, {name: high})
    assert told["nullCount"] == {name: values.null_count, "void": len(values), "binary": 0}


@pytest.mark.parametrize("name", DOUBTS)
def test_where_one_column_leaves_doubt_none_has_bounds(tmp_path: Path, name: str) -> None:
    told = told_of(tmp_path, pa.table({name: DOUBTS[name], "whole": [1] * len(DOUBTS[name])}))
    assert told == {"numRecords": 1, "nullCount": {name: 0, "whole": 0}}


def test_where_nan_may_be_there_is_doubt(tmp_path: Path) -> None:
    """Arrow leaves NaN out of its bounds: 1.5 would be the greatest, and Spark would skip what it takes for greater."""
    rows = pa.table({"v": [1.5, math.nan]})
    assert "maxValues" not in told_of(tmp_path, rows, other="note")
    assert "maxValues" in told_of(tmp_path, rows.slice(0, 1))


def test_only_the_first_columns_have_bounds(tmp_path: Path) -> None:
    pq.write_table(pa.table({f"c{i}": [i] for i in range(footers.COLUMNS + 5)}), tmp_path / "f.parquet")
    told = json.loads(footers.stats_of(pq.read_metadata(tmp_path / "f.parquet")))
    assert len(told["minValues"]) == footers.COLUMNS


def test_large_results_go_into_files_of_a_size(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "FILE_BYTES", 20_000)
    pieces = [pa.table({"c0": np.random.default_rng(i).integers(0, 1 << 60, 1_000)}) for i in range(20)]
    kinds = {"a": "bigint"}
    path = loaded(layout, kinds, laid(layout, kinds, pieces))
    told = pa.table(DeltaTable(path).get_add_actions(flatten=True))
    assert 5 <= told.num_rows <= 10
    assert sum(told["num_records"].to_pylist()) == 20_000
    assert max(told["size_bytes"].to_pylist()) < 40_000
    every = sorted(value for piece in pieces for value in piece["c0"].to_pylist())
    assert sorted(arrow.read(path, 1, ["a"])["a"].to_pylist()) == every


def test_where_a_file_cannot_have_two_names_it_is_copied(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    kinds = {"a": "bigint"}
    path = loaded(layout, kinds, laid(layout, kinds, [pa.table({"c0": [1, 2]})]))
    assert sorted(arrow.read(path, 1, ["a"])["a"].to_pylist()) == [1, 2]


def test_what_was_lost_of_staged_files_is_noticed_and_nothing_is_written(layout: Layout) -> None:
    kinds = {"a": "bigint"}
    rows = laid(layout, kinds, [pa.table({"c0": [1, 2]})])
    short = Laid((Part(rows.parts[0].folder, 3),), kinds)
    with pytest.raises(EnvironmentFault, match="holds 2 rows where 3 were staged"):
        loaded(layout, kinds, short)
    assert DeltaTable(layout.view("v")).version() == 0


@pytest.mark.parametrize("kinds", [{"b": "string"}, {"a": "timestamp_ntz"}, {"a": "bigint", "b": "decimal(10,2)"}])
def test_a_rebuild_with_other_columns_changes_the_table(layout: Layout, kinds: dict[str, str]) -> None:
    values = {"string": "x", "timestamp_ntz": MOMENT, "bigint": 5, "decimal(10,2)": Decimal("1.25")}
    before = loaded(layout, {"a": "bigint"}, laid(layout, {"a": "bigint"}, [pa.table({"c0": [1]})], "before"))
    schema = arrow.schema_of(kinds)
    row = pa.Table.from_pylist([{name: values[kind] for name, kind in kinds.items()}], schema=schema)
    signed.load(before, laid(layout, kinds, [row], "after"), 8, write_once.Txn("t", 2, delta.Mark("write")))
    assert arrow.read(before, 2, list(kinds)) == row
    assert [field.name for field in DeltaTable(before).schema().fields] == [*kinds, "_sign", "_seq"]
    assert arrow.read(before, 1, ["a"])["a"].to_pylist() == [1], "old versions stay"


def begun(layout: Layout) -> tuple[epochs.Run, str, Laid]:
    """A first load of two rows, staged but not committed."""
    kinds, path = {"a": "bigint"}, layout.view("v")
    run = epochs.open_run(layout, "r1", lambda _: {})
    assert isinstance(run, epochs.Run)
    signed.create(path, kinds)
    return run, path, laid(layout, kinds, [pa.table({"c0": [1, 2]})])


def test_an_answer_that_was_lost_is_found_and_files_are_not_added_twice(layout: Layout) -> None:
    run, path, rows = begun(layout)

    def lost(txn: write_once.Txn) -> None:
        signed.load(path, rows, run.seq, txn)
        raise OSError("the acknowledgement was lost")

    written = write_once.write_once(run, path, None, lost, absolute=True)
    again = write_once.write_once(run, path, None, lambda _: pytest.fail("it is written"), absolute=True)
    assert again == written
    assert arrow.read(path, written.version, ["a"]).num_rows == 2


def test_a_try_that_ends_before_its_log_entry_leaves_files_that_nobody_reads(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path, rows = begun(layout)

    def write(txn: write_once.Txn) -> None:
        signed.load(path, rows, run.seq, txn)

    with monkeypatch.context() as patch:
        patch.setattr(delta, "add_exactly", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_once.write_once(run, path, None, write, absolute=True)
    written = write_once.write_once(run, path, None, write, absolute=True)
    assert arrow.read(path, written.version, ["a"])["a"].to_pylist() == [1, 2]
    assert len(list(Path(path).rglob("*.parquet"))) == 2, "the next gc takes the other"
    assert pa.table(DeltaTable(path).get_add_actions()).num_rows == 1


# ---------------------------------------------------------------- a whole refresh
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[foreset.warehouse.Warehouse, str]:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    root, specs = str(tmp_path / "lake"), tmp_path / "specs"
    specs.mkdir()
    (specs / "g.yaml").write_text(SPEC)
    return foreset.open(root, str(specs), "nowhere"), root


def write(root: str, numbers: range, mode: str = "append") -> None:
    rows = pa.table({"a": pa.array(numbers), "b": pa.array([-n for n in numbers])})
    write_deltalake(f"{root}/t/edge", rows, mode=mode, configuration=FEED if mode == "overwrite" else None)


def test_a_load_and_a_night_write_each_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of tables are those that were staged, under second names; gc of runs leaves them where they are."""
    wh, root = opened(tmp_path, monkeypatch)
    monkeypatch.setattr(tables, "MANY_ROWS", 100)
    exactly = delta._write_exactly

    def only_the_manifest(table: DeltaTable, *given: Any, **more: Any) -> int:
        assert "/_foreset/" in table.table_uri, "rows are written twice"
        return exactly(table, *given, **more)

    monkeypatch.setattr(delta, "_write_exactly", only_the_manifest)
    nights = [(range(1, 1_001), "overwrite"), (range(2_000, 2_150), "append"), (range(3_000, 3_003), "append")]
    for numbers, mode in nights:
        write(root, numbers, mode)
        wh.refresh("g", verify=20)
        held = {file.stat().st_ino for file in Path(root, "g", "step").rglob("*.parquet")}
        kept = {file.stat().st_ino for file in Path(root, "_foreset/g/runs").rglob("*.parquet")}
        assert held
        assert held <= kept
    assert wh.read("g.step").num_rows == 1_153
    assert wh.read("g.both").num_rows == 2 * 1_153
    shutil.rmtree(f"{root}/_foreset/g/runs")
    assert sorted(wh.read("g.step")["a"].to_pylist()) == sorted(n for numbers, _ in nights for n in numbers)


def test_gc_frees_what_runs_staged_and_keeps_what_tables_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wh, root = opened(tmp_path, monkeypatch)
    for numbers, mode in ((range(1, 50), "overwrite"), (range(60, 70), "append"), (range(80, 90), "append")):
        write(root, numbers, mode)
        wh.refresh("g")
    assert wh.rollback("g", 2) == 4
    assert gc.collect(wh.layout("g"), gc.Policy(last=1)).size > 0
    assert wh.read("g.step").num_rows == 59
    assert wh.verify("g").ok


def test_what_is_sorted_spills_rather_than_fails(layout: Layout, tmp_path: Path) -> None:
    """Rows are never all in memory: a database of 64 MB sorts and stages 3 million of them."""
    from foreset.backends.duckdb.database import connect
    from foreset.backends.duckdb.tables import Sql, Tables

    connection = connect(64 << 20, str(tmp_path / "spill"))
    there = Tables(connection, {"v": (BIGINT, BIGINT)})
    table = there.make(Sql("SELECT (range * 7919) % 1000003 AS c0, range AS c1 FROM range(3000000)"))
    columns = columns_of({"a": "bigint", "b": "bigint"})
    file = staged.stage(there.batches(table, (0, 1)), columns, str(tmp_path / "plus"))
    assert file.rows == 3_000_000
    groups = pq.ParquetFile(next(Path(str(file.path)).iterdir())).metadata
    bounds = [groups.row_group(i).column(0).statistics for i in range(groups.num_row_groups)]
    assert all(one.max <= other.min for one, other in pairwise(bounds))
    assert Located("v", Version.PLUS, columns).laid == Laid((), {"a": "bigint", "b": "bigint"})
