"""Whole refreshes on real Delta tables: what a user calls, and what readers then see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import (
    AFTER_THE_NIGHT,
    GROUP,
    PAPER,
    REACH,
    TWO_STEPS,
    World,
    closed,
    edges,
    refuse_a_planted_row,
    words,
)

import foreset
from foreset.store import counters

pytestmark = pytest.mark.spark


def test_a_night_a_load_and_a_quiet_night(world: World) -> None:
    wh = world.open()
    first = wh.refresh("reach")
    assert (first.seq, first.status) == (1, "committed")
    assert words(wh.read("reach.closure")) == closed(PAPER)
    assert words(wh.read("reach.dead_end")) == {"g"}

    world.night()
    second = wh.refresh("reach", mode="incremental")
    assert second.seq == 2
    plus, minus = wh.changes("reach.closure")
    assert words(plus) == {"hd", "hc", "hg"}
    assert words(minus) == {"ac", "ag", "bc", "bg"}
    assert words(wh.read("reach.closure")) == closed(AFTER_THE_NIGHT)
    assert words(wh.read("reach.dead_end")) == {"b", "g"}
    assert {name: view.strategy for name, view in second.views.items()} == {
        "closure": "spread", "dead_end": "counting", "two_steps": "counting"
    }  # fmt: skip
    assert second.verification["verdict"] == "passed"
    assert second.verification["rows"] > 20

    quiet = wh.refresh("reach")
    assert (quiet.seq, quiet.status) == (2, "unchanged")
    assert words(wh.read("reach.closure", at=1)) == closed(PAPER)
    rows = wh.manifest("reach")
    assert [row["seq"] for row in rows] == [1, 2]
    assert rows[1]["sources"]["edge"]["from_version"] == rows[0]["sources"]["edge"]["to_version"]
    exported = DeltaTable(f"{world.root}/reach/_export/closure").to_pyarrow_table()
    assert words(exported) == words(wh.read("reach.closure"))


@pytest.mark.anywhere
def test_the_same_refresh_twice_is_one(world: World) -> None:
    wh = world.open()
    assert wh.refresh("reach", refresh_id="night-1").seq == 1
    world.insert("xy")
    assert wh.refresh("reach", refresh_id="night-1").seq == 1
    assert "xy" not in words(wh.read("reach.closure"))
    assert wh.refresh("reach", refresh_id="night-2").seq == 2


def test_counters_are_written_anew_by_spark(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one version with the night's own change; the nights after go on from it."""
    monkeypatch.setattr("foreset.store.counters.FEW_LOG_FILES", 2)
    monkeypatch.setattr("foreset.refresh.committing.COPIES", 1 << 60)
    wh = world.open()
    wh.refresh("reach")
    roads, files = set(PAPER.split()), []
    for road in ("gh", "hd", "bc", "dk"):
        world.delete(road) if road in roads else world.insert(road)
        roads ^= {road}
        assert wh.refresh("reach", mode="incremental").views["two_steps"].strategy == "counting"
        assert words(wh.read("reach.two_steps")) == {x + y for x, z in roads for w, y in roads if z == w}
        pin = wh.manifest("reach")[-1]["state"]["two_steps"]
        files.append(counters.describe(f"{world.root}/{pin['path']}", pin["version"]).log_files)
    assert 0 in files
    assert max(files) <= 2


def test_everything_goes(world: World) -> None:
    """A table that is empty now was not empty before: with its last rows went pairs of them."""
    world.spec(f"{GROUP}{TWO_STEPS}")
    wh = world.open()
    wh.refresh("reach")
    write_deltalake(world.table, edges().slice(0, 0), mode="overwrite")
    result = wh.refresh("reach", "incremental", verify="off")
    assert result.views["two_steps"].strategy == "counting"
    assert wh.read("reach.two_steps").num_rows == 0


def test_a_changed_an_added_and_a_removed_view(world: World) -> None:
    """Only what depends on a change is rebuilt, and the differential is to what readers had."""
    wh = world.open()
    wh.refresh("reach")
    text = REACH.replace("two_steps(X, Y) :- edge(X, Z), edge(Z, Y)", "two_steps(Y, X) :- edge(X, Z), edge(Z, Y)")
    start = text.index("  dead_end:")
    text = text[:start] + text[text.index("  two_steps:") :]
    text += "  loop:\n    columns: {node: string}\n    rules:\n      - loop(X) :- closure(X, X)\n"
    world.spec(text)
    done = wh.refresh("reach")
    assert done.status == "committed"
    assert done.views["closure"].strategy == "skip"
    assert done.views["two_steps"].strategy == done.views["loop"].strategy == "recompute"
    plus, minus = wh.changes("reach.two_steps")
    assert words(minus) == {"fd", "fa", "ec", "eb", "ac", "dg", "bg"}
    assert words(plus) == {word[::-1] for word in words(minus)}
    assert set(wh.manifest("reach")[-1]["views"]) == {"closure", "two_steps", "loop"}


@pytest.mark.anywhere
def test_comments_and_order_rebuild_nothing(world: World) -> None:
    wh = world.open()
    wh.refresh("reach")
    world.spec(REACH.replace("edge(X, Z), closure(Z, Y)", "closure(Mid, End), edge(X, Mid)  % reordered").replace(
        "closure(X, Y) :- closure", "closure(X, End) :- closure"))  # fmt: skip
    assert wh.refresh("reach").status == "unchanged"


@pytest.mark.anywhere
def test_a_dry_run_publishes_nothing(world: World) -> None:
    wh = world.open()
    wh.refresh("reach")
    world.insert("ga")
    assert wh.refresh("reach", dry_run=True).status == "dry-run"
    assert len(wh.manifest("reach")) == 1
    done = wh.refresh("reach")
    assert done.seq == 2
    assert "gb" in words(wh.read("reach.closure"))


def test_a_planted_error_is_caught_and_nothing_is_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that no rule derives, slipped into what the stratum stages."""
    wh = refuse_a_planted_row(world, monkeypatch)
    assert len(wh.manifest("reach")) == 1
    assert words(wh.read("reach.closure")) == closed(PAPER)


def test_full_verification(world: World) -> None:
    wh = world.open()
    wh.refresh("reach", verify="full")
    world.delete("ed")
    done = wh.refresh("reach", mode="incremental", verify="full")
    assert done.verification["mode"] == "full"
    assert done.verification["verdict"] == "passed"


BROKEN = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  share:
    columns: {src: string, part: double}
    rules:
      - share(X, P) :- edge(X, Y), L = length(X), P = 1 / (L - length(Y))
"""
ENDLESS = """\
group: reach
max_rounds: 12
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  far:
    columns: {node: string, steps: int}
    rules:
      - far(X, 0) :- edge(X, _)
      - far(Y, M) :- far(X, N), edge(X, Y), M = N + 1
"""


def test_bad_input_stops_with_a_reason_and_the_last_state_stays(world: World) -> None:
    wh = world.open()
    wh.refresh("reach")
    before = words(wh.read("reach.closure"))
    world.spec(BROKEN)
    with pytest.raises(foreset.EvaluationError, match=r"rule share#1 of view share"):
        wh.refresh("reach")
    world.spec(ENDLESS.replace("sales/edge", "sales/loop"))
    write_deltalake(f"{world.root}/sales/loop", edges("ab ba"))
    with pytest.raises(foreset.EvaluationError, match=r"far has not ended after 12 rounds"):
        wh.refresh("reach")
    world.spec(REACH.replace("sales/edge", "sales/nowhere"))
    with pytest.raises(foreset.SourceError, match=r"sales/nowhere"):
        wh.refresh("reach")
    world.spec(REACH.replace("src: string, dst: string}}", "src: string, dst: date}}", 1))
    with pytest.raises(foreset.ForesetError, match=r"dst"):
        wh.refresh("reach")
    assert words(wh.read("reach.closure")) == before
    assert len(wh.manifest("reach")) == 1


@pytest.mark.anywhere
def test_rollback_and_on(world: World) -> None:
    from foreset.store.rollback import roll_back

    wh = world.open()
    wh.refresh("reach")
    world.insert("ga")
    wh.refresh("reach")
    assert roll_back(wh.layout("reach"), 1, "back").seq == 3
    assert words(wh.read("reach.closure")) == closed(PAPER)
    assert wh.refresh("reach").seq == 4
    assert words(wh.read("reach.closure")) == closed(f"{PAPER} ga")


@pytest.mark.anywhere
def test_events_and_report_lie_in_the_run_directory(world: World) -> None:
    seen: list[str] = []
    world.open().refresh("reach", refresh_id="night", listen=lambda event: seen.append(event["event"]))
    lines = Path(f"{world.root}/_foreset/reach/runs/night/events.jsonl").read_text().splitlines()
    told = [json.loads(line)["kind"] for line in lines]
    assert told[0] == "opened"
    assert told.count("closed") == 1
    assert [kind for kind in told if kind not in ("opened", "closed")] == seen, "those two are the run's own"
    assert "stratum" in seen
    assert "round" in seen
