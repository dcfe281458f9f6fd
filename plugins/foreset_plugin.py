"""Airflow: the data-quality reports of view refreshes, as tabs of DAGs and runs and in the navigation."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from foreset.reports.plugin import external_views, fastapi_apps


class ForesetPlugin(AirflowPlugin):
    """Every Airflow process loads this; only the API server asks for the application, and so builds it."""

    name = "foreset"
    external_views = external_views()

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:
        """The application with the reports."""
        return fastapi_apps(__file__)
