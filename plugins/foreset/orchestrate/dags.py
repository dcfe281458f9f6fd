"""From a spec to its DAG: the graph is the refresh.

`open -> capture -> stratum_<n>.delete -> stratum_<n>.insert -> verify -> quality -> commit -> publish`, where the
edges between strata are those of the views, so independent strata run side by side. `session` is the set-up of all
of it, and `close` the end, which runs whatever happened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, AssetAny, AssetOrTimeSchedule, CronTriggerTimetable, TaskGroup, get_parsing_context

from foreset.diagnostics import Diagnostic
from foreset.errors import SpecError
from foreset.ir.hidden import all_in_words
from foreset.ir.strata import Stratum
from foreset.orchestrate.addresses import of_dag
from foreset.orchestrate.assets import sources_of, views_of
from foreset.orchestrate.docs import kind, page, title
from foreset.orchestrate.form import form
from foreset.orchestrate.names import POOL, dag_id, group_of
from foreset.orchestrate.operators import PhaseOperator, Spec, tell_warehouse
from foreset.orchestrate.places import Places
from foreset.orchestrate.specs import Group, load_group, load_groups
from foreset.spec.internal import internal_fault

if TYPE_CHECKING:
    from foreset.ir.program import Program

RETRIES = {
    "retries": 3,
    "retry_delay": timedelta(seconds=float(os.environ.get("FORESET_RETRY_SECONDS", "15"))),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
}


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
            faults.append(internal_fault(str(group.file), error))
    return built, faults


def build_dag(group: Group, warehouse: str) -> DAG:
    """The DAG of one group."""
    program = group.program
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
    spec = Spec(program.group, str(group.file), warehouse)
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


def _fill(group: Group, spec: Spec) -> None:
    def task(phase: str, **more: Any) -> PhaseOperator:  # noqa: ANN401 - arguments of an operator
        return PhaseOperator(task_id=phase, phase=phase, spec=spec, **more)

    session = task("session")
    opened, capture = task("open"), task("capture")
    verify, quality = task("verify", trigger_rule="none_failed"), task("quality")
    commit, publish = task("commit"), task("publish", outlets=views_of(group.program))
    ends = _strata(group, spec, capture)
    session >> opened >> capture
    for end in ends:
        end >> verify
    verify >> quality >> commit >> publish
    end = task("close", retries=0, on_failure_callback=None)
    publish >> end.as_teardown(setups=session)


def _strata(group: Group, spec: Spec, capture: PhaseOperator) -> list[PhaseOperator]:
    """A task group for each stratum, after those that it reads; returns the tasks that none of them follows."""
    last: dict[int, PhaseOperator] = {}
    read: set[int] = set()
    for stratum in group.layering.strata:
        delete, insert = _stratum(stratum, spec)
        for before in [last[n] for n in stratum.depends_on] or [capture]:
            before >> [delete, insert]  # `insert` too: where `delete` is skipped, nothing else would hold it back
        delete >> insert
        last[stratum.number] = insert
        read.update(stratum.depends_on)
    return [insert for number, insert in last.items() if number not in read]


def _stratum(stratum: Stratum, spec: Spec) -> tuple[PhaseOperator, PhaseOperator]:
    reads = ", ".join(all_in_words(stratum.reads)).replace("`", "") or "nothing"
    told = f"{stratum.title} ({kind(stratum).replace('`', '')}); reads {reads}; strategy {stratum.views[0].strategy}"
    common: dict[str, Any] = {"stratum": stratum.number, "spec": spec, "trigger_rule": "none_failed", "doc_md": told}
    with TaskGroup(f"stratum_{stratum.number}", group_display_name=title(stratum), tooltip=told):
        delete = PhaseOperator(task_id="delete", phase="delete", **common)
        return delete, PhaseOperator(task_id="insert", phase="insert", **common)
