"""A scheduler at work: nights, loads, kills. One Airflow for all of it, which each test leaves as it found it.

What takes longer (a killed Spark server, the power gone, runs on top of each other) is behind FORESET_LONG=1.
"""

from __future__ import annotations

import datetime
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.airflow.live import Live, patiently, project
from tests.cli_runner import foreset
from tests.docs_blocks import ROOT, blocks_of
from tests.roads import closed

from foreset.orchestrate import runs
from foreset.orchestrate.names import dag_id
from foreset.orchestrate.standalone import group_of
from foreset.records.results import ViewChange
from foreset.session import inspect_server

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]
long = pytest.mark.skipif(not os.environ.get("FORESET_LONG"), reason="with FORESET_LONG=1")

ROADS = """\
group: roads
schedule: {schedule}
sources:
  edge: {{table: sales/edge, columns: {{src: string, dst: string}}}}
views:
  closure:
    columns: {{src: string, dst: string}}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
    expectations:
      - deny: edge(X, X)
"""
HUBS = """\
group: hubs
sources:
  reached: {view: roads.closure, columns: {src: string, dst: string}}
views:
  hub: {columns: {node: string}, rules: ["hub(X) :- reached(X, Y), reached(X, Z), Y < Z"]}
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, str]]:
    """A project whose first night is over, and who reads it has read it; the run of that night."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL", "5")
        patch.setenv("AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", "60")
        patch.setenv("FORESET_RETRY_SECONDS", "1")
        if os.environ.get("FORESET_LONG"):
            patch.setenv("FORESET_ENGINE", "spark")  # however small, so that there is a server to kill
        with project(tmp_path_factory.mktemp("live")) as found:
            found.insert("sales/edge", "ab bc")
            found.spec("roads", ROADS.format(schedule=at(90)))  # a night that comes while Airflow starts, or soon after
            found.spec("hubs", HUBS)
            found.start()
            if found.next_night("roads") > 600:  # it went by before the DAG was there
                found.spec("roads", ROADS.format(schedule=at(75)))
            night = found.another("roads", {}, "scheduled")
            found.wait("roads", night)
            found.wait("hubs", found.another("hubs", {}, "asset_triggered"))
            yield found, night


@pytest.fixture
def live(started: tuple[Live, str]) -> Live:
    """That project at work; it is started again where a test has ended it."""
    found, _ = started
    if found.home.running() is None:
        found.start()
    return found


def test_the_scheduler_starts_a_night_and_its_commit_starts_who_reads_it(
    live: Live, started: tuple[Live, str]
) -> None:
    _, night = started
    assert live.wait("roads", night).status == "committed"
    row = live.manifest("roads")[0]
    assert row["refresh_id"] == night, "the run names the refresh"
    assert live.rows("roads.closure", row["seq"]) == {"ab", "bc", "ac"}
    tasks = live.tasks("roads", night)
    assert set(tasks) == {"session", "open", "capture", "stratum_1", "verify", "quality", "commit", "publish", "close"}
    assert "closure: +3 -0" in live.log("roads", night, "stratum_1")
    (event,) = live.airflow.get("/assets/events", source_run_id=night, limit=10)["asset_events"]
    assert (event["source_task_id"], event["extra"]["seq"], event["extra"]["inserted"]) == ("publish", 1, 3)
    assert live.rows("hubs.hub", live.manifest("hubs")[0]["seq"]) == {"a"}


def test_a_loader_announces_what_it_wrote(live: Live) -> None:
    before, known = live.rows("roads.closure"), live.runs("roads")
    version = live.insert("sales/edge", "cd")
    (block,) = (one for one in blocks_of(ROOT / "docs" / "airflow.md") if "assets/events" in one.text)
    told = {**os.environ, "AIRFLOW": live.airflow.url, "TOKEN": live.airflow.token}
    subprocess.run(["bash", "-e"], input=block.text.replace("42", str(version)), env=told, text=True, check=True)
    outcome = live.wait("roads", live.another("roads", known, "asset_triggered"))
    now = closed(live.roads)
    assert outcome.views == {"closure": ViewChange(len(now - before), 0, len(now))}


def test_a_killed_task_is_retried_and_nothing_is_done_twice(live: Live) -> None:
    live.insert("sales/edge", "de")
    live.delete("sales/edge", "ab")
    before = live.manifest("roads")[-1]["seq"]
    live.kill_in("roads", "stratum_1")
    outcome = live.trigger("roads", note="after the kill")
    assert (outcome.status, outcome.seq) == ("committed", before + 1)
    tasks = live.tasks("roads", outcome.run_id)
    assert tasks["stratum_1"]["try_number"] == 2
    assert live.rows("roads.closure") == closed(live.roads)
    assert not any(way.startswith("a") for way in live.rows("roads.closure"))
    assert live.manifest("roads")[-1]["extra"]["note"] == "after the kill"


def test_a_quiet_night_starts_four_tasks(live: Live) -> None:
    known = announced(live)
    outcome = live.trigger("roads")
    assert (outcome.status, outcome.exit_code) == ("unchanged", 0)
    tasks = live.tasks("roads", outcome.run_id)
    ran = {name: task["duration"] for name, task in tasks.items() if task["try_number"]}
    assert set(ran) == {"session", "open", "capture", "close"}
    assert announced(live) == known, "nothing is announced"
    print(f"no-op run: {outcome.seconds:.1f} s; {ran}")


def test_the_gate_stops_a_bad_load_and_the_next_good_one_passes(live: Live) -> None:
    live.insert("sales/edge", "zz")
    before = live.rows("roads.closure")
    outcome = live.trigger("roads")
    assert outcome.failure is not None
    assert (outcome.state, outcome.exit_code, outcome.failure.phase) == ("failed", 3, "quality")
    assert "z" in outcome.failure.message
    tasks = live.tasks("roads", outcome.run_id)
    assert tasks["quality"]["try_number"] == 1, "what would only fail again is not tried again"
    assert (tasks["commit"]["state"], tasks["close"]["state"]) == ("upstream_failed", "success")
    assert live.rows("roads.closure") == before
    live.delete("sales/edge", "zz")
    live.insert("sales/edge", "ef")
    after = live.trigger("roads")
    assert after.status == "committed", "a run that failed keeps nobody waiting"
    assert "zz" not in live.rows("roads.closure")


def test_foreset_trigger_is_for_loaders(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    home = ["--home", str(live.home.folder)]
    done = foreset("trigger", "roads", "--wait", "--run-id", "load-7", *home)
    assert done.code == 0
    assert "no source has changed" in done.out
    again = foreset("trigger", "roads", "--wait", "--run-id", "load-7", "--json", *home)
    assert again.code == 0
    assert '"run_id": "load-7"' in again.out, "the same name is the same run"
    assert foreset("trigger", "nobody", *home).code == 2
    assert foreset("trigger", "roads", "--verify", "much", *home).code == 2
    live.airflow.patch(f"/dags/{dag_id('hubs')}", {"is_paused": True})
    paused = foreset("trigger", "hubs", *home)
    assert paused.code == 5
    assert "paused" in paused.err
    assert foreset("trigger", "hubs", "--wait", "--unpause", *home).code == 0
    monkeypatch.setenv("FORESET_AIRFLOW_PASSWORD", "wrong")
    assert foreset("trigger", "roads", "--url", live.airflow.url, *home).code == 5


@long
def test_runs_on_top_of_each_other_are_queued(live: Live) -> None:
    live.insert("sales/edge", "fg")
    first, second = (runs.start(live.airflow, "roads", {}) for _ in range(2))
    outcomes = [live.wait("roads", run) for run in (first, second)]
    assert sorted(outcome.status for outcome in outcomes) == ["committed", "unchanged"]


@long
def test_a_killed_spark_server_is_replaced(live: Live) -> None:
    live.insert("sales/edge", "gh")
    server = inspect_server(live.warehouse)
    assert psutil.pid_exists(server.jvm_pid)
    live.kill_in("roads", "stratum_1", server.jvm_pid)
    outcome = live.trigger("roads")
    assert outcome.status == "committed"
    # The task opens its session later, and finds the corpse. Killed in the middle: tests/spark/test_server_killed.py
    assert inspect_server(live.warehouse).jvm_pid != server.jvm_pid
    assert live.tasks("roads", outcome.run_id)["stratum_1"]["try_number"] in (1, 2)
    assert live.rows("roads.closure") == closed(live.roads)


@long
def test_the_power_goes_and_the_run_goes_on(live: Live) -> None:
    live.insert("sales/edge", "hi")
    live.kill_in("roads", "verify", *[process.pid for process in group_of(_leader(live))])
    run = runs.start(live.airflow, "roads", {})
    patiently(lambda: gone(live))
    live.start()
    assert live.wait("roads", run).status == "committed"
    assert live.rows("roads.closure") == closed(live.roads)


@long
def test_a_cleared_run_after_a_failure_goes_on(live: Live) -> None:
    live.insert("sales/edge", "yy")
    failed = live.trigger("roads")
    assert failed.exit_code == 3
    spec = live.specs / "roads.yaml"
    strict = spec.read_text()
    spec.write_text(strict.replace("- deny: edge(X, X)", "- {deny: 'edge(X, X)', severity: warning}"))
    path = f"/dags/{dag_id('roads')}/clearTaskInstances"
    body = {"dry_run": False, "dag_run_id": failed.run_id, "only_failed": True, "reset_dag_runs": True}
    live.airflow.post(path, body)
    again = live.wait("roads", failed.run_id)
    assert again.exit_code == 3, "the plan was frozen when the run was opened: an edited spec changes nothing of it"
    assert live.trigger("roads").status in ("committed", "unchanged"), "a night may have come first"
    assert "yy" in live.rows("roads.closure")
    live.delete("sales/edge", "yy")
    spec.write_text(strict)
    assert live.trigger("roads").status in ("committed", "unchanged")


def at(seconds: float) -> str:
    """A cron schedule of the minute that begins then, or just before."""
    hour = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return f'"{hour.minute} {hour.hour} * * *"'


def announced(live: Live) -> int:
    """How many events the group's own runs have sent."""
    events = live.airflow.get("/assets/events", source_dag_id=dag_id("roads"), limit=100)
    return int(events["total_entries"])


def gone(live: Live) -> None:
    if live.home.running() is not None:
        raise LookupError


def _leader(live: Live) -> int:
    running = live.home.running()
    assert running is not None
    return running.pid


def test_nothing_is_left_running(live: Live, tmp_path: Path) -> None:
    leader, server = _leader(live), inspect_server(live.warehouse)
    assert len(group_of(leader)) > 4
    done = foreset("down", "--home", str(live.home.folder), "--warehouse", live.warehouse)
    assert (done.code, done.out.strip()) == (0, "stopped: Airflow and Spark")
    assert group_of(leader) == []
    assert not psutil.pid_exists(server.jvm_pid)
    assert live.home.running() is None
    assert foreset("down", "--home", str(tmp_path), "--warehouse", live.warehouse).out.strip() == "nothing was running"
