"""From a spec to its DAG: the graph is the refresh.

`open -> capture -> stratum_<n> -> verify -> quality -> commit -> publish`, as `plan/stages.py` has it, where the edges
between strata are those of the views, so independent strata run side by side. `session` is the set-up of all of it,
and `close` the end, which runs whatever happened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, AssetAny, AssetOrTimeSchedule, CronTriggerTimetable, get_parsing_context

from foreset.diagnostics import Diagnostic
from foreset.errors import SpecError
from foreset.ir.hidden import all_in_words
from foreset.orchestrate.addresses import of_dag
from foreset.orchestrate.assets import sources_of, views_of
from foreset.orchestrate.docs import kind, page, title
from foreset.orchestrate.form import form
from foreset.orchestrate.names import POOL, dag_id, group_of, task_id
from foreset.orchestrate.operators import Spec, StageOperator, tell_warehouse
from foreset.orchestrate.places import Places
from foreset.orchestrate.specs import load_group, load_groups
from foreset.plan.stages import CLOSE, PUBLISH, SESSION, STAGES, EachStratum, Retry
from foreset.spec.internal import internal_fault
from foreset.understand import Sound

if TYPE_CHECKING:
    from foreset.ir.program import Program

RETRIES = {
    "retries": 3,
    "retry_delay": timedelta(seconds=float(os.environ.get("FORESET_RETRY_SECONDS", "15"))),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
}
AFTER_SKIPPED = "none_failed"  # strata that no change reaches are skipped


class BrokenSpecs(SpecError):
    """Some specs are refused and have no DAG; the others are not affected."""


def load_dags(places: Places) -> Iterator[DAG]:
    """The DAG of each sound spec, by name; only one where Airflow wants only one."""
    wanted = get_parsing_context().dag_id
    if wanted is None:
        yield from _built(places)[0]
        return
    name = group_of(wanted)
    group = load_group(places.specs, name) if name else None
    if group is not None:
        yield build_dag(group, places.warehouse)


def report_faults(places: Places) -> None:
    """Raise `BrokenSpecs` with every fault of every spec, and of every DAG that cannot be built."""
    _, faults = _built(places)
    if faults:
        raise BrokenSpecs(faults)


def _built(places: Places) -> tuple[list[DAG], list[Diagnostic]]:
    """The DAGs of a folder, and what is wrong with the groups that have none."""
    found = load_groups(places.specs)
    built, faults = list[DAG](), list(found.faults)
    for group in found.groups:
        try:
            built.append(build_dag(group, places.warehouse))
        except Exception as error:  # noqa: BLE001 - the other groups keep their DAGs
            faults.append(internal_fault(group.file, error))
    return built, faults


def build_dag(group: Sound, warehouse: str) -> DAG:
    """The DAG of one group."""
    program = group.written
    dag = DAG(
        dag_id(program.group),
        description=program.description or f"Keeps the views of {program.group} up to date",
        doc_md=page(program, group.layering, of_dag(dag_id(program.group))),
        schedule=schedule_of(program),
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        auto_register=False,  # the file with the faults builds DAGs too, and gives none
        tags={"foreset", *program.tags},
        params=form(),
        default_args={
            "owner": program.owner or "foreset",
            "pool": POOL,
            "on_failure_callback": tell_warehouse,
            **RETRIES,
        },
    )
    spec = Spec(program.group, group.file, warehouse)
    with dag:
        _fill(group, spec)
    return dag


def schedule_of(program: Program) -> Any:  # noqa: ANN401 - whatever DAG takes
    """Cron, the sources, or both; a group without sources is refreshed by cron or by hand."""
    assets = AssetAny(*sources_of(program)) if program.sources else None
    if program.schedule == "@once":
        return program.schedule
    if program.schedule is None:
        return assets
    cron = CronTriggerTimetable(program.schedule, timezone=program.timezone)
    return AssetOrTimeSchedule(timetable=cron, assets=assets) if assets else cron


def _fill(group: Sound, spec: Spec) -> None:
    """A task for each stage, and for each stratum, after those that must be through before it."""
    before, tasks = list[StageOperator](), dict[str, StageOperator]()
    for stage in STAGES:
        if isinstance(stage, EachStratum):
            before = _strata(group, stage, spec, before)
            continue
        options: dict[str, Any] = {"outlets": views_of(group.written)} if stage == PUBLISH else {}
        if stage.retry is Retry.NEVER:
            options |= {"retries": 0, "on_failure_callback": None}
        if any(isinstance(one.stage, EachStratum) for one in before):
            options |= {"trigger_rule": AFTER_SKIPPED}
        task = tasks[stage.name] = StageOperator(task_id=task_id(stage), stage=stage, spec=spec, **options)
        for one in before:
            one >> task
        before = [task]
    tasks[CLOSE.name].as_teardown(setups=tasks[SESSION.name])


def _strata(group: Sound, stage: EachStratum, spec: Spec, before: list[StageOperator]) -> list[StageOperator]:
    """A task for each stratum, after those that it reads; returns the tasks that none of them follows."""
    tasks: dict[int, StageOperator] = {}
    for stratum in group.layering.strata:
        reads = ", ".join(all_in_words(stratum.reads)).replace("`", "") or "nothing"
        about = f"{stratum.title} ({kind(stratum).replace('`', '')}); reads {reads}"
        task = StageOperator(
            task_id=task_id(stage, stratum.number),
            task_display_name=title(stratum),
            doc_md=f"{about}; strategy {stratum.views[0].strategy}",
            stage=stage,
            stratum=stratum.number,
            spec=spec,
            trigger_rule=AFTER_SKIPPED,
        )
        for one in [tasks[number] for number in stratum.depends_on] or before:
            one >> task
        tasks[stratum.number] = task
    read = {number for stratum in group.layering.strata for number in stratum.depends_on}
    return [task for number, task in tasks.items() if number not in read] or before
