"""Small refreshes from end to end without a Spark session: the one that is named here does not exist."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import CLOSURE, DEAD_END, GROUP, PAPER, TWO_STEPS, World, closed, words

import foreset
from foreset.errors import UsageError, VerificationFailed
from foreset.ir.program import Column
from foreset.plan import place
from foreset.records.strata import StagedFile
from foreset.relations import tables as relations
from foreset.warehouse import Warehouse

NOWHERE = "nowhere"
SPEC = f"""{GROUP}{CLOSURE}{DEAD_END}\
  two_steps:
    columns: {{src: string, dst: string, both: string}}
    rules:
      - two_steps(X, Y, concat(X, Y)) :- edge(X, Z), edge(Z, Y)
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", NOWHERE)
    found.spec(SPEC)
    return found


@pytest.fixture
def wh(world: World) -> Warehouse:
    return world.open()


def holds(wh: Warehouse, pairs: str) -> None:
    """Every view is what the edges say."""
    now = set(pairs.split())
    assert words(wh.read("reach.closure")) == closed(pairs)
    assert words(wh.read("reach.dead_end")) == {b for _, b in now} - {a for a, _ in now}
    assert words(wh.read("reach.two_steps")) == {x + y + x + y for x, z in now for w, y in now if z == w}


def test_a_load_and_nights(world: World, wh: Warehouse) -> None:
    first = wh.refresh("reach")
    assert {view.engine for view in first.views.values()} == {"in process"}
    assert first.views["closure"].strategy == "recompute"
    assert first.verification["verdict"] == "passed"
    holds(wh, PAPER)

    world.insert("gh")
    night = wh.refresh("reach")
    assert {view.engine for view in night.views.values()} == {"in process"}
    assert night.views["closure"].inserted == len(closed(f"{PAPER} gh") - closed(PAPER))
    assert night.views["two_steps"].strategy == "counting"
    holds(wh, f"{PAPER} gh")

    world.delete("ed")
    third = wh.refresh("reach")
    assert third.views["closure"].deleted > 0
    plus, minus = wh.changes("reach.closure")
    assert not plus.num_rows
    assert minus.num_rows == third.views["closure"].deleted
    holds(wh, "fe ea ab dc bc cg gh")

    quiet = wh.refresh("reach")
    assert (quiet.status, quiet.seq) == ("unchanged", 3)

    world.insert("ed")
    wh.refresh("reach")
    holds(wh, f"{PAPER} gh")
    records = wh.manifest("reach")[-1]["extra"]["strata"]
    assert {record["engine"] for record in records} == {"in process"}
    assert all(record["engine_reason"] for record in records)


def test_what_is_too_large_asks_for_spark(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory decides before anything is done; then the session that does not exist is missed."""
    machine = psutil.virtual_memory()
    monkeypatch.setattr(place, "LITTLE", 0)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine._replace(available=100))
    seen: list[dict[str, object]] = []
    with pytest.raises(UsageError, match="nowhere"):
        wh.refresh("reach", listen=seen.append)
    assert not [event for event in seen if event["event"] == "engine"], "nothing was begun in process"
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    wh.refresh("reach")
    holds(wh, PAPER)


def test_what_grows_too_large_moves_to_spark(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun in process, given up on the way, nothing staged; the events say so."""
    from foreset.backends.duckdb import budget

    monkeypatch.setattr(budget, "PASSES", 0)
    seen: list[dict[str, object]] = []
    with pytest.raises(UsageError, match="nowhere"):
        wh.refresh("reach", listen=seen.append)
    told = [(event["engine"], event["reason"]) for event in seen if event["event"] == "engine"]
    assert any(engine == "in process" and "to read" in str(reason) for engine, reason in told)
    assert any(engine == "spark" and re.fullmatch("begun in process with .* free, but it touches more than 0 rows",
                                                  str(reason)) for engine, reason in told)  # fmt: skip
    assert not list(Path(wh.root).glob("_foreset/reach/runs/*/strata/**/*.parquet"))


def test_what_is_tried_in_spark_and_fails_there_is_done_in_process(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = place.Place("spark", "it may be cheaper there", trial=True)
    monkeypatch.setattr("foreset.refresh.engines.place", lambda *_: trial)
    done = wh.refresh("reach")
    holds(wh, PAPER)
    assert {view.engine for view in done.views.values()} == {"in process"}
    reasons = {view.engine_reason for view in done.views.values()}
    assert all(one.startswith("begun in Spark with it may be cheaper there, but") for one in reasons), reasons
    strata = wh.manifest("reach")[-1]["extra"]["strata"]
    assert {one["moved_from"] for one in strata} == {"spark"}


@pytest.mark.parametrize("engine", ["spark", "quack"])
def test_an_engine_can_be_asked_for(wh: Warehouse, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setenv("FORESET_ENGINE", engine)
    with pytest.raises(foreset.ForesetError, match="nowhere" if engine == "spark" else "auto, spark, duckdb"):
        wh.refresh("reach")


def test_facts_are_plain_data(wh: Warehouse) -> None:
    wh.refresh("reach")
    assert json.dumps(wh.manifest("reach"))


def test_a_table_with_much_appended_is_written_anew(
    world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the threshold a refresh appends and compacts in one version, which holds no entry of the past."""
    from foreset.store import signed

    wh.refresh("reach")
    monkeypatch.setattr(signed.Threshold, "passed", lambda *_: True)
    world.insert("gh")
    world.delete("bc")
    wh.refresh("reach")
    holds(wh, "fe ed ea ab dc cg gh")
    pin = wh.manifest("reach")[-1]["views"]["closure"]
    extent = signed.describe(f"{wh.root}/{pin['path']}", pin["version"])
    assert (extent.minus_rows, extent.log_files) == (0, 0)
    assert extent.plus_rows == pin["rows"] == wh.read("reach.closure").num_rows


def test_counters_stop_growing_over_many_nights(world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of many nights are summed in one version; what earlier refreshes pin reads as before."""
    from foreset.store import arrow, counters

    monkeypatch.setattr(counters, "FEW_LOG_FILES", 5)
    world.spec(f"{GROUP}{TWO_STEPS}")
    wh.refresh("reach")
    files, sums, edges = [], {}, set(PAPER.split())
    for night in range(15):
        road = ("gh", "hd", "dk", "kb")[night % 4]
        if road in edges:
            world.delete(road)
        else:
            world.insert(road)
        edges ^= {road}
        assert wh.refresh("reach", "incremental", "off").views["two_steps"].strategy == "counting"
        steps = {(x, y) for x, z in edges for w, y in edges if z == w}
        assert words(wh.read("reach.two_steps")) == {x + y for x, y in steps}
        row = wh.manifest("reach")[-1]
        path, version = f"{wh.root}/{row['state']['two_steps']['path']}", row["state"]["two_steps"]["version"]
        extent = counters.describe(path, version)
        files.append(extent.log_files)
        names = ["src", "dst", "_base", "_recursive"]
        sums[version] = summed(arrow.read_plain(path, version, names).to_pylist())
        assert {row for row, (base, _) in sums[version].items() if base} == steps
    for road in edges:
        world.delete(road)
    assert wh.refresh("reach", "incremental", "off").views["two_steps"].strategy == "counting"
    assert not wh.read("reach.two_steps").num_rows
    monkeypatch.setattr(counters, "FEW_LOG_FILES", 0)
    world.insert("ab", "bc")
    assert wh.refresh("reach", "incremental", "off").views["two_steps"].strategy == "counting"
    assert words(wh.read("reach.two_steps")) == {"ac"}
    assert max(files) == 5
    assert files.count(0) >= 2, "written anew, more than once"
    for version, found in sums.items():
        assert summed(arrow.read_plain(path, version, names).to_pylist()) == found


def summed(entries: list[dict[str, object]]) -> dict[tuple[object, ...], tuple[int, int]]:
    """The counters of each row."""
    found: dict[tuple[object, ...], tuple[int, int]] = {}
    for entry in entries:
        *row, base, recursive = entry.values()
        before = found.get(tuple(row), (0, 0))
        found[tuple(row)] = before[0] + base, before[1] + recursive
    return found


NO_FEED = """\
group: shop
sources:
  sale: {table: raw/sale, columns: {id: int, at: timestamp_ntz}}
views:
  late:
    columns: {id: int}
    rules: ["late(I) :- sale(I, T), hour(T) >= 12"]
"""
ABOVE = """\
group: above
sources:
  late: {view: shop.late, columns: {id: int}}
views:
  even:
    columns: {id: int}
    rules: ["even(I) :- late(I), I % 2 = 0"]
"""


def sold(world: World, ids: range, mode: str = "append") -> None:
    """Sales at noon, in a table without a change feed that needs a reader of version 3."""
    at = [dt.datetime(2026, 1, 1, 12)] * len(ids)
    rows = pa.table({"id": pa.array(ids, pa.int32()), "at": pa.array(at, pa.timestamp("us"))})
    write_deltalake(f"{world.root}/raw/sale", rows, mode=mode)


def ids(table: pa.Table) -> set[int]:
    return set(table["id"].to_pylist())


def test_a_table_without_a_feed_and_a_group_above_it(world: World) -> None:
    """Small changes start no Spark, whatever the source: no change feed, local times, a view of another group."""
    (world.specs / "shop.yaml").write_text(NO_FEED)
    (world.specs / "above.yaml").write_text(ABOVE)
    wh = world.open()
    sold(world, range(4))
    wh.refresh("shop")
    wh.refresh("above")
    sold(world, range(2, 8))
    night, above = wh.refresh("shop"), wh.refresh("above")
    assert (night.views["late"].inserted, night.views["late"].deleted) == (4, 0)
    assert night.sources["sale"]["way"] == "SnapshotDiff"
    assert (above.views["even"].inserted, above.views["even"].deleted) == (2, 0)
    assert above.sources["late"]["way"] == "Feed"
    sold(world, range(6, 9), mode="overwrite")
    wh.refresh("shop")
    wh.refresh("above")
    assert ids(wh.read("shop.late")) == {6, 7, 8}
    assert ids(wh.read("above.even")) == {6, 8}


DENYING = """\
group: shop
sources:
  sale: {table: raw/sale, columns: {id: int, price: int}}
  closed: {table: raw/closed, columns: {id: int}}
views:
  sold:
    columns: {id: int, price: int}
    rules: ["sold(I, P) :- sale(I, P)"]
    expectations:
      - {deny: "sold(I, P), P < 0", severity: warning}
      - {deny: "sold(I, _), closed(I)", on: all, severity: warning}
"""


def test_a_deny_over_few_rows_needs_no_spark(world: World) -> None:
    (world.specs / "shop.yaml").write_text(DENYING)
    wh = world.open()

    def write(table: str, rows: dict[str, list[int]]) -> None:
        arrays = {name: pa.array(values, pa.int32()) for name, values in rows.items()}
        write_deltalake(f"{world.root}/raw/{table}", pa.table(arrays), mode="append")

    def outcomes() -> list[tuple[int, list[list[str]]]]:
        found = wh.refresh("shop").quality["views"]["sold"]
        return [(one["unexpected"], one["examples"]) for one in found]

    write("sale", {"id": [1, 2, 2], "price": [10, 20, 20]})
    write("closed", {"id": [7]})
    assert outcomes() == [(0, []), (0, [])]
    write("sale", {"id": [7, 3], "price": [-1, 5]})
    assert outcomes() == [(1, [["7", "-1"]]), (1, [["7"]])]
    write("sale", {"id": list(range(100, 130)), "price": [-5] * 30})
    (negative, _), shut = outcomes()
    assert (negative, shut) == (30, (1, [["7"]])), "on changes: what is new; on all: all"
    write("closed", {"id": [3]})
    assert outcomes() == [(0, []), (2, [["3"], ["7"]])]


def test_everything_is_verified_without_spark_where_it_is_few_rows(
    world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = wh.refresh("reach", verify="full")
    assert first.verification["verdict"] == "passed"
    world.insert("gh")
    world.delete("ed")
    night = wh.refresh("reach", verify="full")
    assert night.verification["verdict"] == "passed"
    checked = night.verification["checked"]
    assert {name: found["all"] for name, found in checked.items()} == {
        name: wh.read(f"reach.{name}").num_rows for name in ("closure", "dead_end", "two_steps")
    }
    whole = relations.stage
    lost: list[str] = []

    def losing(rows: Iterable[pa.Table], columns: tuple[Column, ...], path: str) -> StagedFile:
        lost.append(Path(path).parent.name)
        return whole((one.slice(1) for one in rows) if path.endswith("closure/plus") else rows, columns, path)

    monkeypatch.setattr(relations, "stage", losing)
    world.insert("hx")
    with pytest.raises(VerificationFailed, match="closure"):
        wh.refresh("reach", verify="full")
    assert "closure" in lost


OF_EVERY_KIND = """\
group: shop
sources:
  sale: {table: raw/sale, columns: {id: int, price: int}}
views:
  total:
    columns: {price: int, many: bigint, sum: bigint}
    rules: ["total(P, N, S) :- N = count{I | sale(I, P)}, S = sum{I | sale(I, P)}"]
  step:
    strategy: stdel-acyclic
    columns: {a: int, b: int}
    rules: ["step(A, B) :- sale(A, B)", "step(A, C) :- sale(A, B), step(B, C)"]
  dear:
    columns: {price: int}
    evaluate: at_refresh
    rules: ["dear(P) :- P >= 20, P <= 1000"]
  few:
    columns: {price: int}
    rules: ["few(P) :- total(P, N, _), N < 3, dear(P), not step(P, _)"]
"""


def test_views_of_every_kind_are_verified_in_full(world: World) -> None:
    (world.specs / "shop.yaml").write_text(OF_EVERY_KIND)
    wh = world.open()
    path = f"{world.root}/raw/sale"

    def write(*rows: tuple[int, int | None]) -> None:
        ids, prices = zip(*rows, strict=True)
        table = pa.table({"id": pa.array(ids, pa.int32()), "price": pa.array(prices, pa.int32())})
        write_deltalake(path, table, mode="append")

    write((1, 20), (2, 20), (20, 30), (3, None), (3, None))
    assert wh.refresh("shop", verify="full").verification["verdict"] == "passed"
    write((30, 40), (4, 20), (5, None))
    night = wh.refresh("shop", verify="full", mode="incremental").verification
    assert night["verdict"] == "passed"
    shown = {name: rows["all"] for name, rows in night["checked"].items() if "~" not in name}
    assert shown == {name: wh.read(f"shop.{name}").num_rows for name in ("total", "step", "few")}
