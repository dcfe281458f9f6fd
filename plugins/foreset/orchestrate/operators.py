"""A task: one stage of a refresh, in this process, by the same function as the jobs in spark_jobs/.

Spark is imported when the task runs, never when a DAG is parsed; that is why the function is
found by its name. A failure that would only come again (a bad spec, a missing table, a row that differs, a
broken expectation, a rival) ends the task at once, as `worth_retrying` says; everything else is retried.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, SkipMixin
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from foreset.errors import ForesetError
from foreset.orchestrate.assets import view_asset
from foreset.orchestrate.form import request_of
from foreset.orchestrate.names import refresh_id, task_id
from foreset.orchestrate.telling import progress, sentences
from foreset.plan.stages import CLOSE, EARLY, OPEN, STRATA, Stage, Status, name_of
from foreset.records.codec import to_plain
from foreset.records.events import Event
from foreset.records.results import (
    Ended,
    Published,
    SourcesCaptured,
    StageResult,
    StratumMaintained,
    TaskFailure,
    state_of,
)

if TYPE_CHECKING:

    from airflow.sdk import Context
    from airflow.sdk.definitions._internal.node import DAGNode

TASKS, FAILING = "foreset.refresh.tasks", "foreset.refresh.record_failure"


@dataclass(frozen=True, slots=True)
class Spec:
    """Which group, by which file, in which warehouse."""

    group: str
    file: str
    warehouse: str


def tell_warehouse(context: Context) -> None:
    """What Airflow calls after the last try of a task has failed, in whatever way."""
    task = context["ti"].task
    if isinstance(task, StageOperator):
        task.tell_warehouse(context)


class StageOperator(BaseOperator, SkipMixin):
    """Do one stage; its facts are logged in words and returned as a small dict."""

    inherits_from_skipmixin = True  # Airflow then keeps what `capture` skipped skipped when it is cleared

    def __init__(self, *, stage: Stage, spec: Spec, stratum: int = 0, **kwargs: Any) -> None:  # noqa: ANN401 - Airflow's
        super().__init__(**kwargs)
        self.stage, self.spec, self.stratum = stage, spec, stratum

    def execute(self, context: Context) -> dict[str, Any]:
        """Do the stage, tell what came out, and skip what it makes needless."""
        ti = context["ti"]
        try:
            result = self._perform(context, self.stage)
        except ForesetError as error:
            final = not error.worth_retrying
            told = import_module(FAILING).described(error, self.spec.group)
            failure = TaskFailure(phase=self.task_id, exit=error.exit_code, **told)
            ti.xcom_push(key="failure", value=to_plain(failure))
            if final or ti.try_number > ti.max_tries:
                self._release(context)
            if final:
                raise AirflowFailException(str(error)) from error
            raise
        for line in sentences(self.stage, result):
            self.log.info(line)
        facts = to_plain(result)
        if isinstance(result, StratumMaintained) and result.idle:
            ti.xcom_push(key="return_value", value=facts)
            raise AirflowSkipException(result.reason)
        if isinstance(result, Published):
            self._announce(context, result)
        needless = self._needless(result)
        if needless:
            ti.xcom_push(key="return_value", value=facts)
            self.skip(ti=ti, tasks=needless)
        if isinstance(result, Ended) and result.status == Status.HELD and self.stage == OPEN:
            raise AirflowSkipException(f"{result.reason}; {result.hint}")
        return facts

    def _release(self, context: Context) -> None:
        """Let no refresh wait for this one: `close` does so too, but not again where single tasks were cleared."""
        try:
            self._perform(context, CLOSE)
        except ForesetError as error:
            self.log.warning("the run stays open: %s", error)

    def _perform(self, context: Context, stage: Stage) -> StageResult:
        tasks = import_module(TASKS)
        ti, run_id = context["ti"], str(context["run_id"])
        job = tasks.Job(
            stage=stage,
            warehouse=self.spec.warehouse,
            group=self.spec.group,
            request=request_of(refresh_id(run_id), dict(context["params"])),
            stratum=self.stratum,
            spec=self.spec.file,
            again=ti.try_number > 1,
        )
        found: StageResult = tasks.perform(job, self._listen)
        return found

    def tell_warehouse(self, context: Context) -> None:
        """Keep that this task has failed, where status and reports look; the stage itself may have had no time to."""
        at = name_of(self.stage, self.stratum)
        request = request_of(refresh_id(str(context["run_id"])), dict(context.get("params") or {}))
        error = context.get("exception")
        import_module(FAILING).note_ended(self.spec.warehouse, self.spec.group, request, at, error)

    def _listen(self, event: Event) -> None:
        line = progress(event)
        if line:
            self.log.info(line)

    def _needless(self, result: StageResult) -> list[DAGNode]:
        """The tasks that need not start, given what this one found."""
        assert self.dag is not None
        after: dict[str, DAGNode] = {
            task.task_id: task for task in self.get_flat_relatives(upstream=False) if not task.is_teardown
        }
        if state_of(result) in EARLY:
            return list(after.values())
        idle = result.idle if isinstance(result, SourcesCaptured) else None
        return [after[task_id(STRATA, number)] for number in idle or ()]

    def _announce(self, context: Context, published: Published) -> None:
        """One event for each view, with the seq and what came and went."""
        for name, change in published.views.items():
            asset = view_asset(self.spec.group, name)
            context["outlet_events"][asset].extra = {"seq": published.seq, **to_plain(change)}
