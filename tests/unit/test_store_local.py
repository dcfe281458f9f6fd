"""Views, snapshots, gc, rollback, exports and events on a real disk, without Spark.

Each with rows that the commit writes, and with staged files that it takes over.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.store_audit import faults

from foreset.errors import EnvironmentFault, Fenced, UsageError
from foreset.store import (
    arrow,
    delta,
    differentials,
    epochs,
    events,
    exports,
    files,
    gc,
    manifest,
    rollback,
    signed,
    write_once,
)
from foreset.store.laid import Laid, Part
from foreset.store.layout import Layout
from foreset.store.manifest import Committed, ManifestRow, SourcePin, ViewPin
from foreset.store.snapshots import open_snapshot

COLUMNS = {"src": "string", "weight": "double"}
SCHEMA = arrow.schema_of(COLUMNS)


WRITTEN, TAKEN_OVER = "written", "taken over"


@pytest.fixture(params=[WRITTEN, TAKEN_OVER])
def layout(tmp_path: Path, request: pytest.FixtureRequest) -> Layout:
    return Layout(str(tmp_path / request.param), "reach")


def rows(*values: tuple) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS, value, strict=True)) for value in values], schema=SCHEMA)


def content(table: pa.Table) -> list[tuple]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def given(run: epochs.Run, view: str, side: str, table: pa.Table) -> write_once.Rows:
    """Rows as a commit has them: here, or in files of the run."""
    folder = differentials.store(run, view, side, table)
    if Path(run.layout.root).name == WRITTEN:
        return table
    return Laid((Part(run.layout.resolve(folder), table.num_rows),) if folder else (), COLUMNS)


def stage(run: epochs.Run, view: str, plus: pa.Table, minus: pa.Table) -> ViewPin:
    """What the commit step does for one view."""
    layout, path = run.layout, run.layout.view(view)
    signed.create(path, COLUMNS)
    sides = given(run, view, "plus", plus), given(run, view, "minus", minus)
    last = manifest.newest(layout.root, layout.group)
    pin = last.views[view].version if last and view in last.views else 0
    written = write_once.write_once(run, path, pin, lambda txn: signed.append(path, *sides, run.seq, txn))
    return ViewPin(layout.relative(path), written.table_id, written.version, COLUMNS,
                   rows=signed.describe(path, written.version).visible, inserted=plus.num_rows, deleted=minus.num_rows,
                   plus_ref=differentials.store(run, view, "plus", plus),
                   minus_ref=differentials.store(run, view, "minus", minus), token=written.token)  # fmt: skip


def refresh(layout: Layout, name: str, changes: Mapping[str, tuple[list, list]]) -> ManifestRow:
    run = epochs.open_run(layout, name, lambda _: {}, force=True)
    assert isinstance(run, epochs.Run)
    last = manifest.newest(layout.root, layout.group)
    views = dict(last.views) if last else {}
    for view, (plus, minus) in changes.items():
        views[view] = stage(run, view, rows(*plus), rows(*minus))
    row = ManifestRow(run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq, views=views)
    assert manifest.commit(layout, row) == Committed(run.seq)
    return row


def test_all_views_of_a_snapshot_are_of_one_seq(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], []), "b": ([("x", 1.0)], [])})
    with open_snapshot(layout.root, "reach") as snapshot:
        refresh(layout, "r2", {"a": ([("y", 2.0)], [("x", 1.0)]), "b": ([("y", 2.0)], [])})
        assert snapshot.seq == 1
        assert snapshot.views == ("a", "b")
        assert content(snapshot.arrow("a")) == content(snapshot.arrow("b")) == [("x", 1.0)]
        assert snapshot.arrow("a").schema == SCHEMA
    with open_snapshot(layout.root, "reach") as snapshot:
        assert content(snapshot.arrow("a")) == [("y", 2.0)]
        connection = snapshot.duckdb(duckdb.connect())
        assert connection.sql("select count(*) from a full join b using (src)").fetchall() == [(2,)]
        assert snapshot.pandas("b").shape == (2, 2)
        with pytest.raises(UsageError, match="it has: a, b"):
            snapshot.arrow("c")
    with pytest.raises(UsageError, match="has no seq 9"):
        open_snapshot(layout.root, "reach", 9)


def test_null_nan_and_both_zeros_are_taken_out_again(layout: Layout) -> None:
    """A deleted row must match its insertion, whatever its values."""
    odd = [(None, None), ("nan", math.nan), ("zero", -0.0), ("", 1.0)]
    refresh(layout, "r1", {"a": ([*odd, ("stays", None)], [])})
    refresh(layout, "r2", {"a": ([], [(None, None), ("nan", -math.nan), ("zero", 0.0), ("", 1.0)])})
    with open_snapshot(layout.root, "reach") as snapshot:
        assert content(snapshot.arrow("a")) == [("stays", None)]
    refresh(layout, "r3", {"a": ([("zero", 0.0)], [])})
    with open_snapshot(layout.root, "reach") as snapshot:
        assert content(snapshot.arrow("a")) == [("stays", None), ("zero", 0.0)]


def test_every_type_comes_back_as_declared(layout: Layout) -> None:
    columns = {"a": "boolean", "b": "tinyint", "c": "smallint", "d": "int", "e": "bigint", "f": "float", "g": "double",
               "h": "decimal(20,3)", "i": "string", "j": "binary", "k": "date", "l": "timestamp", "m": "timestamp_ntz",
               "n": "array<double>", "odd. name": "string"}  # fmt: skip
    moment = datetime.datetime(2026, 11, 18, 2, 0, 0, 123456)
    value = (True, 1, 2, 3, 4, 0.5, -0.0, Decimal("12.345"), "ü", b"\x00", moment.date(),
             moment.replace(tzinfo=datetime.UTC), moment, [-0.0, math.nan, None], "x")  # fmt: skip
    schema = arrow.schema_of(columns)
    one = pa.Table.from_pylist([dict(zip(columns, value, strict=True)), dict.fromkeys(columns)], schema=schema)
    path = layout.view("wide")
    signed.create(path, columns)
    mark = delta.Mark("write")
    signed.append(path, one, None, 1, write_once.Txn("t", 1, mark))
    assert arrow.read(path, 1, list(columns)).schema == schema
    signed.append(path, None, one.slice(1), 2, write_once.Txn("t", 2, mark))
    (left,) = arrow.read(path, 2, list(columns)).to_pylist()
    assert left["h"] == Decimal("12.345")
    assert math.copysign(1, left["n"][0]) == 1
    signed.append(path, None, one.slice(0, 1), 3, write_once.Txn("t", 3, mark))
    assert not arrow.read(path, 3, list(columns)).num_rows
    assert signed.describe(path, 3) == signed.Extent(2, 2, 2, 2, signed.describe(path, 3).size)


def test_what_an_aborted_refresh_staged_is_reset(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], [])})
    aborted = epochs.open_run(layout, "r2", lambda _: {}, force=True)
    stage(aborted, "a", rows(("bad", 0.0)), rows(("x", 1.0)))
    refresh(layout, "r3", {"a": ([("y", 2.0)], [])})
    with open_snapshot(layout.root, "reach") as snapshot:
        assert content(snapshot.arrow("a")) == [("x", 1.0), ("y", 2.0)]


def test_a_zombie_cannot_stage_after_its_successor(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], [])})
    zombie = epochs.open_run(layout, "r2", lambda _: {}, force=True)
    refresh(layout, "r3", {"a": ([("y", 2.0)], [])})
    with pytest.raises(Fenced, match="refresh r2 .* cannot publish"):
        write_once.write_once(zombie, layout.view("a"), 1, lambda _: pytest.fail("it must not write"))
    with open_snapshot(layout.root, "reach") as snapshot:
        assert content(snapshot.arrow("a")) == [("x", 1.0), ("y", 2.0)]


def test_a_second_try_of_the_same_epoch_uses_what_the_first_wrote(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], [])})
    run = epochs.open_run(layout, "r2", lambda _: {}, force=True)
    first = stage(run, "a", rows(("y", 2.0)), rows())
    assert stage(run, "a", rows(("y", 2.0)), rows()) == first


def test_an_append_that_slips_in_is_noticed_and_taken_out(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], [])})
    run = epochs.open_run(layout, "r2", lambda _: {}, force=True)
    path, tries = layout.view("a"), []

    def disturbed(txn: write_once.Txn) -> None:
        if not tries:
            signed.append(path, rows(("intruder", 0.0)), None, 9, write_once.Txn("other", 1, delta.Mark("other")))
        tries.append(txn)
        signed.append(path, given(run, "a", "plus", rows(("y", 2.0))), None, run.seq, txn)

    written = write_once.write_once(run, path, 1, disturbed)
    assert len(tries) == 2
    assert content(arrow.read(path, written.version, list(COLUMNS))) == [("x", 1.0), ("y", 2.0)]


def test_changes_are_read_from_the_run_directory(layout: Layout) -> None:
    refresh(layout, "r1", {"a": ([("x", 1.0)], [])})
    refresh(layout, "r2", {"a": ([("y", 2.0)], [("x", 1.0)])})
    assert [content(side) for side in differentials.read(layout, "a")] == [[("y", 2.0)], [("x", 1.0)]]
    assert [content(side) for side in differentials.read(layout, "a", 1)] == [[("x", 1.0)], []]


def history(layout: Layout, count: int) -> None:
    for k in range(1, count + 1):
        refresh(layout, f"r{k}", {"a": ([(f"x{k}", 1.0)], [(f"x{k - 1}", 1.0)] if k > 1 else [])})


def test_gc_keeps_what_is_promised_and_leased_and_says_the_rest_in_words(layout: Layout) -> None:
    history(layout, 6)
    signed.create(layout.view("removed"), COLUMNS)
    with open_snapshot(layout.root, "reach", 2) as held:
        plan = gc.collect(layout, gc.Policy(last=2), dry_run=True)
        assert not plan.deleted
        done = gc.collect(layout, gc.Policy(last=2))
        assert (done.floor, done.kept) == (5, (2, 5, 6))
        assert [(one.folder, one.paths) for one in done.doomed] == [(one.folder, one.paths) for one in plan.doomed]
        assert content(held.arrow("a")) == [("x2", 1.0)]
    assert content(open_snapshot(layout.root, "reach", 5).arrow("a")) == [("x5", 1.0)]
    with pytest.raises(UsageError, match="no longer kept"):
        open_snapshot(layout.root, "reach", 2)
    assert not Path(layout.view("removed")).exists()
    assert files.list_folders(layout.runs) == ["r2", "r5", "r6"]
    refresh(layout, "r7", {"a": ([("x7", 1.0)], [("x6", 1.0)])})
    assert content(open_snapshot(layout.root, "reach").arrow("a")) == [("x7", 1.0)]
    with pytest.raises(EnvironmentFault, match="keeps only the last"):
        differentials.read(layout, "a", 3)


def test_gc_deletes_files_that_only_dropped_versions_used(layout: Layout) -> None:
    history(layout, 3)
    path = layout.view("a")
    run = epochs.open_run(layout, "r4", lambda _: {}, force=True)
    table = delta.open_table(path)
    compacted = arrow.read(path, table.version(), list(COLUMNS))
    compacted = compacted.append_column("_sign", pa.array([1], pa.int8())).append_column(
        "_seq", pa.array([4], pa.int64())
    )
    mark = delta.Mark("write", "reach", run.epoch, run.refresh_id, run.attempt_id)
    version = delta.replace_exactly(table, compacted, mark, {})
    last = manifest.newest(layout.root, "reach")
    pin = ViewPin(last.views["a"].path, last.views["a"].table_id, version, COLUMNS)
    manifest.commit(layout, ManifestRow(4, "r4", run.attempt_id, run.epoch, 3, views={"a": pin}))
    before = {file.path for file in files.list_files(path) if file.path.endswith(".parquet")}
    gc.collect(layout, gc.Policy(last=1))
    after = {file.path for file in files.list_files(path) if file.path.endswith(".parquet")}
    assert (len(before), len(after)) == (6, 1)
    assert content(open_snapshot(layout.root, "reach").arrow("a")) == [("x3", 1.0)]


def test_gc_keeps_what_another_group_has_yet_to_take_in(layout: Layout) -> None:
    history(layout, 5)
    reader = Layout(layout.root, "reader")
    run = epochs.open_run(reader, "q1", lambda _: {})
    taken = {"x": SourcePin("reach.a", "reach.a", None, 3), "y": SourcePin("sales/reach.a", "id", None, 1)}
    manifest.commit(reader, ManifestRow(1, "q1", run.attempt_id, run.epoch, 0, sources=taken))
    assert gc.readers(layout) == {"reader": 3}
    assert gc.collect(layout, gc.Policy(last=1)).floor == 3
    assert content(differentials.read(layout, "a", 4)[0]) == [("x4", 1.0)]
    assert gc.collect(layout, gc.Policy(last=1, without=frozenset(["reader"]))).floor == 5


def test_gc_passes_by_what_is_no_groups_and_takes_away_what_earlier_releases_left(layout: Layout) -> None:
    history(layout, 3)
    for name in ("_spark/tmp", "_race-x1", ".trash", "lost+found here"):
        (Path(layout.root) / "_foreset" / name).mkdir(parents=True)
        (Path(layout.root) / "reach" / name).mkdir(parents=True)
    assert gc.collect(layout, gc.Policy(last=1)).floor == 3
    assert not (Path(layout.root) / "_foreset" / "_spark").exists()
    assert (Path(layout.root) / "_foreset" / ".trash").exists(), "not ours"


def test_gc_waits_for_a_refresh_at_work(layout: Layout) -> None:
    history(layout, 3)
    run = epochs.open_run(layout, "r4", lambda _: {})
    with pytest.raises(Fenced, match="refresh r4 .* is already running"):
        gc.collect(layout)
    epochs.close_run(run, "failed")
    assert gc.collect(layout, gc.Policy(last=2)).deleted


def test_rollback_is_a_new_seq_with_the_way_back_as_its_differential(layout: Layout) -> None:
    history(layout, 3)
    assert rollback.roll_back(layout, 1, "back") == Committed(4)
    assert rollback.roll_back(layout, 1, "back").seq == 4
    assert content(open_snapshot(layout.root, "reach").arrow("a")) == [("x1", 1.0)]
    assert [content(side) for side in differentials.read(layout, "a")] == [[("x1", 1.0)], [("x3", 1.0)]]
    refresh(layout, "r5", {"a": ([("new", 1.0)], [("x1", 1.0)])})
    assert content(open_snapshot(layout.root, "reach").arrow("a")) == [("new", 1.0)]
    gc.collect(layout, gc.Policy(last=1))
    with pytest.raises(UsageError, match="cannot be rolled back to seq 1"):
        rollback.roll_back(layout, 1, "again")


def test_an_export_follows_the_seqs_by_exact_commits(layout: Layout) -> None:
    history(layout, 1)
    assert exports.bring_up(layout, ["a"]) == {"a": 1}
    refresh(layout, "r2", {"a": ([(None, math.nan), ("y", None)], [("x1", 1.0)])})
    assert exports.bring_up(layout, ["a"]) == exports.bring_up(layout, ["a"]) == {"a": 2}
    table = delta.open_table(layout.export("a"))
    assert table.version() == 2  # a second call adds nothing
    assert len(content(table.to_pyarrow_table())) == 2
    feed = pa.table(table.load_cdf(2, 2).read_all())
    assert sorted(feed["_change_type"].to_pylist()) == ["delete", "insert", "insert"]
    refresh(layout, "r3", {"a": ([("z", 0.0)], [(None, math.nan)])})
    refresh(layout, "r4", {"a": ([], [("y", None)])})
    assert exports.bring_up(layout, ["a"]) == {"a": 4}  # over two seqs at once, by comparison
    assert content(delta.open_table(layout.export("a")).to_pyarrow_table()) == [("z", 0.0)]
    assert exports.bring_up(layout, ["a"], manifest.at(layout.root, "reach", 2)) == {"a": 4}  # a late worker


def test_a_copied_warehouse_can_be_read(layout: Layout, tmp_path: Path) -> None:
    history(layout, 2)
    Path(layout.root).rename(tmp_path / "moved")
    assert content(open_snapshot(str(tmp_path / "moved"), "reach").arrow("a")) == [("x2", 1.0)]


def test_a_torn_last_event_is_left_out_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    events.emit(run, "opened", epoch=1)
    with Path(run, events.NAME).open("a") as stream:
        stream.write('{"kind": "half')
    assert [event["kind"] for event in events.read(run)] == ["opened"]
    events.emit(run, "closed")
    assert [event["kind"] for event in events.read(run)] == ["opened", "closed"]
    assert events.read(str(tmp_path / "none")) == []


@pytest.mark.parametrize("reference", ["../x", "/etc/passwd", "a/../../b", "s3://bucket/x", ""])
def test_a_reference_cannot_lead_out_of_the_warehouse(layout: Layout, reference: str) -> None:
    with pytest.raises(ValueError, match="not a path inside"):
        layout.resolve(reference)


@pytest.mark.parametrize("name", ["..", "_state", "a/b", "", ".hidden", "x\n"])
def test_names_that_are_no_names_are_refused(layout: Layout, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        layout.view(name)


def test_an_audit_finds_what_was_lost_or_replaced(layout: Layout) -> None:
    history(layout, 3)
    assert faults(layout) == []
    path = Path(layout.view("a"))
    part = next(path.rglob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:-1])
    assert any("bytes instead of" in fault for fault in faults(layout))
    part.unlink()
    assert any("is missing" in fault for fault in faults(layout))
    part.write_bytes(whole)
    entry = path / "_delta_log" / f"{3:020d}.json"
    entry.write_text(entry.read_text().replace('token\\": \\"', 'token\\": \\"x'))
    assert any("not the one that was committed" in fault for fault in faults(layout))
    entry.unlink()
    assert any("cannot be opened" in fault for fault in faults(layout))


def test_a_small_table_is_written_anew_before_it_has_many_files() -> None:
    """Fifty files of a few rows each cost every reader more than writing them anew; a large table waits for 200."""
    threshold = signed.Threshold()
    small = signed.Extent(plus_rows=1_000, minus_rows=900, base_rows=100, log_files=49, size=1)
    assert not threshold.passed(small, plus=1)
    assert threshold.passed(small, plus=1, minus=1)
    assert not threshold.passed(replace(small, plus_rows=1_000_000, base_rows=990_000), plus=1, minus=1)
