"""Signed tables and counters as Spark writes and reads them, on whatever session the run has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from foreset.errors import Fenced
from foreset.store import arrow, counters, delta, epochs, manifest, signed, write_once
from foreset.store.layout import Layout
from foreset.store.snapshots import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS = {"src": "string", "weight": "double", "tags": "array<double>"}
TYPES = "src string, weight double, tags array<double>"
ODD = [(None, None, None), ("nan", math.nan, [math.nan]), ("zero", -0.0, [-0.0, None]), ("", 1.0, [])]
ODD_AGAIN = [(None, None, None), ("nan", -math.nan, [-math.nan]), ("zero", 0.0, [0.0, None]), ("", 1.0, [])]


@pytest.fixture
def layout(warehouse: str) -> Layout:
    return Layout(warehouse, "reach")


def frame(spark: SparkSession, rows: list) -> DataFrame:
    return spark.createDataFrame(rows, TYPES)


def opened(layout: Layout, name: str) -> epochs.Run:
    run = epochs.open_run(layout, name, lambda _: {}, force=True)
    assert isinstance(run, epochs.Run)
    return run


def commit(run: epochs.Run, written: write_once.Written) -> None:
    pin = manifest.ViewPin(run.layout.relative(written.path), written.table_id, written.version, COLUMNS)
    row = manifest.ManifestRow(run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq, views={"a": pin})
    assert manifest.commit(run.layout, row) == manifest.Committed(run.seq)


def loaded(spark: SparkSession, layout: Layout, rows: list) -> write_once.Written:
    path, run = layout.view("a"), opened(layout, "load")
    signed.create(path, COLUMNS)
    written = write_once.write_once(
        run, path, None, lambda txn: signed.load(path, frame(spark, rows), run.seq, txn), absolute=True
    )
    commit(run, written)
    return written


def changed(spark: SparkSession, layout: Layout, pin: int, plus: list, minus: list) -> write_once.Written:
    path, run = layout.view("a"), opened(layout, f"change-{pin}")
    sides = [frame(spark, side) if side else None for side in (plus, minus)]
    written = write_once.write_once(run, path, pin, lambda txn: signed.append(path, *sides, run.seq, txn))
    commit(run, written)
    return written


def seen(spark: SparkSession, layout: Layout, version: int) -> list[str]:
    """By Spark and without it: both must see the same."""
    path = layout.view("a")
    by_spark = sorted(map(repr, map(tuple, signed.read(spark, path, version, list(COLUMNS)).collect())))
    without = sorted(repr(tuple(row.values())) for row in arrow.read(path, version, list(COLUMNS)).to_pylist())
    assert by_spark == without
    assert len(by_spark) == signed.describe(path, version).visible
    return by_spark


def test_a_row_is_visible_if_its_latest_sign_is_plus(spark: SparkSession, layout: Layout) -> None:
    x, y = ("x", 1.0, [1.0]), ("y", None, None)
    first = loaded(spark, layout, [x, *ODD])
    second = changed(spark, layout, first.version, [y], ODD_AGAIN)
    third = changed(spark, layout, second.version, [ODD[2]], [x])
    assert seen(spark, layout, first.version) == sorted(map(repr, [x, (None, None, None), *normal(ODD[1:])]))
    assert seen(spark, layout, second.version) == sorted(map(repr, [x, y]))
    assert seen(spark, layout, third.version) == sorted(map(repr, [y, *normal([ODD[2]])]))
    row = manifest.newest(layout.root, "reach")
    assert row is not None
    assert Snapshot(layout, row, None).spark(spark, "a").count() == 2


def normal(rows: list) -> list:
    return [tuple(map(canonical, row)) for row in rows]


def canonical(value: object) -> object:
    match value:
        case float():
            return value + 0.0
        case list():
            return [canonical(item) for item in value]
        case _:
            return value


def test_compaction_changes_nothing_that_is_seen_and_old_versions_stay(spark: SparkSession, layout: Layout) -> None:
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None), *ODD])
    second = changed(spark, layout, first.version, [("y", 1.0, None)], ODD)
    before = seen(spark, layout, second.version)
    assert signed.Threshold(least_rows=1).passed(signed.describe(path, second.version))
    run = opened(layout, "compact")

    def compact(txn: write_once.Txn) -> None:
        signed.rebase(path, second.version, frame(spark, []), None, run.seq, txn)

    written = write_once.write_once(run, path, second.version, compact, absolute=True)
    extent = signed.describe(path, written.version)
    assert (extent.minus_rows, extent.log_files, extent.base_rows) == (0, 0, 2)
    assert seen(spark, layout, written.version) == seen(spark, layout, second.version) == before


def test_rebase_appends_and_compacts_in_one_version(spark: SparkSession, layout: Layout) -> None:
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None), *ODD])
    run = opened(layout, "rebase")
    plus, minus = frame(spark, [("y", 1.0, None)]), frame(spark, ODD_AGAIN)
    written = write_once.write_once(
        run, path, first.version,
        lambda txn: signed.rebase(path, first.version, plus, minus, run.seq, txn), absolute=True)  # fmt: skip
    assert written.version == first.version + 1
    assert seen(spark, layout, written.version) == sorted(map(repr, [("x", 1.0, None), ("y", 1.0, None)]))
    assert not signed.describe(path, written.version).minus_rows


def test_a_staged_rebuild_with_other_columns_is_reset_with_its_schema(spark: SparkSession, layout: Layout) -> None:
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None)])
    aborted = opened(layout, "aborted")
    other = spark.createDataFrame([(1, "n")], "id bigint, name string")
    write_once.write_once(aborted, path, first.version, lambda txn: signed.load(path, other, 2, txn), absolute=True)
    table = delta.open_table(path)
    assert table is not None
    assert "id" in [field.name for field in table.schema().fields]
    written = changed(spark, layout, first.version, [("y", 2.0, None)], [])
    assert seen(spark, layout, written.version) == sorted(map(repr, [("x", 1.0, None), ("y", 2.0, None)]))
    again = delta.open_table(path)
    assert again is not None
    assert again.metadata().configuration["delta.deletedFileRetentionDuration"] == delta.FOREVER
    assert list(again.metadata().partition_columns) == ["_sign", "_seq"]


def interrupted(write: Callable[[write_once.Txn], None]) -> Callable[[write_once.Txn], None]:
    def run(txn: write_once.Txn) -> None:
        write(txn)
        raise OSError("the acknowledgement was lost")

    return run


def test_a_spark_write_whose_answer_was_lost_is_found_again(spark: SparkSession, layout: Layout) -> None:
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None)])
    run = opened(layout, "r2")
    plus = frame(spark, [("y", 1.0, None)])
    written = write_once.write_once(
        run, path, first.version, interrupted(lambda txn: signed.append(path, plus, None, run.seq, txn))
    )
    retried = write_once.write_once(run, path, first.version, lambda _: pytest.fail("it is written"))
    assert retried == written
    assert len(seen(spark, layout, written.version)) == 2


def test_delta_itself_skips_a_zombies_write_and_we_say_so(spark: SparkSession, layout: Layout) -> None:
    """The fence of the manifest is passed before the successor comes: the table's own number must stop it."""
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None)])
    zombie = opened(layout, "zombie")
    row = frame(spark, [("zombie", 0.0, None)])

    def overtaken(txn: write_once.Txn) -> None:
        changed(spark, layout, first.version, [("y", 1.0, None)], [])
        signed.append(path, row, None, zombie.seq, txn)

    with pytest.raises(Fenced, match="transaction"):
        write_once.write_once(zombie, path, first.version, overtaken)
    newest = manifest.newest(layout.root, "reach")
    assert newest is not None
    assert seen(spark, layout, newest.views["a"].version) == sorted(map(repr, [("x", 1.0, None), ("y", 1.0, None)]))


def test_a_spark_append_that_slips_in_is_noticed(spark: SparkSession, layout: Layout) -> None:
    path = layout.view("a")
    first = loaded(spark, layout, [("x", 1.0, None)])
    run, tries = opened(layout, "r2"), []

    def disturbed(txn: write_once.Txn) -> None:
        if not tries:
            stranger = write_once.Txn("stranger", 1, delta.Mark("other"))
            signed.append(path, frame(spark, [("intruder", 0.0, None)]), None, 9, stranger)
        tries.append(txn.version)
        signed.append(path, frame(spark, [("y", 1.0, None)]), None, run.seq, txn)

    written = write_once.write_once(run, path, first.version, disturbed)
    assert tries == [run.epoch * 1000, run.epoch * 1000 + 1]
    assert seen(spark, layout, written.version) == sorted(map(repr, [("x", 1.0, None), ("y", 1.0, None)]))


# ---------------------------------------------------------------------------- counters

KEYS = {"src": "string", "base": "double"}  # a column named like a counter is no trouble
COUNTED = "src string, base double, _base bigint, _recursive bigint"


def summed(frame: DataFrame) -> list[tuple]:
    return sorted(map(tuple, frame.collect()), key=repr)


def test_counters_are_sums_for_the_asked_rows_only(spark: SparkSession, layout: Layout) -> None:
    path = layout.state("a")
    counters.create(path, KEYS)

    def counted(*rows: tuple) -> DataFrame:
        return spark.createDataFrame(list(rows), COUNTED)

    def step(number: int, write: Callable[[write_once.Txn], None], *, absolute: bool = False) -> int:
        run = opened(layout, f"c{number}")
        return write_once.write_once(run, path, number or None, write, absolute=absolute or not number).version

    one = step(0, lambda t: counters.load(
        path, counted((None, 0.0, 2, 0), ("n", math.nan, 1, 1), ("z", -0.0, 1, 0)), 1, t))  # fmt: skip
    two = step(one, lambda t: counters.append(
        path, counted((None, 0.0, -1, 3), ("z", 0.0, -1, 0)), 2, t))  # fmt: skip
    keys = spark.createDataFrame([(None, -0.0), ("z", 0.0), ("absent", 1.0)], "src string, base double")
    assert summed(counters.read(spark, path, two, list(KEYS), keys)) == [("z", 0.0, 0, 0), (None, 0.0, 1, 3)]
    assert len(summed(counters.read(spark, path, two, list(KEYS)))) == 3
    assert len(summed(counters.read(spark, path, one, list(KEYS), keys, few=False))) == 2
    more = [("new", 2.0, 1, 0), (None, -0.0, 1, -3)]
    three = step(two, lambda t: counters.rebase(path, two, counted(*more), 3, t, ["src"]), absolute=True)
    whole = [("n", "nan", 1, 1), ("new", 2.0, 1, 0), (None, 0.0, 2, 0)]
    assert _told(counters.read(spark, path, three, list(KEYS))) == whole
    assert counters.describe(path, three) == counters.Extent(base_rows=3, log_rows=0, log_files=0)
    assert summed(counters.read(spark, path, one, list(KEYS), keys))[0] == ("z", 0.0, 1, 0), "old versions stay"

    kinds = {**KEYS, "_base": "bigint", "_recursive": "bigint"}
    columns = dict(zip(kinds, map(list, zip(*more, strict=True)), strict=True))
    changes = pa.table(columns, arrow.schema_of(kinds))

    def in_process(txn: write_once.Txn) -> None:
        counters.rebase(path, two, changes, 3, txn, ["src"])

    here = write_once.write_once(opened(layout, "here"), path, two, in_process, absolute=True).version
    assert _told(counters.read(spark, path, here, list(KEYS))) == whole, "in process as in Spark"
    assert counters.describe(path, here) == counters.describe(path, three)


def _told(frame: DataFrame) -> list[tuple]:
    return [tuple("nan" if value != value else value for value in row) for row in summed(frame)]  # noqa: PLR0124
