"""A real Airflow as `foreset up` starts it, for tests: a project of its own, and ways to kill what it runs."""

from __future__ import annotations

import datetime
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tests.airflow.api_server import free_port
from tests.roads import FEED, words

import foreset
from foreset.cli.up import end, wait_for_dags, warm_spark
from foreset.orchestrate import runs
from foreset.orchestrate.home import Home
from foreset.orchestrate.names import dag_id
from foreset.orchestrate.rest import Airflow, segment
from foreset.orchestrate.standalone import Project, start, wait_until_healthy

PATIENCE_S = 420
T = TypeVar("T")

# The project's own DAG file, and a way to die: a task whose mark exists kills what the mark says, once.
DAGS = """\
# Airflow reads a file for DAGs only if both words are in it.
import os, pathlib, signal
from foreset.orchestrate import operators
from foreset.orchestrate.dags import load_dags
from foreset.orchestrate.places import places_beside
from foreset.records.events import Finished, PhaseBegun, StratumBegun

MARKS = pathlib.Path(__file__).resolve().parents[1] / "marks"
told = operators.StageOperator._listen

def deadly(self, event):
    told(self, event)
    mark = MARKS / f"{self.dag_id}.{self.task_id}"
    if isinstance(event, PhaseBegun | Finished | StratumBegun) and mark.exists():
        victims = [int(pid) for pid in mark.read_text().split()]
        mark.unlink()
        for pid in victims or [os.getpid()]:
            os.kill(pid, signal.SIGKILL)

operators.StageOperator._listen = deadly
for dag in load_dags(places_beside(__file__)):
    globals()[dag.dag_id] = dag
"""


@dataclass
class Live:
    """The project and its Airflow."""

    folder: Path
    airflow: Airflow = field(default_factory=lambda: Airflow(""))
    warming: subprocess.Popen[bytes] | None = None
    port: int = field(default_factory=free_port)

    @property
    def home(self) -> Home:
        return Home(self.folder / "airflow")

    @property
    def warehouse(self) -> str:
        return str(self.folder / "warehouse")

    @property
    def specs(self) -> Path:
        return self.folder / "view_specs"

    def start(self) -> None:
        """Start Airflow and Spark, and wait for both."""
        self.warming = warm_spark(self.warehouse)
        running = start(Project(self.folder, self.specs, self.warehouse, self.port), self.home)
        self.airflow = wait_until_healthy(running, self.home, limit_s=PATIENCE_S)
        wait_for_dags(self.airflow, self.specs, PATIENCE_S)
        self.warming.wait()

    def spec(self, name: str, text: str) -> None:
        self.specs.mkdir(exist_ok=True)
        (self.specs / f"{name}.yaml").write_text(text)

    def insert(self, table: str, words: str) -> int:
        """Add edges, such as "ab bc"; the table's new version."""
        rows = pa.table({"src": [word[0] for word in words.split()], "dst": [word[1] for word in words.split()]})
        path = f"{self.warehouse}/{table}"
        write_deltalake(path, rows, mode="append", configuration=FEED)
        return DeltaTable(path).version()

    def delete(self, table: str, word: str) -> None:
        DeltaTable(f"{self.warehouse}/{table}").delete(f"src = '{word[0]}' and dst = '{word[1]}'")

    def rows(self, view: str, at: int | None = None) -> set[str]:
        """The rows of a view as words: those of now, or of a refresh."""
        return words(foreset.open(self.warehouse, str(self.specs)).read(view, at))

    @property
    def roads(self) -> set[str]:
        """What is in the table of roads by now."""
        return words(DeltaTable(f"{self.warehouse}/sales/edge").to_pyarrow_table())

    def manifest(self, group: str) -> list[dict[str, Any]]:
        return foreset.open(self.warehouse, str(self.specs)).manifest(group)

    def runs(self, group: str) -> dict[str, dict[str, Any]]:
        """The runs of a group by id."""
        found = self.airflow.get(f"/dags/{dag_id(group)}/dagRuns", limit=100)["dag_runs"]
        return {run["dag_run_id"]: run for run in found}

    def next_night(self, group: str) -> float:
        """Seconds until the scheduler's next run; 0 when it has begun one."""
        if any(run.startswith("scheduled") for run in self.runs(group)):
            return 0.0
        due = datetime.datetime.fromisoformat(self.airflow.get(f"/dags/{dag_id(group)}")["next_dagrun_run_after"])
        return (due - datetime.datetime.now(datetime.UTC)).total_seconds()

    def another(self, group: str, known: dict[str, Any], kind: str) -> str:
        """A run of that kind which was not there before."""

        def found() -> str:
            return next(run for run in self.runs(group) if run not in known and run.startswith(kind))

        return patiently(found)

    def trigger(self, group: str, **conf: Any) -> runs.Outcome:
        """A run by hand, to its end."""
        return self.wait(group, runs.start(self.airflow, group, conf))

    def wait(self, group: str, run_id: str) -> runs.Outcome:
        return runs.wait(self.airflow, group, run_id, limit_s=PATIENCE_S)

    def tasks(self, group: str, run_id: str) -> dict[str, dict[str, Any]]:
        """The tasks of a run by id."""
        path = f"/dags/{dag_id(group)}/dagRuns/{segment(run_id)}/taskInstances"
        return {task["task_id"]: task for task in self.airflow.get(path, limit=100)["task_instances"]}

    def log(self, group: str, run_id: str, task: str, attempt: int = 1) -> str:
        """The lines of a task's log."""
        folder = self.home.folder / "logs" / f"dag_id={dag_id(group)}" / f"run_id={run_id}" / f"task_id={task}"
        lines = (folder / f"attempt={attempt}.log").read_text().splitlines()
        return "\n".join(str(json.loads(line).get("event", "")) for line in lines if line.startswith("{"))

    def kill_in(self, group: str, task: str, *pids: int) -> None:
        """The next time that this task gets to work, it kills itself, or the processes named."""
        marks = self.folder / "marks"
        marks.mkdir(exist_ok=True)
        (marks / f"{dag_id(group)}.{task}").write_text(" ".join(map(str, pids)))


@contextmanager
def project(folder: Path) -> Iterator[Live]:
    """A project in `folder`; whatever it starts ends with it."""
    (folder / "dags").mkdir(parents=True)
    (folder / "dags" / "foreset_dags.py").write_text(DAGS)
    live = Live(folder)
    try:
        yield live
    finally:
        if live.warming is not None:
            live.warming.kill()
        end(live.home.folder, live.warehouse)


def patiently(find: Callable[[], T]) -> T:
    """What `find` gives as soon as it finds something."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return find()
        except (StopIteration, LookupError):
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.5)
