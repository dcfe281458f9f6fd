"""The manifest and its epochs on a real disk, with real processes racing for one seq."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from foreset.errors import Fenced, UsageError
from foreset.ir.edits import Edit
from foreset.records.checks import ExpectationOutcome, QualityRecord, Verification
from foreset.records.commits import Details
from foreset.store import delta, epochs, files, leases, manifest
from foreset.store.layout import Layout
from foreset.store.manifest import AlreadyCommitted, Committed, ManifestRow, SourcePin, StatePin, ViewPin


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(str(tmp_path / "warehouse"), "reach")


def opened(layout: Layout, refresh: str, attempt: str = "a1", **options) -> epochs.Run:
    run = epochs.open_run(layout, refresh, lambda _: {}, attempt_id=attempt, **options)
    assert isinstance(run, epochs.Run)
    return run


def row_of(run: epochs.Run, **more) -> ManifestRow:
    return ManifestRow(run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq, **more)


def test_a_row_comes_back_as_it_was(layout: Layout) -> None:
    run = opened(layout, "r1")
    row = row_of(
        run,
        fingerprints={"closure": "f1"},
        sources={"edge": SourcePin("sales/edge", "id", None, 4)},
        views={"closure": ViewPin("reach/closure", "id", 3, {"src": "string", "dst": "decimal(10,2)"}, rows=5)},
        state={"closure": StatePin("reach/_state/closure", "id", 2)},
        verification=Verification("200", "passed", 200, mismatches=("wütend",)),
        quality=QualityRecord("warned", views={"closure": (ExpectationOutcome("x", examples=(("wütend", None),)),)}),
        extra=Details(note="wütend", edits=(Edit(1, "closure", "delete", "src = 1"),), rolled_back_to=1),
        committed_at="2026-11-18T00:00:00+00:00",
    )
    assert manifest.commit(layout, row) == Committed(1)
    assert manifest.newest(layout.root, layout.group) == row
    assert list(row.views["closure"].columns) == ["src", "dst"]


def seqs(layout: Layout, **wanted: int) -> list[int]:
    return [row.seq for row in manifest.history(layout.root, layout.group, **wanted)]


def test_a_row_is_read_from_its_file_once_and_a_later_one_is_seen(layout: Layout, monkeypatch) -> None:
    real, read = parquet.ParquetFile, []
    monkeypatch.setattr(parquet, "ParquetFile", lambda file: read.append(file) or real(file))
    for seq in (1, 2):
        assert manifest.commit(layout, row_of(opened(layout, f"r{seq}"))) == Committed(seq)
        for _ in range(3):
            newest = manifest.newest(layout.root, layout.group)
            assert newest is not None
            assert (newest.seq, newest.refresh_id) == (seq, f"r{seq}")
            assert seqs(layout) == list(range(1, seq + 1))
        assert len(read) == seq


def test_seqs_follow_each_other_and_the_newest_is_found_behind_a_checkpoint(layout: Layout) -> None:
    for k in range(1, 26):
        assert manifest.commit(layout, row_of(opened(layout, f"r{k}"))) == Committed(k)
    assert seqs(layout) == list(range(1, 26))
    assert seqs(layout, last=3) == [23, 24, 25]
    assert seqs(layout, upto=7, last=2) == [6, 7]
    assert seqs(layout, upto=2) == [1, 2]
    assert seqs(layout, upto=0) == []
    assert any("checkpoint" in f.path for f in files.list_files(layout.manifest))
    newest = manifest.newest(layout.root, layout.group)
    assert newest is not None
    assert newest.seq == 25
    found = manifest.find_refresh(layout.root, layout.group, "r7")
    assert found is not None
    assert found.seq == 7


def test_the_same_refresh_committed_before_answers_its_old_seq(layout: Layout) -> None:
    run = opened(layout, "r1")
    assert manifest.commit(layout, row_of(run)) == Committed(1)
    assert manifest.commit(layout, row_of(run)) == Committed(1)  # the acknowledgement was lost
    assert manifest.commit(layout, replace(row_of(run), attempt_id="a2")) == AlreadyCommitted(1)
    assert epochs.open_run(layout, "r1", lambda _: {}) == AlreadyCommitted(1)
    manifest.commit(layout, row_of(opened(layout, "r2")))
    assert manifest.commit(layout, row_of(run)) == Committed(1)


def test_a_run_that_could_not_be_opened_keeps_nobody_waiting(layout: Layout) -> None:
    """A source that cannot be read, say: another refresh may begin at once, and so may the same one."""

    def unreadable(_: ManifestRow | None) -> epochs.Vector:
        raise ValueError("no such table")

    for refresh in ("r1", "r2", "r1"):
        with pytest.raises(ValueError, match="no such table"):
            epochs.open_run(layout, refresh, unreadable)
    assert opened(layout, "r3").epoch == 4


def test_a_later_epoch_fences_loudly_even_before_it_commits(layout: Layout) -> None:
    zombie = opened(layout, "r1")
    successor = opened(layout, "r2", "b1", force=True)
    with pytest.raises(Fenced, match=r"epoch 2 was opened after epoch 1 by refresh r2, attempt b1"):
        manifest.commit(layout, row_of(zombie))
    with pytest.raises(Fenced):
        epochs.check_fence(zombie)
    assert manifest.commit(layout, row_of(successor)) == Committed(1)


def test_what_builds_on_an_old_seq_is_fenced(layout: Layout) -> None:
    run = opened(layout, "r1")
    manifest.commit(layout, row_of(run))
    with pytest.raises(Fenced, match="seq 1 was committed, but this refresh builds on seq 0"):
        manifest.commit(layout, replace(row_of(run), refresh_id="other"))


def test_a_rival_waits_for_a_living_run_and_takes_over_a_silent_one(layout: Layout) -> None:
    first = opened(layout, "r1")
    with pytest.raises(Fenced, match="refresh r1 .epoch 1. is already running"):
        epochs.open_run(layout, "r2", lambda _: {})
    assert opened(layout, "r2", patience=-1.0).epoch == 2
    with pytest.raises(Fenced):
        epochs.check_fence(first)
    with pytest.raises(Fenced):
        epochs.load_run(layout, "r1")


def test_a_closed_run_is_no_obstacle(layout: Layout) -> None:
    epochs.close_run(opened(layout, "r1"), "failed")
    assert opened(layout, "r2").epoch == 2


def test_a_retry_reads_the_recorded_vector_and_never_the_latest(layout: Layout) -> None:
    asked = []

    def vector(last):
        asked.append(last)
        return {"edge": SourcePin("edge", "id", None, len(asked))}

    first = epochs.open_run(layout, "r1", vector, attempt_id="a1")
    again = epochs.open_run(layout, "r1", vector, attempt_id="a2")
    assert isinstance(first, epochs.Run)
    assert isinstance(again, epochs.Run)
    assert (again.sources, again.run_id, again.epoch) == (first.sources, first.run_id, 2)
    assert len(asked) == 1
    assert epochs.load_run(layout, "r1") == again


def test_a_retry_that_was_overtaken_starts_over_on_the_new_seq(layout: Layout) -> None:
    opened(layout, "r1")
    manifest.commit(layout, row_of(opened(layout, "r2", force=True)))
    again = opened(layout, "r1", "a2")
    assert (again.run_id, again.prev_seq) == ("r1~2", 1)
    assert manifest.commit(layout, row_of(again)) == Committed(2)


def test_an_error_after_the_commit_was_durable_is_no_failure(layout: Layout, monkeypatch) -> None:
    row = row_of(opened(layout, "r1"))
    true_append = delta.append_exactly

    def acknowledgement_lost(*args):
        true_append(*args)
        raise OSError("connection reset")

    monkeypatch.setattr(delta, "append_exactly", acknowledgement_lost)
    assert manifest.commit(layout, row) == Committed(1)
    assert len(manifest.history(layout.root, layout.group)) == 1


def test_a_lease_below_the_floor_is_refused_in_words(layout: Layout) -> None:
    run = opened(layout, "r1")
    manifest.commit(layout, row_of(run))
    held = leases.take(layout, 1)
    assert leases.leased(layout) == {1}
    snapshot = manifest.read(layout)
    assert snapshot is not None
    manifest.raise_number(snapshot, manifest.FLOOR, 2, delta.Mark("floor"))
    with pytest.raises(UsageError, match="no longer kept"):
        leases.take(layout, 1)
    assert leases.leased(layout) == {1}
    held.release()
    assert not leases.leased(layout)


def test_reading_the_manifest_starts_no_spark() -> None:
    modules = "foreset.store.manifest, foreset.store.epochs, foreset.store.snapshots"
    code = f"import {modules}, sys; print('pyspark' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**os.environ, "PYTHONPATH": "plugins"})  # fmt: skip
    assert out.stdout.strip() == "False"


def test_an_id_that_is_no_name_is_refused_before_an_epoch_is_opened(layout: Layout) -> None:
    with pytest.raises(UsageError, match="cannot be the id of a refresh"):
        epochs.open_run(layout, "../r1", lambda _: {})
    assert manifest.read(layout) is None


def test_run_json_is_readable_by_people(layout: Layout) -> None:
    run = opened(layout, "r1")
    data = json.loads(Path(run.directory, "run.json").read_text())
    assert data == {"format": 1, "refresh_id": "r1", "group": "reach", "prev_seq": 0, "sources": {}}


# ---------------------------------------------------------------------------- real processes


@contextlib.contextmanager
def racer(mode: str, root: str, me: str, rounds: int):
    command = [sys.executable, str(Path(__file__).with_name("racers.py")), mode, root, me, str(rounds)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "plugins")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def race(mode: str, root: str, racers: int, rounds: int) -> list[list[object]]:
    """What each racer said in each round: all of them start a round together."""
    Path(root).mkdir(parents=True, exist_ok=True)
    outcomes = []
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(racer(mode, root, str(me), rounds)) for me in range(racers)]
        for k in range(rounds):
            for runner in runners:
                assert runner.stdout.readline().strip() == "ready"
            Path(root, f"go-{k}").touch()
            outcomes.append([json.loads(runner.stdout.readline()) for runner in runners])
    return outcomes


def test_one_of_many_racing_processes_wins_each_seq(layout: Layout) -> None:
    outcomes = race("commit", layout.root, racers=4, rounds=6)
    rows = manifest.history(layout.root, layout.group)
    for k, said in enumerate(outcomes):
        assert sorted(map(str, said)) == [str(k + 1), *["fenced"] * 3]
        assert (rows[k].seq, rows[k].refresh_id) == (k + 1, f"r{k}-{said.index(k + 1)}")
    assert len(rows) == 6


def test_racing_processes_never_share_an_epoch(layout: Layout) -> None:
    outcomes = race("opens", layout.root, racers=3, rounds=4)
    snapshot = manifest.read(layout)
    assert snapshot is not None
    assert snapshot.reading.epoch == 12
    assert all("opened" in said for said in outcomes)  # the last one to open stands


@pytest.mark.parametrize("mode", ["once", "once_remote"])
def test_a_file_is_written_once_whoever_comes(tmp_path: Path, mode: str) -> None:
    for k, said in enumerate(race(mode, str(tmp_path), racers=4, rounds=6)):
        assert sorted(said) == [False, False, False, True]
        stem = str(tmp_path) if mode == "once" else tmp_path.as_uri()
        assert files.read_once(f"{stem}/once-{k}.json") == str(said.index(True))


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged(layout: Layout) -> None:
    Path(layout.root).mkdir()
    Path(layout.root, "go-0").touch()
    acknowledged = {}
    for life in range(8):
        with racer("forever", layout.root, f"life{life}", 1) as process:
            assert process.stdout.readline().strip() == "ready"
            first = process.stdout.readline()
            time.sleep(0.003 * life)
            process.send_signal(signal.SIGKILL)
            said = [first, *process.stdout.read().splitlines(keepends=True)]
        acknowledged |= dict(json.loads(line) for line in said if line.endswith("\n"))
    rows = manifest.history(layout.root, layout.group)
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert acknowledged.items() <= {row.seq: row.refresh_id for row in rows}.items()
    assert len(acknowledged) >= 8
