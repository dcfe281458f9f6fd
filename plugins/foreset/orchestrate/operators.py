"""A task: one phase of a refresh, in this process, by the same function as the jobs in spark_jobs/.

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
from foreset.orchestrate.names import refresh_id
from foreset.orchestrate.telling import progress, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context
    from airflow.sdk.definitions._internal.node import DAGNode

PHASES, FAILING = "foreset.refresh.phases", "foreset.refresh.record_failure"


@dataclass(frozen=True, slots=True)
class Spec:
    """Which group, by which file, in which warehouse."""

    group: str
    file: str
    warehouse: str


def tell_warehouse(context: Context) -> None:
    """What Airflow calls after the last try of a task has failed, in whatever way."""
    task = context["ti"].task
    if isinstance(task, PhaseOperator):
        task.tell_warehouse(context)


class PhaseOperator(BaseOperator, SkipMixin):
    """Run one phase; its facts are logged in words and returned as a small dict."""

    inherits_from_skipmixin = True  # Airflow then keeps what `capture` skipped skipped when it is cleared

    def __init__(self, *, phase: str, spec: Spec, stratum: int = 0, **kwargs: Any) -> None:  # noqa: ANN401 - Airflow's
        super().__init__(**kwargs)
        self.phase, self.spec, self.stratum = phase, spec, stratum

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the phase, tell what came out, and skip what it makes needless."""
        ti = context["ti"]
        try:
            facts = dict(self._perform(context, self.phase))
        except ForesetError as error:
            final = not error.worth_retrying
            told = import_module(FAILING).described(error, self.spec.group)
            ti.xcom_push(key="failure", value={**told, "exit": error.exit_code, "phase": self.task_id})
            if final or ti.try_number > ti.max_tries:
                self._release(context)
            if final:
                raise AirflowFailException(str(error)) from error
            raise
        for line in sentences(self.phase, facts):
            self.log.info(line)
        if facts.get("idle") is True:
            ti.xcom_push(key="return_value", value=facts)
            raise AirflowSkipException(facts.get("note") or facts["reason"])
        if self.phase == "publish":
            self._announce(context, facts)
        needless = self._needless(facts)
        if needless:
            ti.xcom_push(key="return_value", value=facts)
            self.skip(ti=ti, tasks=needless)
        if facts.get("status") == "held" and self.phase == "open":
            raise AirflowSkipException(f"{facts['reason']}; {facts['hint']}")
        return facts

    def _release(self, context: Context) -> None:
        """Let no refresh wait for this one: `close` does so too, but not again where single tasks were cleared."""
        try:
            self._perform(context, "close")
        except ForesetError as error:
            self.log.warning("the run stays open: %s", error)

    def _perform(self, context: Context, phase: str) -> Mapping[str, Any]:
        phases = import_module(PHASES)
        ti, run_id = context["ti"], str(context["run_id"])
        job = phases.Job(
            phase=phase,
            warehouse=self.spec.warehouse,
            group=self.spec.group,
            request=request_of(refresh_id(run_id), dict(context["params"])),
            stratum=self.stratum,
            spec=self.spec.file,
            again=ti.try_number > 1,
        )
        found: Mapping[str, Any] = phases.perform(job, self._listen)
        return found

    def tell_warehouse(self, context: Context) -> None:
        """Keep that this task has failed, where status and reports look; the phase itself may have had no time to."""
        stratum = f"stratum-{self.stratum}" if self.stratum else self.phase
        request = request_of(refresh_id(str(context["run_id"])), dict(context.get("params") or {}))
        error = context.get("exception")
        import_module(FAILING).note_ended(self.spec.warehouse, self.spec.group, request, stratum, error)

    def _listen(self, event: dict[str, Any]) -> None:
        line = progress(event)
        if line:
            self.log.info(line)

    def _needless(self, facts: Mapping[str, Any]) -> list[DAGNode]:
        """The tasks that need not start, given what this one found."""
        assert self.dag is not None
        after: dict[str, DAGNode] = {
            task.task_id: task for task in self.get_flat_relatives(upstream=False) if not task.is_teardown
        }
        if facts.get("status") in ("unchanged", "dry-run", "held"):
            return list(after.values())
        if self.phase != "capture" or facts["status"] != "moved":
            return []
        names = [f"stratum_{n}.{part}" for n in facts["idle"] for part in ("delete", "insert")]
        names += [f"stratum_{n}.delete" for n in facts["built"]]
        return [after[name] for name in names]

    def _announce(self, context: Context, facts: Mapping[str, Any]) -> None:
        """One event for each view, with the seq and what came and went."""
        for name, counts in facts["views"].items():
            asset = view_asset(self.spec.group, name)
            context["outlet_events"][asset].extra = {"seq": facts["seq"], **counts}
