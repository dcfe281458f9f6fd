"""Who may read a report: whoever may read the runs of the group's DAG, as Airflow's auth manager says.

The DAG always comes from the path. Airflow's own `requires_access_dag` would fall back to the
query string, where a caller could name a DAG that is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Path

User = Annotated[BaseUser, Depends(get_user)]  # 401 without a valid login


def may_read(dag_id: str, user: BaseUser) -> bool:
    """Whether `user` may read the runs of that DAG."""
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, details=details, user=user
    )


def permitted_dag(dag_id: Annotated[str, Path()], user: User) -> str:
    """The DAG of the path, if the user may read it; 403 whether or not it exists."""
    if not may_read(dag_id, user):
        raise HTTPException(403, "Forbidden")
    return dag_id


def readable_dags(user: BaseUser) -> Iterable[str]:
    """The DAGs that Airflow knows and the user may read, in order."""
    known = get_auth_manager().get_authorized_dag_ids(user=user)
    return (dag_id for dag_id in sorted(known) if may_read(dag_id, user))


Permitted = Annotated[str, Depends(permitted_dag)]
