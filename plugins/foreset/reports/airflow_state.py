"""What Airflow knows of a run: its state, and why a task failed before anything was written to the warehouse."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from airflow.models.dagrun import DagRun
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

from foreset.records.codec import Misread, from_plain
from foreset.records.results import TaskFailure
from foreset.reports.model import Failure, Run

KEY = "failure"  # under which a task that failed leaves its reason


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a DAG run; "" when there is no such run."""

    state: str = ""
    failure: Failure | None = None


def of_run(dag_id: str, run_id: str) -> RunState:
    """What Airflow's database says of the run."""
    with create_session() as session:
        state = session.scalar(select(DagRun.state).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        if state is None:
            return RunState()
        told = session.scalars(
            select(XComModel)
            .where(XComModel.dag_id == dag_id, XComModel.run_id == run_id, XComModel.key == KEY)
            .order_by(XComModel.timestamp.desc())
            .limit(1)
        ).first()
        found = XComModel.deserialize_value(told) if told is not None else None
    return RunState(str(getattr(state, "value", state)), _failure(found))


def with_failure(run: Run, failure: Failure) -> Run:
    """The run with a reason that the warehouse does not have."""
    return replace(run, failures=(failure,))


def _failure(found: object) -> Failure | None:
    with suppress(Misread):
        told = from_plain(TaskFailure, found, "why a task failed")
        return Failure(told.phase, told.error, told.message, told.hint, next=told.next or "")
    return None
