"""The plugin that Airflow loads: the data-quality reports, as tabs of DAGs and runs and in the navigation.

An installed package offers it by its entry point; a checkout on the plugins path offers it by `foreset_plugin.py`.
Airflow reports a plugin that it finds in both ways as an import error, so the file gives way to the entry point.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from foreset.reports.plugin import external_views, fastapi_apps

NAME = "foreset"


class ForesetPlugin(AirflowPlugin):
    """Every Airflow process loads this; only the API server asks for the application, and so builds it."""

    name = NAME
    external_views = external_views()

    @property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override] # a list there; ours is built when asked
        """The application with the reports."""
        return fastapi_apps()


def is_entry_point() -> bool:
    """Airflow finds the plugin in the installed package."""
    return bool(entry_points(group="airflow.plugins", name=NAME))
