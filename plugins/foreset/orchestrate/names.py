"""Names that Airflow and Foreset share: a DAG is a group, a run a refresh, a task a stage."""

from __future__ import annotations

from foreset.plan.stages import Stage, name_of

PREFIX = "foreset_"
POOL = "foreset"


def dag_id(group: str) -> str:
    """The DAG of a group."""
    return PREFIX + group


def group_of(dag: str) -> str | None:
    """The group of a DAG; None for a DAG that is not ours."""
    return dag.removeprefix(PREFIX) if dag.startswith(PREFIX) and len(dag) > len(PREFIX) else None


def refresh_id(run_id: str) -> str:
    """The refresh of an Airflow run: the run's own id, so that a retry or a cleared task goes on with it.

    Airflow admits the same characters in run ids as we do in refresh ids.
    """
    return run_id


def task_id(stage: Stage, stratum: int = 0) -> str:
    """The task of a stage, or of what it does for one stratum: `stratum_3`."""
    return name_of(stage, stratum).replace("-", "_")
