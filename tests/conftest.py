"""Settings for every test: a private Airflow home, how long Hypothesis searches, who runs beside whom.

Hypothesis is short by default and as long as asked under `make fuzz N=...`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Importing Airflow writes its configuration to this folder; the user's own is not ours to touch.
os.environ["AIRFLOW_HOME"] = str(Path(__file__).resolve().parents[1] / ".cache" / "airflow-test")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

_SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large]

# No deadline: it measures wall time, which says nothing on a shared machine.
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW_DATA)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile(
    "fuzz", parent=settings.get_profile("default"), max_examples=int(os.environ.get("FORESET_FUZZ", "50000"))
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers, Spark's tests share one warm session, Airflow's one machine, others go by file.

    The longest group comes first, so that the other worker has the rest for it.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=lambda item: _group(item) != "spark")


def _group(item: pytest.Item) -> str:
    return next((kind for kind in ("airflow", "spark") if item.get_closest_marker(kind)), str(item.path))
