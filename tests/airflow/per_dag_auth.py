"""An auth manager with a right per DAG, as production ones have; Airflow's simple one lets every viewer see all."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

READS = {"vera": {"foreset_parts"}, "otto": {"foreset_other", "plain"}}


class PerDagAuthManager(SimpleAuthManager):
    """Viewers read the DAGs that are theirs."""

    def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
        allowed = super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)
        own = READS.get(user.username)
        if own is None or details is None or details.id is None:
            return allowed
        return allowed and details.id in own
