"""Capture on real tables: every event of docs/sources.md, and random histories against whole versions."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED
from tests.spark.capture_sources import Nightly, plain, read, rows_of, source_of

from foreset.errors import SourceError
from foreset.ir.versions import Version
from foreset.store.capture.plan import Feed, Reload, SnapshotDiff, Unchanged
from foreset.store.capture.spark_log import SparkLog, open_with_spark
from foreset.store.capture.tables import open_table
from foreset.store.capture.take import capture, current_pin

pytestmark = pytest.mark.spark


@pytest.fixture
def edge(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(src="string", n="bigint"))
    nightly.write(src=["a", "a", "b", None, "c"], n=[1, 1, 2, None, 3])
    assert isinstance(nightly.refresh().way, Reload)
    return nightly


def test_copies_count_once_and_go_with_the_last(edge):
    edge.write(src=["a", "d", "d"], n=[1, 4, 4])
    assert isinstance(edge.refresh().way, Feed)
    edge.table.delete("src = 'a'")
    edge.write(src=["a"], n=[1])  # one of three copies comes back: no change of the set
    found = edge.refresh()
    assert (found.counts.inserted, found.counts.deleted) == (0, 0)
    edge.table.delete("src = 'a'")
    assert edge.refresh().counts.deleted == 1


def test_null_rows_are_rows(edge):
    edge.write(src=[None, None], n=[None, 7])
    edge.refresh()
    edge.table.delete("src is null")
    assert edge.refresh().counts.deleted == 2


def test_equal_pre_and_post_images_vanish(edge):
    edge.table.update(updates={"n": "n"})
    edge.table.update(updates={"n": "n + 1"}, predicate="src = 'c'")
    edge.table.update(updates={"n": "n - 1"}, predicate="src = 'c'")
    found = edge.refresh()
    assert isinstance(found.way, Feed)
    assert found.counts.inserted == found.counts.deleted == 0


def test_a_merge_of_everything(edge):
    view = "(select * from values ('b', 2), ('c', 30), ('e', 5) as s(src, n))"
    edge.sql(
        f"merge into {{t}} t using {view} s on t.src = s.src when matched then update set * "
        "when not matched then insert * when not matched by source and t.src = 'a' then delete"
    )
    found = edge.refresh()
    assert isinstance(found.way, Feed)
    assert (found.counts.inserted, found.counts.deleted) == (2, 2)


def test_columns_that_are_not_read_change_unseen(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(k="int"))
    nightly.write(k=pa.array([1, 2, 2], pa.int32()), other=["x", "y", "z"])
    nightly.refresh()
    nightly.table.update(updates={"other": "'new'"})
    assert nightly.refresh().counts.inserted == 0
    nightly.table.delete("other = 'new' and k = 1")
    assert nightly.refresh().counts.deleted == 1


def test_floats_are_canonical(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(x="double", y="float", z="array<double>"))
    schema = pa.schema([("x", pa.float64()), ("y", pa.float32()), ("z", pa.list_(pa.float64()))])

    def rows(*values):
        return pa.table([[v[0] for v in values], [v[1] for v in values], [v[2] for v in values]], schema=schema)

    nan = math.nan
    write_deltalake(nightly.path, rows((0.0, 1.0, [0.0]), (nan, nan, [nan])), configuration=FEED)
    nightly.refresh()
    write_deltalake(nightly.path, rows((-0.0, 1.0, [-0.0]), (nan, nan, [nan]), (-0.0, -0.0, [-0.0])), mode="append")
    assert nightly.refresh().counts.inserted == 1
    (row,) = nightly.frame(Version.PLUS).collect()
    assert [math.copysign(1, value) for value in (row.x, row.y, row.z[0])] == [1, 1, 1]
    write_deltalake(nightly.path, rows((-0.0, 1.0, [0.0])), mode="overwrite")
    assert nightly.refresh().counts.deleted == 2


def test_declared_types_may_be_wider(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(n="bigint", d="decimal(12,4)", f="double", t="timestamp"))
    import datetime
    from decimal import Decimal

    schema = pa.schema([("n", pa.int16()), ("d", pa.decimal128(8, 2)), ("f", pa.float32()), ("t", pa.date32())])
    day = datetime.date(2026, 1, 2)
    write_deltalake(nightly.path, pa.table([[1], [Decimal("1.20")], [0.5], [day]], schema=schema), configuration=FEED)
    directory = str(Path(warehouse, "run"))
    first = current_pin(spark, nightly.source, warehouse)
    write_deltalake(nightly.path, pa.table([[2], [None], [1.5], [day]], schema=schema), mode="append")
    found = capture(spark, nightly.source, first, warehouse, directory)
    plus, old = (
        read(spark, nightly.source, warehouse, found, directory, version) for version in (Version.PLUS, Version.OLD)
    )
    assert plus.dtypes == [("n", "bigint"), ("d", "decimal(12,4)"), ("f", "double"), ("t", "timestamp")]
    assert rows_of(plus) == [(2, None, 1.5, datetime.datetime(2026, 1, 2))]
    assert old.count() == 1


# ---------------------------------------------------------------------------- what befalls a table


def test_nothing_new_and_nothing_but_bookkeeping(edge):
    assert edge.refresh().reason == "no new version"
    edge.write(src=["x"], n=[9])
    edge.refresh()
    edge.table.optimize.compact()
    edge.sql("alter table {t} set tblproperties('note'='x')")
    found = edge.refresh()
    assert isinstance(found.way, Unchanged)
    assert found.pin.version == edge.table.version()
    edge.write(src=["y"], n=[9])
    assert isinstance(edge.refresh().way, Feed)


def test_optimize_within_a_range_is_invisible(edge):
    edge.write(src=["x"], n=[9])
    edge.sql("optimize {t}")
    edge.table.delete("src = 'x'")
    assert edge.refresh().counts.inserted == 0


def test_an_empty_write(edge):
    edge.write(src=pa.array([], pa.string()), n=pa.array([], pa.int64()))
    assert edge.refresh().counts.inserted == 0


def test_restore_is_netted(edge):
    edge.write(src=["x", "a"], n=[9, 1])
    edge.refresh()
    edge.write(src=["y"], n=[9])
    edge.table.delete("src = 'b'")
    edge.sql("restore table {t} to version as of 0")
    found = edge.refresh()
    assert (found.counts.inserted, found.counts.deleted) == (0, 1)


def test_overwrite_with_nearly_the_same(edge):
    edge.write("overwrite", src=["a", "b", "c", "z"], n=[1, 2, 3, 26])
    found = edge.refresh()
    assert (found.counts.inserted, found.counts.deleted) == (1, 1)


def test_a_feed_bigger_than_the_table_is_not_read(edge, monkeypatch):
    monkeypatch.setattr("foreset.store.capture.plan.SMALL", 0)
    for _ in range(3):
        edge.write("overwrite", src=["a", "b"], n=[1, 2])
    found = edge.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert "bigger than the table" in found.reason


def test_a_table_dropped_and_made_anew(edge):
    shutil.rmtree(edge.path)
    edge.write(src=["q"], n=[1])
    edge.write(src=["r"], n=[1])
    found = edge.refresh()
    assert isinstance(found.way, Reload)
    assert "replaced" in found.reason
    assert found.degraded


def test_a_table_replaced_in_its_own_log(edge):
    edge.sql("create or replace table {t} using delta as select * from values ('a', 1L), ('new', 2L) as s(src, n)")
    found = edge.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert "its id has changed" in found.reason


def test_a_table_put_back_from_an_old_copy(edge, tmp_path):
    shutil.copytree(edge.path, tmp_path / "copy")
    edge.write(src=["x"], n=[1])
    edge.refresh()
    shutil.rmtree(edge.path)
    shutil.copytree(tmp_path / "copy", edge.path)
    assert isinstance(edge.refresh().way, Reload)
    edge.pin = None
    edge.refresh()


def test_another_history_with_the_same_numbers(edge, tmp_path):
    shutil.copytree(edge.path, tmp_path / "copy")
    edge.write(src=["x"], n=[1])
    edge.refresh()
    shutil.rmtree(edge.path)
    shutil.copytree(tmp_path / "copy", edge.path)
    edge.write(src=["other"], n=[1])
    edge.write(src=["more"], n=[1])
    found = edge.refresh()
    assert isinstance(found.way, Reload)
    assert "not the one that the last refresh read" in found.reason


def test_a_vacuumed_feed_is_replaced_by_comparing_versions(edge):
    edge.table.update(updates={"n": "n + 1"}, predicate="src = 'c'")
    edge.write(src=["x"], n=[1])
    shutil.rmtree(Path(edge.path, "_change_data"))
    found = edge.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert "vacuumed" in found.reason


def test_a_feed_that_vanishes_between_decision_and_reading(edge, monkeypatch):
    from foreset.store.capture.tables import ArrowLog

    edge.table.update(updates={"n": "n + 1"}, predicate="src = 'c'")
    edge.write(src=["x"], n=[1])
    shutil.rmtree(Path(edge.path, "_change_data"))
    monkeypatch.setattr(ArrowLog, "first_missing", lambda *_: None)
    found = edge.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert "FAILED_READ_FILE" in found.reason


def test_a_feed_whose_old_version_is_vacuumed_is_still_exact(edge):
    edge.table.optimize.compact()
    edge.table.update(updates={"n": "n + 1"}, predicate="src = 'c'")
    for file in set(Path(edge.path).glob("*.parquet")) - {Path(edge.path, f) for f in files_of(edge.path)}:
        file.unlink()
    before = set(edge.seen)
    found = edge.refresh()
    assert isinstance(found.way, Feed)
    assert "vacuumed" in found.old_lost
    assert set(edge.before()) == before


def files_of(path: str) -> list[str]:
    return [uri.rsplit("/", 1)[-1] for uri in DeltaTable(path).file_uris()]


def test_feed_and_old_version_vacuumed(edge):
    edge.table.update(updates={"n": "n + 1"}, predicate="src = 'c'")
    edge.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    shutil.rmtree(Path(edge.path, "_change_data"), ignore_errors=True)
    found = edge.refresh()
    assert isinstance(found.way, Reload)
    assert "delta.deletedFileRetentionDuration" in found.reason
    assert found.counts is None


def test_a_log_that_was_cleaned_up(edge):
    edge.write(src=["x"], n=[1])
    edge.write(src=["y"], n=[1])
    edge.table.create_checkpoint()
    edge.write(src=["z"], n=[1])
    for version in (0, 1):
        Path(edge.path, "_delta_log", f"{version:020d}.json").unlink()
    found = edge.refresh()
    assert isinstance(found.way, Reload)
    assert "no longer has" in found.reason


def test_never_enabled_then_enabled(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(src="string", n="bigint"))
    write_deltalake(nightly.path, pa.table({"src": ["a", "a"], "n": [1, 1]}))
    nightly.refresh()
    nightly.write(src=["a", "b"], n=[1, 2])
    found = nightly.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert "delta.enableChangeDataFeed = true" in found.reason
    nightly.write(src=["c"], n=[1])
    nightly.table.alter.set_table_properties(FEED)
    nightly.table.delete("src = 'a'")
    assert isinstance(nightly.refresh().way, SnapshotDiff)
    nightly.write(src=["d"], n=[1])
    nightly.table.delete("src = 'c'")
    assert isinstance(nightly.refresh().way, Feed)


# ---------------------------------------------------------------------------- shape


def test_an_added_column_is_ignored(edge):
    write_deltalake(edge.path, pa.table({"src": ["x"], "n": [1], "more": [1]}), mode="append", schema_mode="merge")
    edge.table.delete("src = 'a'")
    assert isinstance(edge.refresh().way, Feed)


def test_a_column_that_the_spec_took_up_later(spark, warehouse, edge):
    write_deltalake(edge.path, pa.table({"src": ["x"], "n": [1], "more": [1]}), mode="append", schema_mode="merge")
    wide = source_of(src="string", n="bigint", more="bigint")
    directory = str(Path(warehouse, "run"))
    found = capture(spark, wide, edge.pin, warehouse, directory)
    assert rows_of(read(spark, wide, warehouse, found, directory, Version.PLUS)) == [("x", 1, 1)]


def test_mapped_columns_renamed_dropped_and_added_anew(edge):
    edge.mapped = True
    edge.sql(
        "alter table {t} set tblproperties('delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2',"
        " 'delta.minWriterVersion'='5', 'delta.enableChangeDataFeed'='false')"
    )
    edge.refresh()
    edge.sql("alter table {t} rename column n to m")
    with pytest.raises(SourceError, match="is now called `m`") as caught:
        edge.refresh(used_by=("closure",))
    assert "`closure`" in str(caught.value)
    edge.sql("alter table {t} rename column m to n")
    assert isinstance(edge.refresh().way, Unchanged)
    edge.sql("alter table {t} drop column n")
    with pytest.raises(SourceError, match="`n` does not exist"):
        edge.refresh()
    edge.sql("alter table {t} add column n bigint")
    found = edge.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert found.counts.deleted == 3  # (NULL, NULL) stays


def test_a_rename_elsewhere_bars_the_feed_but_not_the_refresh(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(k="bigint"))
    nightly.write(k=[1, 2], other=["x", "y"])
    nightly.sql(
        "alter table {t} set tblproperties('delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2',"
        " 'delta.minWriterVersion'='5')"
    )
    nightly.refresh()
    nightly.sql("insert into {t} values (3, 'z')")
    nightly.sql("alter table {t} rename column other to another")
    nightly.sql("alter table {t} drop column another")
    found = nightly.refresh()
    assert found.counts.inserted == 1
    assert isinstance(found.way, (SnapshotDiff, Feed))


def test_a_column_of_another_type_is_refused(edge):
    write_deltalake(edge.path, pa.table({"src": ["a"], "n": ["1"]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(SourceError, match=r"`n`.* is string in the table, which does not fit bigint"):
        edge.refresh()


def test_a_widened_type_that_fits_is_compared(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(n="bigint"))
    write_deltalake(nightly.path, pa.table({"n": pa.array([1, 2], pa.int32())}), configuration=FEED)
    nightly.refresh()
    nightly.sql("alter table {t} set tblproperties('delta.enableTypeWidening'='true')")
    nightly.sql("alter table {t} alter column n type bigint")
    nightly.sql("insert into {t} values (5000000000)")
    found = nightly.refresh()
    assert isinstance(found.way, SnapshotDiff)
    assert found.counts.inserted == 1


def test_names_that_need_quoting_and_another_case(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of("odd", A="string", select="bigint"))
    nightly.write(a=["x"], select=[1])
    nightly.refresh()
    nightly.write(a=["y"], select=[1])
    nightly.refresh()
    assert nightly.frame(Version.PLUS).columns == ["A", "select"]


# ---------------------------------------------------------------------------- layouts


def test_partitions_and_deletion_vectors(spark, warehouse):
    nightly = Nightly(spark, warehouse, source_of(day="string", n="bigint"))
    nightly.write(partition=["day"], day=["mon", "mon", "tue", "tue", None], n=[1, 2, 1, 1, 5])
    nightly.refresh()
    nightly.sql("alter table {t} set tblproperties('delta.enableDeletionVectors'='true')")
    nightly.sql("delete from {t} where n = 1")
    nightly.sql("insert into {t} values ('wed', 1), ('mon', 1)")
    found = nightly.refresh()
    assert isinstance(found.way, Feed)
    assert (found.counts.inserted, found.counts.deleted) == (1, 1)
    nightly.sql("delete from {t} where day = 'mon'")
    nightly.sql("optimize {t}")
    nightly.sql("update {t} set n = 6 where day is null")
    nightly.refresh()
    nightly.sql("restore table {t} to version as of 0")
    nightly.refresh()


# ---------------------------------------------------------------------------- ranges


def test_late_data_waits_for_the_next_refresh(edge):
    edge.write(src=["x"], n=[1])
    opened = current_pin(edge.spark, edge.source, edge.warehouse)
    edge.write(src=["late"], n=[1])
    first = edge.refresh(to=opened)
    assert first.pin == opened
    assert ("late", 1) not in edge.seen
    second = edge.refresh()
    assert isinstance(first.way, Feed)
    assert isinstance(second.way, Feed)
    assert second.way.after == first.way.upto
    assert rows_of(edge.frame(Version.PLUS)) == [("late", 1)]


def test_a_retry_gives_the_same(edge):
    edge.write(src=["x"], n=[1])
    opened = current_pin(edge.spark, edge.source, edge.warehouse)
    directory = str(Path(edge.warehouse, "run"))
    for _ in range(2):
        found = capture(edge.spark, edge.source, edge.pin, edge.warehouse, directory, to=opened)
        assert rows_of(read(edge.spark, edge.source, edge.warehouse, found, directory, Version.PLUS)) == [("x", 1)]


def test_a_table_replaced_while_the_refresh_runs(edge):
    opened = current_pin(edge.spark, edge.source, edge.warehouse)
    shutil.rmtree(edge.path)
    edge.write(src=["x"], n=[1])
    with pytest.raises(SourceError, match="was replaced while this refresh ran"):
        edge.refresh(to=opened)


# ---------------------------------------------------------------------------- faults


def test_clear_faults(spark, warehouse, edge, tmp_path):
    def fault(name: str) -> str:
        with pytest.raises(SourceError) as caught:
            current_pin(spark, source_of(name, src="string"), warehouse)
        return str(caught.value)

    assert "there is no table at" in fault("nowhere")
    Path(warehouse, "raw", "plain").mkdir()
    assert "is not a Delta table" in fault("plain")
    shutil.copytree(edge.path, Path(warehouse, "raw", "broken"))
    Path(warehouse, "raw", "broken", "_delta_log", f"{0:020d}.json").write_text("{garbage")
    assert "is damaged" in fault("broken")
    edge.write(src=["x"], n=[1])
    edge.write(src=["y"], n=[1])
    shutil.copytree(edge.path, Path(warehouse, "raw", "gap"))
    Path(warehouse, "raw", "gap", "_delta_log", f"{1:020d}.json").unlink()
    assert "is damaged" in fault("gap")
    for name in ("nowhere", "plain", "broken", "gap"):
        assert f"`{name}`" in fault(name)
        assert "hint:" in fault(name)


def test_spark_reads_the_same_from_the_log(spark, edge):
    edge.write(src=["x"], n=[1])
    edge.table.create_checkpoint()
    edge.write(src=["y"], n=[1])
    here = open_table("edge", edge.path)
    there = open_with_spark(spark, "edge", edge.path, None, RuntimeError())
    assert isinstance(there.files, SparkLog)
    assert (there.version, there.metadata.table_id, there.columns) == (2, here.metadata.table_id, here.columns)
    assert there.metadata.feed
    assert there.commits(0) == here.commits(0)
    assert there.mark(1) == here.mark(1)
    for version in (0, 1):
        Path(edge.path, "_delta_log", f"{version:020d}.json").unlink()
    assert open_with_spark(spark, "edge", edge.path, 1, RuntimeError()).metadata == there.metadata
    assert not there.remembers(0)


def test_plain_is_what_the_oracle_needs():
    assert plain((-0.0, math.nan, None, [math.nan])) == plain((0.0, math.nan, None, [math.nan]))
