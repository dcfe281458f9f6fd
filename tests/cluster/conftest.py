"""A cluster for the run: a master, two workers of one core, a Connect server; what a test killed is started again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from examples.cluster import SERVER, WORKER, Cluster
from tests.roads import World

from foreset.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Started once; skips where nobody asked for it."""
    if not os.environ.get("FORESET_CLUSTER"):
        pytest.skip("`make test-cluster` starts a cluster")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # else pytest would leave the processes behind
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(whole_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster, with all of its processes; strata run there, small as they are."""
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    for number in range(1, whole_cluster.workers + 1):
        if f"{WORKER}-{number}" not in whole_cluster.processes:
            whole_cluster.start_worker(number)
    if SERVER not in whole_cluster.processes:
        whole_cluster.start_server()
    return whole_cluster


@pytest.fixture
def spark(cluster: Cluster, warehouse: str) -> Iterator[SparkSession]:
    """A session on its server."""
    with open_session(cluster.url, warehouse) as handle:
        yield handle.spark


@pytest.fixture
def world(cluster: Cluster, warehouse: str, tmp_path: Path) -> World:
    """Roads, not refreshed yet; each refresh opens a session of its own."""
    return World(warehouse, tmp_path / "specs", cluster.url)
