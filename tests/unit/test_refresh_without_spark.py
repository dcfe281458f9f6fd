"""Small refreshes from end to end without a Spark session: the one that is named here does not exist."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import foreset
from foreset.errors import UsageError
from foreset.plan import place
from foreset.warehouse import Warehouse

NOWHERE = "nowhere"
SPEC = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  closure:
    columns: {src: string, dst: string}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
  dead_end:
    columns: {node: string}
    rules:
      - dead_end(X) :- edge(_, X), not edge(X, _)
  two_steps:
    columns: {src: string, dst: string, both: string}
    rules:
      - two_steps(X, Y, concat(X, Y)) :- edge(X, Z), edge(Z, Y)
"""
PAPER = "fe ed ea ab dc bc cg"


def edges(text: str) -> pa.Table:
    return pa.table({"src": [word[0] for word in text.split()], "dst": [word[1] for word in text.split()]})


@pytest.fixture
def wh(tmp_path: Path) -> Warehouse:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "reach.yaml").write_text(SPEC)
    write_deltalake(table(tmp_path), edges(PAPER), configuration={"delta.enableChangeDataFeed": "true"})
    return foreset.open(str(tmp_path / "wh"), str(tmp_path / "specs"), NOWHERE)


def table(tmp_path: Path) -> str:
    return str(tmp_path / "wh" / "sales" / "edge")


def words(rows: pa.Table) -> set[str]:
    return {"".join(row.values()) for row in rows.to_pylist()}


def closed(pairs: Iterable[str]) -> set[str]:
    found = set(pairs)
    while more := {a[0] + b[1] for a in found for b in found if a[1] == b[0]} - found:
        found |= more
    return found


def holds(wh: Warehouse, pairs: str) -> None:
    """Every view is what the edges say."""
    now = set(pairs.split())
    assert words(wh.read("reach.closure")) == closed(now)
    assert words(wh.read("reach.dead_end")) == {b for _, b in now} - {a for a, _ in now}
    assert words(wh.read("reach.two_steps")) == {x + y + x + y for x, z in now for w, y in now if z == w}


def test_a_load_and_nights(wh: Warehouse, tmp_path: Path) -> None:
    first = wh.refresh("reach")
    assert {view.engine for view in first.views.values()} == {"in process"}
    assert first.views["closure"].strategy == "recompute"
    assert first.verification["verdict"] == "passed"
    holds(wh, PAPER)

    write_deltalake(table(tmp_path), edges("gh"), mode="append")
    night = wh.refresh("reach")
    assert {view.engine for view in night.views.values()} == {"in process"}
    assert night.views["closure"].inserted == len(closed(f"{PAPER} gh".split()) - closed(PAPER.split()))
    assert night.views["two_steps"].strategy == "counting"
    holds(wh, f"{PAPER} gh")

    DeltaTable(table(tmp_path)).delete("src = 'e' and dst = 'd'")
    third = wh.refresh("reach")
    assert third.views["closure"].deleted > 0
    plus, minus = wh.changes("reach.closure")
    assert not plus.num_rows
    assert minus.num_rows == third.views["closure"].deleted
    holds(wh, "fe ea ab dc bc cg gh")

    quiet = wh.refresh("reach")
    assert (quiet.status, quiet.seq) == ("unchanged", 3)

    write_deltalake(table(tmp_path), edges("ed"), mode="append")
    wh.refresh("reach")
    holds(wh, f"{PAPER} gh")
    records = wh.manifest("reach")[-1]["extra"]["strata"]
    assert {record["engine"] for record in records} == {"in process"}
    assert all(record["engine_reason"] for record in records)


def test_what_is_too_large_asks_for_spark(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound decides before anything is done; then the session that does not exist is missed."""
    monkeypatch.setattr(place, "FEW_ROWS", 3)
    with pytest.raises(UsageError, match="nowhere"):
        wh.refresh("reach")
    monkeypatch.setattr(place, "FEW_ROWS", 100)
    wh.refresh("reach")
    holds(wh, PAPER)


def test_what_grows_too_large_moves_to_spark(wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun in process, given up on the way, nothing staged; the events say so."""
    from foreset.inproc import budget

    monkeypatch.setattr(budget.Budget.__init__, "__defaults__", (10, 500_000, 10_000, 0, 0, 0))
    seen: list[dict[str, object]] = []
    with pytest.raises(UsageError, match="nowhere"):
        wh.refresh("reach", listen=seen.append)
    told = [(event["engine"], event["reason"]) for event in seen if event["event"] == "engine"]
    assert ("in process", "7 rows to build from") in told
    assert ("spark", "begun in process with 7 rows to build from, but it touches more than 10 rows") in told
    assert not list(Path(wh.root).glob("_foreset/reach/runs/*/strata/**/*.parquet"))


@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_an_engine_can_be_asked_for(wh: Warehouse, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setenv("FORESET_ENGINE", engine)
    with pytest.raises(foreset.ForesetError, match="nowhere" if engine == "spark" else "auto, spark, inproc"):
        wh.refresh("reach")


def test_facts_are_plain_data(wh: Warehouse) -> None:
    wh.refresh("reach")
    assert json.dumps(wh.manifest("reach"))


def test_a_table_with_much_appended_is_written_anew(
    wh: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the threshold a refresh appends and compacts in one version, which holds no entry of the past."""
    from foreset.store import signed

    wh.refresh("reach")
    monkeypatch.setattr(signed.Threshold, "passed", lambda *_: True)
    write_deltalake(table(tmp_path), edges("gh"), mode="append")
    DeltaTable(table(tmp_path)).delete("src = 'b' and dst = 'c'")
    wh.refresh("reach")
    holds(wh, "fe ed ea ab dc cg gh")
    pin = wh.manifest("reach")[-1]["views"]["closure"]
    extent = signed.describe(f"{wh.root}/{pin['path']}", pin["version"])
    assert (extent.minus_rows, extent.log_files) == (0, 0)
    assert extent.plus_rows == pin["rows"] == wh.read("reach.closure").num_rows
