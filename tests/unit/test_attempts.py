"""A refresh that failed is seen, wherever one looks and whoever ran it, until the next one goes well."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, GROUP, World

from foreset.errors import (
    EnvironmentFault,
    Fenced,
    ForesetError,
    SourceError,
    SpecError,
    UsageError,
    VerificationFailed,
)
from foreset.ir.edits import EditRequest
from foreset.plan.frozen import Request
from foreset.plan.stages import CAPTURE, OPEN, VERIFY
from foreset.refresh import runner
from foreset.refresh.record_failure import described, next_command, note_ended, note_failure
from foreset.refresh.tasks import Job, perform
from foreset.reports.headline import group_headline
from foreset.reports.model import State
from foreset.reports.pages import run_page
from foreset.reports.reading import latest_run, read_history, read_run
from foreset.store.attempts import last_failure
from foreset.store.capture import errors
from foreset.store.layout import Layout
from foreset.store.manifest import newest
from foreset.store.rollback import roll_back

NOWHERE = "nowhere"
SPEC = f"{GROUP}{CLOSURE}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", NOWHERE)
    found.spec(SPEC)
    return found


def status(world: World) -> tuple[str, dict[str, Any] | None]:
    where = ("--specs", str(world.specs), "--warehouse", world.root)
    (found,) = cli("status", "reach", "--json", *where).data
    return cli("status", "reach", *where).out, found["last_attempt"]


def lost(world: World) -> None:
    Path(world.table).rename(Path(world.root, "sales", "egde"))


def found_again(world: World) -> None:
    Path(world.root, "sales", "egde").rename(world.table)


def job(world: World) -> None:
    perform(Job(OPEN, world.root, "reach", Request("r2"), spec=str(world.specs / "reach.yaml"), spark=NOWHERE))


BY = {"python": lambda world: world.open().refresh("reach", refresh_id="r2"), "job": job}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("by", BY)
def test_a_refresh_that_could_not_open_is_seen_everywhere(world: World, by: str, first: bool) -> None:
    layout = Layout(world.root, "reach")
    if not first:
        world.open().refresh("reach")
    lost(world)
    with pytest.raises(SourceError):
        BY[by](world)

    text, attempt = status(world)
    assert attempt is not None
    assert (attempt["refresh_id"], attempt["phase"], attempt["error"]) == ("r2", "open", "SourceError")
    assert attempt["next"] == "foreset check reach --against-warehouse"
    assert "the last attempt failed on" in text
    assert "there is no table at" in text
    assert "next: foreset check reach --against-warehouse" in text

    latest = latest_run(layout)
    assert latest is not None
    assert (latest.refresh_id, latest.state, latest.failure.message) == ("r2", State.FAILED, attempt["message"])
    told = group_headline(latest)
    assert told.answer == "No"
    assert "a source cannot be read as the spec says: source `edge`: there is no table at" in told.sentence
    assert "never refreshed" not in told.sentence
    page = run_page(read_run(layout, "r2"))
    assert "What went wrong" in page
    assert "foreset check reach --against-warehouse" in page

    found_again(world)
    world.insert("xy")
    world.open().refresh("reach")
    text, attempt = status(world)
    assert attempt is None
    assert "failed" not in text
    after = latest_run(layout)
    assert after is not None
    assert after.state is State.COMMITTED


def test_a_night_without_changes_ends_a_failure_too(world: World) -> None:
    world.open().refresh("reach")
    lost(world)
    with pytest.raises(SourceError):
        world.open().refresh("reach")
    found_again(world)
    assert world.open().refresh("reach").status == "unchanged"
    assert status(world)[1] is None


def test_a_phase_in_the_middle_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.open().refresh("reach")
    world.insert("xy")

    def differs(_: object) -> None:
        raise VerificationFailed("1 of 200 checked rows differ", "report this")

    monkeypatch.setitem(runner.DOES, VERIFY, differs)
    with pytest.raises(VerificationFailed):
        world.open().refresh("reach", refresh_id="r2")
    text, attempt = status(world)
    assert attempt is not None
    assert (attempt["phase"], attempt["next"]) == ("verify", "foreset refresh reach --mode recompute")
    assert "while recomputing a sample:\n    1 of 200 checked rows differ\n    hint: report this\n" in text
    run = read_run(Layout(world.root, "reach"), "r2")
    assert len(run.failures) == 1, "the folder of the run tells it as well, and it is one failure"
    assert run.failure.next == attempt["next"]


@pytest.mark.parametrize("fault", ["rules: [", "closure(X, Y) :- edgee(X, Y)"])
def test_a_spec_that_is_refused_is_a_failed_attempt_where_somebody_reads_the_group(world: World, fault: str) -> None:
    layout = Layout(world.root, "reach")
    broken = SPEC.replace("closure(X, Y) :- edge(X, Y)", fault)
    world.spec(broken)
    with pytest.raises(SpecError):
        world.open().refresh("reach")
    assert not Path(world.root, "_foreset").exists()
    world.spec(SPEC)
    world.open().refresh("reach")
    world.spec(broken)
    with pytest.raises(SpecError):
        world.open().refresh("reach")
    failed = last_failure(layout, 1)
    assert failed is not None
    assert (failed.error, failed.next) == ("SpecError", "foreset check reach")
    assert "because its spec has an error: " in group_headline(latest_run(layout)).sentence


def test_a_full_disk_at_the_start_of_a_job_is_told_in_plain_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("foreset.refresh.tasks.open_refresh", full)
    with pytest.raises(EnvironmentFault, match="the disk is full, during the opening of a refresh of group reach"):
        job(world)


def test_a_task_names_the_source_that_it_could_not_capture(world: World) -> None:
    """As the command line does; and so does what Airflow reports after the last try, which knows the task alone."""
    layout, request = Layout(world.root, "reach"), Request("r2")
    job(world)
    lost(world)
    with pytest.raises(SourceError) as told:
        perform(Job(CAPTURE, world.root, "reach", request, spark=NOWHERE))
    assert last_failure(layout, 0).phase == "capture-edge"
    wrapped = RuntimeError("as Airflow wraps it")
    wrapped.__cause__ = told.value
    note_ended(world.root, "reach", request, "capture", wrapped)
    assert last_failure(layout, 0).phase == "capture-edge"
    assert "finding what changed in source edge" in status(world)[0]


def test_rollbacks_and_later_seqs_make_a_failure_void(world: World) -> None:
    world.open().refresh("reach")
    world.insert("xy")
    world.open().refresh("reach")
    lost(world)
    with pytest.raises(SourceError):
        world.open().refresh("reach")
    roll_back(Layout(world.root, "reach"), 1, "back")
    assert status(world)[1] is None


@pytest.mark.parametrize("asked", [Request("r1", dry_run=True), Request("r1", edit=EditRequest(kind="delete"))])
def test_what_nobody_waits_for_is_no_failed_attempt(world: World, asked: Request) -> None:
    layout = Layout(world.root, "reach")
    world.open().refresh("reach")
    note_failure(layout, asked, "open", UsageError("no such column"))
    note_failure(layout, Request("r1"), "commit", Fenced("another was first"))
    assert last_failure(layout, 1) is None


def test_a_task_that_was_killed_is_told_of_by_its_scheduler(world: World) -> None:
    layout = Layout(world.root, "reach")
    note_ended(world.root, "reach", Request("r1"), "stratum-2", "Task did not emit heartbeat")
    assert last_failure(layout, 0).message == "Task did not emit heartbeat"
    final = RuntimeError("as a scheduler wraps it")
    final.__cause__ = errors.missing_table("edge", "/nowhere")
    note_ended(world.root, "reach", Request("r1"), "open", final)
    assert last_failure(layout, 0).error == "SourceError"
    note_ended(world.root, "reach", Request("r1"), "open", None)
    assert last_failure(layout, 0).message == "the task ended without a message"
    (run,) = read_history(layout).runs
    assert (run.state, len(run.failures)) == (State.FAILED, 1)


def test_a_torn_record_is_none_and_a_missing_disk_hides_no_fault(world: World, tmp_path: Path) -> None:
    layout = Layout(world.root, "reach")
    note_failure(layout, Request("r1"), "open", SourceError("x"))
    record = Path(world.root, "_foreset", "reach", "failed.json")
    assert json.loads(record.read_text())["format"] == 1
    record.write_text(record.read_text()[:40])
    assert last_failure(layout, 0) is None
    (tmp_path / "file").write_text("")
    note_failure(Layout(str(tmp_path / "file"), "reach"), Request("r1"), "open", SourceError("x"))
    assert newest(world.root, "reach") is None


@pytest.mark.parametrize(("error", "command"), [
    (EnvironmentFault("x"), "foreset doctor"), (RuntimeError("x"), "foreset refresh g"),
    (errors.unreadable("a", "b", "c"), "foreset refresh g"), (ForesetError("x"), "foreset refresh g"),
])  # fmt: skip
def test_each_kind_of_failure_has_its_command(error: Exception, command: str) -> None:
    assert next_command(error, "g") == described(error, "g")["next"] == command
