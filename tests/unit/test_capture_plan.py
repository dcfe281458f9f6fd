"""The way from a recorded pin to the present, for each event that can befall a source."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from foreset.errors import SourceError
from foreset.ir.program import Column, Source
from foreset.ir.types import parse_type
from foreset.store.capture.errors import condition_of, history_is_lost
from foreset.store.capture.log import (
    Commit,
    Metadata,
    can_rebuild,
    checkpoints,
    commit_name,
    commit_versions,
    parse_commit,
)
from foreset.store.capture.plan import SMALL, Facts, Feed, Refuse, Reload, SnapshotDiff, Unchanged, decide, next_best
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin
from foreset.store.capture.versions import SourceTable, fit_columns, parse_columns

COLUMNS = (PinnedColumn("src", "string", "src"), PinnedColumn("n", "int", "n"))
PIN = RecordedPin("id-1", 4, COLUMNS, feed=True, commit="c4")
ON, OFF = Metadata("id-1", "", {"delta.enableChangeDataFeed": "true"}), Metadata("id-1", "", {})


def data(version: int, **more) -> Commit:
    return Commit(version, more.pop("operation", "WRITE"), changes_data=True, feed_bytes=10, **more)


def bookkeeping(version: int, **more) -> Commit:
    return Commit(version, "OPTIMIZE", changes_data=False, **more)


def facts(*commits: Commit, **more) -> Facts:
    version = commits[-1].version if commits else PIN.version
    given = {"table_id": "id-1", "version": version, "columns": COLUMNS, "commits": commits, "bytes": 1000} | more
    return Facts(**given)


NEW = facts(data(5), data(6))


def test_the_first_refresh_takes_the_source_whole():
    assert decide(None, NEW) == Reload("never read before")


def test_no_new_version():
    assert decide(PIN, facts()) == Unchanged()


def test_new_versions_are_read_from_the_feed():
    assert decide(PIN, NEW) == Feed(4, 6)


def test_consecutive_ranges_touch_and_do_not_overlap():
    first = decide(PIN, facts(data(5)))
    second = decide(replace(PIN, version=5), facts(data(6), data(7)))
    assert isinstance(first, Feed)
    assert isinstance(second, Feed)
    assert (first.after, first.upto, second.after, second.upto) == (4, 5, 5, 7)


@pytest.mark.parametrize("commits", [[bookkeeping(5)], [bookkeeping(5, metadata=OFF), bookkeeping(6)]])
def test_versions_that_change_no_data_cost_nothing(commits):
    way = decide(PIN, facts(*commits))
    assert isinstance(way, Unchanged)
    assert "change no data" in way.reason


def test_a_feed_that_was_never_on_means_comparing_versions():
    way = decide(replace(PIN, feed=False), NEW)
    assert isinstance(way, SnapshotDiff)
    assert "version 5 has no change feed" in way.reason
    assert "delta.enableChangeDataFeed = true" in way.reason


def test_a_feed_switched_on_in_the_middle_does_not_cover_the_range():
    off = replace(PIN, feed=False)
    assert isinstance(decide(off, facts(data(5), bookkeeping(6, metadata=ON), data(7))), SnapshotDiff)
    assert isinstance(decide(off, facts(bookkeeping(5, metadata=ON), data(6))), Feed)


def test_a_feed_switched_off_in_the_middle():
    way = decide(PIN, facts(data(5), bookkeeping(6, metadata=OFF), data(7)))
    assert isinstance(way, SnapshotDiff)
    assert "version 6" in way.reason


def test_a_vacuumed_feed():
    way = decide(PIN, replace(NEW, feed_lost="_change_data/x.parquet"))
    assert isinstance(way, SnapshotDiff)
    assert "vacuumed" in way.reason
    assert "delta.deletedFileRetentionDuration" in way.reason


def test_a_vacuumed_feed_and_a_vacuumed_old_version():
    way = decide(PIN, replace(NEW, feed_lost="f", old_lost="part-1 was vacuumed"))
    assert isinstance(way, Reload)
    assert "part-1 was vacuumed" in way.reason
    assert "delta.logRetentionDuration" in way.reason


def test_a_whole_feed_needs_no_old_version():
    assert isinstance(decide(PIN, replace(NEW, old_lost="part-1 was vacuumed")), Feed)


def test_a_log_with_holes():
    way = decide(PIN, facts(data(6), version=6))
    assert isinstance(way, SnapshotDiff)
    assert "no longer has version 5" in way.reason


@pytest.mark.parametrize("operation", ["RESTORE", "MERGE"])
def test_a_restore_is_netted_like_any_other_change(operation):
    assert isinstance(decide(PIN, facts(data(5, operation=operation))), Feed)


def test_an_overwrite_whose_feed_is_bigger_than_the_table():
    big = Commit(5, "WRITE", changes_data=True, feed_bytes=SMALL + 1)
    way = decide(PIN, facts(big))
    assert isinstance(way, SnapshotDiff)
    assert "bigger than the table" in way.reason
    assert isinstance(decide(PIN, facts(big, bytes=None)), Feed)
    assert isinstance(decide(PIN, facts(big, bytes=2 * SMALL)), Feed)
    assert isinstance(decide(PIN, facts(data(5), bytes=1)), Feed)  # small: not worth a thought
    assert isinstance(decide(PIN, facts(big, old_lost="gone")), Feed)


def test_a_table_dropped_and_made_anew():
    assert isinstance(decide(PIN, facts(table_id="id-2", version=1)), Reload)
    assert isinstance(decide(PIN, facts(table_id="id-2", same_history=False)), Reload)
    assert isinstance(decide(PIN, facts(table_id="id-2")), Reload)


def test_a_table_put_back_from_a_copy_keeps_its_id():
    lower = decide(PIN, facts(version=3))
    rewritten = decide(PIN, facts(data(5), same_history=False))
    assert isinstance(lower, Reload)
    assert "version 3" in lower.reason
    assert isinstance(rewritten, Reload)


def test_a_replaced_table_with_its_history_kept_is_compared():
    way = decide(PIN, facts(data(5), table_id="id-2"))
    assert isinstance(way, SnapshotDiff)
    assert "id has changed" in way.reason


def test_a_referenced_column_that_changed_but_still_fits():
    retyped = (COLUMNS[0], PinnedColumn("n", "bigint", "n"))
    again = (COLUMNS[0], PinnedColumn("n", "int", "col-77"))
    assert "from int to bigint" in decide(PIN, replace(NEW, columns=retyped)).reason
    assert "added again" in decide(PIN, replace(NEW, columns=again)).reason
    assert isinstance(decide(PIN, facts(bookkeeping(5), columns=again)), SnapshotDiff)


def test_a_source_that_no_longer_fits_is_refused():
    error = SourceError("no")
    assert decide(PIN, replace(NEW, columns=error)) == Refuse(error)
    assert decide(None, replace(NEW, columns=error)) == Refuse(error)


def test_when_reading_fails_the_next_way_says_why():
    second = next_best(Feed(4, 6), "DELTA_MISSING_CHANGE_DATA", NEW)
    third = next_best(second, "FAILED_READ_FILE", NEW)
    assert isinstance(second, SnapshotDiff)
    assert "DELTA_MISSING_CHANGE_DATA" in second.reason
    assert isinstance(third, Reload)
    assert "version 4 could not be read either" in third.reason
    assert isinstance(next_best(Feed(4, 6), "x", replace(NEW, old_lost="gone")), Reload)


# ---------------------------------------------------------------------------- columns


def table(*fields: dict, version: int = 7) -> SourceTable:
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return SourceTable("edge", "sales/edge", version, Metadata("id-1", schema, {}), 1, None)


def column(name: str, kind: object, physical: str | None = None) -> dict:
    metadata = {"delta.columnMapping.physicalName": physical} if physical else {}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def source(**columns: str) -> Source:
    return Source("edge", tuple(Column(name, parse_type(text)) for name, text in columns.items()), table="sales/edge")


def test_columns_are_found_whatever_their_case_and_others_are_ignored():
    wide = table(column("N", "integer"), column("SRC", "string"), column("more", {"type": "struct", "fields": []}))
    found = fit_columns(source(src="string", n="bigint"), wide)
    assert found == (PinnedColumn("SRC", "string", "SRC"), PinnedColumn("N", "int", "N"))


def test_a_dropped_column_names_view_column_and_versions():
    fault = fit_columns(source(src="string", n="int"), table(column("src", "string")), ("closure", "degree"), PIN)
    assert isinstance(fault, SourceError)
    for part in ("`edge`", "`n`", "`closure`", "`degree`", "version 7", "version 4"):
        assert part in fault.message


def test_a_renamed_column_says_its_new_name():
    pin = replace(PIN, columns=(PinnedColumn("n", "int", "col-3"),))
    fault = fit_columns(source(n="int"), table(column("weight", "integer", "col-3")), ("closure",), pin)
    assert isinstance(fault, SourceError)
    assert "is now called `weight`" in fault.message
    assert "`weight`" in fault.hint


@pytest.mark.parametrize(
    ("found", "declared", "fault"),
    [
        ("string", "int", "string in the table, which does not fit int"),
        ("long", "int", "bigint in the table"),
        ("decimal(12,2)", "decimal(10,2)", "decimal(12,2) in the table"),
        ({"type": "map", "keyType": "string"}, "string", "is map in the table"),
        ({"type": "struct", "fields": []}, "string", "is struct in the table"),
        ("variant", "string", "is variant in the table"),
    ],
)
def test_a_type_that_does_not_fit_names_both(found, declared, fault):
    error = fit_columns(source(n=declared), table(column("n", found)))
    assert isinstance(error, SourceError)
    assert fault in error.message


@pytest.mark.parametrize(
    ("found", "declared"),
    [
        ("integer", "bigint"),
        ("short", "int"),
        ("float", "double"),
        ("decimal(10,2)", "decimal(12,4)"),
        ("date", "timestamp"),
        ({"type": "array", "elementType": "integer", "containsNull": True}, "array<bigint>"),
    ],
)
def test_a_wider_declared_type_is_fine(found, declared):
    assert not isinstance(fit_columns(source(n=declared), table(column("n", found))), SourceError)


def test_type_names_of_delta():
    schema = table(column("a", "byte"), column("b", "timestamp_ntz"), column("c", "binary")).metadata.schema
    assert [c.type_text for c in parse_columns(schema)] == ["tinyint", "timestamp_ntz", "binary"]


def test_a_pin_survives_the_manifest():
    assert RecordedPin.from_manifest(PIN.to_manifest("sales/edge", 2)) == PIN


# ---------------------------------------------------------------------------- the log


def lines(*actions: dict) -> str:
    return "\n".join(json.dumps(action) for action in actions)


def add(path: str, *, data_change: bool = True, size: int = 5) -> dict:
    return {"add": {"path": path, "size": size, "dataChange": data_change}}


def remove(path: str, *, data_change: bool = True) -> dict:
    return {"remove": {"path": path, "size": 7, "dataChange": data_change}}


def test_a_commit_without_change_files_is_read_from_its_data_files():
    commit = parse_commit(3, lines({"commitInfo": {"operation": "WRITE"}}, add("a%20b.parquet"), remove("c.parquet")))
    assert commit.changes_data
    assert commit.feed_files == ("a b.parquet", "c.parquet")
    assert (commit.feed_bytes, commit.removed) == (12, ("c.parquet",))


def test_change_files_stand_for_the_whole_commit():
    commit = parse_commit(3, lines(add("a"), remove("c"), {"cdc": {"path": "_change_data/x", "size": 2}}))
    assert (commit.feed_files, commit.feed_bytes) == (("_change_data/x",), 2)


def test_optimize_changes_no_data_but_lets_files_go():
    commit = parse_commit(3, lines(add("a", data_change=False), remove("c", data_change=False)))
    assert not commit.changes_data
    assert commit.removed == ("c",)


def test_a_new_deletion_vector_keeps_its_file():
    commit = parse_commit(3, lines(remove("a"), add("a")))
    assert commit.changes_data
    assert commit.removed == ()


def test_what_a_log_can_rebuild():
    names = [commit_name(v) for v in (0, 1, 2, 5, 6)] + [
        f"{4:020d}.checkpoint.parquet",
        f"{9:020d}.checkpoint.{1:010d}.{2:010d}.parquet",  # half of a checkpoint
        f"{8:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        "_last_checkpoint",
        f"{5:020d}.crc",
    ]
    assert commit_versions(names) == [0, 1, 2, 5, 6]
    assert sorted(checkpoints(names)) == [4, 8]
    assert [v for v in range(11) if can_rebuild(names, v)] == [0, 1, 2, 4, 5, 6, 8]


@pytest.mark.parametrize("text", ["{garbage", '"text"', "[1]", "null"])
def test_a_broken_commit_is_a_value_error_or_its_kin(text):
    with pytest.raises((ValueError, AttributeError, TypeError)):
        parse_commit(3, text)


# ---------------------------------------------------------------------------- errors


class WithCondition(Exception):
    def getCondition(self) -> str:  # noqa: N802 - as Spark calls it
        return "DELTA_MISSING_CHANGE_DATA"


@pytest.mark.parametrize(
    ("error", "condition", "lost"),
    [
        (WithCondition(), "DELTA_MISSING_CHANGE_DATA", True),
        (
            Exception("An error occurred\n: [FAILED_READ_FILE.FILE_NOT_EXIST] x"),
            "FAILED_READ_FILE.FILE_NOT_EXIST",
            True,
        ),
        (Exception("[DIVIDE_BY_ZERO] Division"), "DIVIDE_BY_ZERO", False),
        (Exception("java.io.FileNotFoundException: x"), "", True),
        (Exception("connection refused"), "", False),
    ],
)
def test_conditions_decide_whether_another_way_is_tried(error, condition, lost):
    assert (condition_of(error), history_is_lost(error)) == (condition, lost)
