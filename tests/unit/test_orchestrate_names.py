"""Names that Airflow and Foreset share."""

from __future__ import annotations

import pytest

from foreset.orchestrate.names import dag_id, group_of, refresh_id
from foreset.store.layout import Layout


def test_a_group_and_its_dag_find_each_other():
    assert dag_id("reach") == "foreset_reach"
    assert group_of("foreset_reach") == "reach"


@pytest.mark.parametrize("foreign", ["reach", "foreset_", "my_foreset_reach", ""])
def test_other_dags_are_nobodys(foreign):
    assert group_of(foreign) is None


def test_run_ids_of_airflow_name_refreshes():
    for run_id in (
        "scheduled__2026-11-18T02:00:00+00:00",
        "manual__2026-11-18T17:59:19.123456+00:00",
        "asset_triggered__x~1",
    ):
        assert Layout("/warehouse", "reach").run(refresh_id(run_id)).endswith(run_id)
