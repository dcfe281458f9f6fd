"""The plugin as Airflow loads it: found once, without a fault, and cheap for processes that show no page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.airflow

ROOT = Path(__file__).resolve().parents[2]
PROBE = """
import json, sys
from airflow import plugins_manager
plugins, faults = plugins_manager._get_plugins()
(ours,) = [plugin for plugin in plugins if plugin.name == "foreset"]
loaded = sorted(set(sys.modules) & {"foreset.reports.web", "foreset.reports.pages", "pyspark", "deltalake", "pyarrow"})
apps, _ = plugins_manager.get_fastapi_plugins()
from airflow.api_fastapi.core_api.datamodels.plugins import PluginResponse
info = [one for one in plugins_manager.get_plugin_info() if one["name"] == "foreset"]
shown = PluginResponse.model_validate(info[0]).model_dump()["external_views"]
print(json.dumps({"faults": faults, "loaded": loaded, "apps": [app["url_prefix"] for app in apps], "views": shown}))
"""


def test_it_is_loaded_once_and_builds_its_application_only_when_asked(tmp_path: Path) -> None:
    settings = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__API__BASE_URL": "https://data.example/air/",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["faults"], found["loaded"], found["apps"]) == ({}, [], ["/foreset"])
    assert {(view["destination"], view["name"]): view["href"] for view in found["views"]} == {
        ("dag_run", "Data quality"): "/air/foreset/dags/{DAG_ID}/runs/{RUN_ID}",
        ("dag", "Data quality"): "/air/foreset/dags/{DAG_ID}",
        ("nav", "View refreshes"): "/air/foreset/",
    }
    routes = [view["url_route"] for view in found["views"]]
    assert len(set(routes)) == 3
    assert not any(route.startswith("/") for route in routes)
