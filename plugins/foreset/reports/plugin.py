"""What the plugin tells Airflow: where the reports are, and where its UI shows them.

Loaded by every Airflow process, so the application and all that it needs are imported only when
the API server asks for it.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from foreset.orchestrate.addresses import PREFIX, base

NAVIGATION = "View refreshes"
APPLIES = {"dag_tags": ["foreset"]}  # Airflow 3.3 shows tabs on every DAG; later ones read this


@functools.cache
def fastapi_apps() -> list[dict[str, Any]]:
    """The application for Airflow to mount; it finds specs and warehouse where the DAG files find them."""
    from airflow.configuration import conf

    from foreset.orchestrate.dags_folder import DAGS
    from foreset.orchestrate.places import places_beside
    from foreset.reports.web import build

    dag_file = Path(conf.get_mandatory_value("core", "dags_folder")) / DAGS
    return [{"app": build(places_beside(str(dag_file))), "url_prefix": PREFIX, "name": "Foreset reports"}]


def external_views() -> list[dict[str, Any]]:
    """A tab of each run, a tab of each DAG, and an entry in the navigation."""
    dag = f"{base()}/dags/{{DAG_ID}}"
    tab = {"name": "Data quality", "applies_to": APPLIES}
    return [
        {**tab, "destination": "dag_run", "url_route": "foreset-run", "href": f"{dag}/runs/{{RUN_ID}}"},
        {**tab, "destination": "dag", "url_route": "foreset-dag", "href": dag},
        {
            "name": "View refreshes",
            "destination": "nav",
            "category": "browse",
            "url_route": "foreset",
            "href": f"{base()}/",
        },
    ]
