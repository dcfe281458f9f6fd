"""One run of a group's DAG from outside: start it, follow it, say how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from foreset.errors import EnvironmentFault, UsageError
from foreset.orchestrate.names import dag_id
from foreset.orchestrate.rest import STUMBLED, Airflow, Refused, segment
from foreset.records.codec import EMPTY, Misread, from_plain
from foreset.records.results import Ended, Published, TaskFailure, ViewChange

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ENDED = ("success", "failed")
POLL_S = 1.0
CONFLICT = 409
SILENCE_S = 120.0  # how long an Airflow may not answer while a run is waited for
Tell = Callable[[str], None]
R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `exit_code` is what `foreset refresh` would have ended with."""

    group: str
    run_id: str
    state: str  # Airflow's: success | failed, or queued | running when nobody waited
    status: str = ""  # ours: committed | unchanged | dry-run | failed
    seq: int | None = None
    seconds: float = 0.0
    views: Mapping[str, ViewChange] = field(default_factory=dict)
    failure: TaskFailure | None = field(default=None, metadata=EMPTY)

    @property
    def exit_code(self) -> int:
        """0 for a run that went well, else that of the failure."""
        return (self.failure.exit if self.failure else 1) if self.state == "failed" else 0


def start(airflow: Airflow, group: str, conf: Mapping[str, Any], *, run_id: str = "", note: str = "") -> str:
    """Start a run, or find it again under the id that it was given before; its id."""
    body: dict[str, Any] = {"logical_date": None, "conf": dict(conf), "note": note or None}
    if run_id:
        body["dag_run_id"] = run_id
    try:
        # a run with an id is one run, however often it is posted
        return str(airflow.post(f"/dags/{dag_id(group)}/dagRuns", body, again=bool(run_id))["dag_run_id"])
    except Refused as refused:
        if refused.status == CONFLICT and run_id:
            return run_id
        if refused.status == 404:
            hint = "see `foreset check`, and the import errors on Airflow's first page; a new spec takes half a minute"
            raise UsageError(f"Airflow has no DAG {dag_id(group)}", hint) from refused
        if refused.status in (400, 422):
            raise UsageError(refused.message) from refused
        raise


def is_paused(airflow: Airflow, group: str) -> bool:
    """A paused DAG takes a run and leaves it queued for ever."""
    try:
        return bool(airflow.get(f"/dags/{dag_id(group)}")["is_paused"])
    except Refused as refused:
        if refused.status != 404:
            raise
        return False  # `start` says what is wrong


def unpause(airflow: Airflow, group: str) -> None:
    """Let the DAG run."""
    airflow.patch(f"/dags/{dag_id(group)}", {"is_paused": False})


def wait(airflow: Airflow, group: str, run_id: str, tell: Tell = lambda _: None, limit_s: float = 0.0) -> Outcome:
    """Follow a run to its end; `tell` hears of each task that has ended."""
    deadline = time.monotonic() + limit_s if limit_s else float("inf")
    told: set[str] = set()
    silent_since = None
    while True:
        try:
            run = airflow.get(_path(group, run_id))
            for line in _news(airflow, group, run_id, told):
                tell(line)
            if run["state"] in ENDED:
                return outcome(airflow, group, run_id, run)
            silent_since = None
        except EnvironmentFault as fault:  # a busy or restarting Airflow is no reason to give the run up
            if isinstance(fault, Refused) and fault.status < STUMBLED:
                raise
            silent_since = silent_since or time.monotonic()
            if time.monotonic() - silent_since > SILENCE_S:
                raise
        if time.monotonic() > deadline:
            hint = "the run continues; to wait for it, repeat the command with the same --run-id"
            raise EnvironmentFault(f"run {run_id} has not ended after {limit_s:.0f} s", hint)
        time.sleep(POLL_S)


def outcome(airflow: Airflow, group: str, run_id: str, run: Mapping[str, Any]) -> Outcome:
    """What a run that has ended did."""
    seconds = float(run.get("duration") or 0.0)
    if run["state"] == "failed":
        return Outcome(group, run_id, "failed", "failed", None, seconds, failure=_failure(airflow, group, run_id))
    ended = _xcom(airflow, group, run_id, "close", Ended) or Ended()
    published = _xcom(airflow, group, run_id, "publish", Published) or Published()
    return Outcome(group, run_id, run["state"], ended.status, ended.seq, seconds, published.views)


def _news(airflow: Airflow, group: str, run_id: str, told: set[str]) -> list[str]:
    news = []
    for task in _tasks(airflow, group, run_id):
        state, name = task["state"], task["task_id"]
        if state in ("success", "failed", "up_for_retry") and f"{name} {state}" not in told:
            told.add(f"{name} {state}")
            seconds = f" ({task['duration']:.1f} s)" if task.get("duration") else ""
            news.append(f"{name}: {state.replace('_', ' ')}{seconds}")
    return news


def _failure(airflow: Airflow, group: str, run_id: str) -> TaskFailure:
    """Why the first failed task failed, in its own words where it had any."""
    failed = [task for task in _tasks(airflow, group, run_id) if task["state"] == "failed"]
    for task in failed:
        told = _xcom(airflow, group, run_id, task["task_id"], TaskFailure, "failure")
        if told:
            return told
    name = failed[0]["task_id"] if failed else "the run"
    return TaskFailure(name, message=f"{name} failed", hint="its log in Airflow says why")


def _tasks(airflow: Airflow, group: str, run_id: str) -> list[Mapping[str, Any]]:
    found = airflow.get(f"{_path(group, run_id)}/taskInstances", limit=1000)["task_instances"]
    return sorted(found, key=lambda task: task.get("end_date") or "~")


def _xcom(
    airflow: Airflow, group: str, run_id: str, task: str, kind: type[R], key: str = "return_value"
) -> R | None:
    """What a task answered; None where it did not get so far (404), or where it said something else."""
    with suppress(Refused, Misread):
        value = airflow.get(f"{_path(group, run_id)}/taskInstances/{segment(task)}/xcomEntries/{key}")["value"]
        return from_plain(kind, value, f"the answer of {task}")
    return None


def _path(group: str, run_id: str) -> str:
    return f"/dags/{dag_id(group)}/dagRuns/{segment(run_id)}"
