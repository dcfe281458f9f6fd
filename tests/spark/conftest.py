"""One warm Spark for the whole run, and the three kinds of session for the few tests about them.

`spark` is a session on an embedded Connect server, because that is what runs in
production: Connect resolves names lazily, has no `_jvm` and no RDDs, and code
that needs those must fail here. It costs 8 s once, as an in-process JVM does,
and an action on it costs the same. FORESET_TEST_SPARK="local[2]" runs all tests
in-process instead. The server belongs to a scratch warehouse of the run and
ends with it; each test has its own `warehouse`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.roads import World

from foreset.session import SessionHandle, Settings, open_session, stop_server
from foreset.session.locations import state_files
from foreset.session.state import read_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = Settings(cores="2", memory_mb=2048, idle_minutes=5)


@pytest.fixture(scope="session")
def spark_home_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The warehouse to which the run's server belongs; tests write to their own."""
    place = str(tmp_path_factory.mktemp("spark-server"))
    yield place
    stop_server(place)


@pytest.fixture(scope="session")
def spark_handle(spark_home_warehouse: str) -> Iterator[SessionHandle]:
    """The open session behind `spark`."""
    with open_session(os.environ.get("FORESET_TEST_SPARK", "embedded"), spark_home_warehouse, SETTINGS) as handle:
        # For a handful of rows, compiling a plan to bytecode takes longer than walking it.
        handle.spark.conf.set("spark.sql.codegen.wholeStage", "false")
        handle.spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        yield handle


@pytest.fixture(scope="session")
def spark(spark_handle: SessionHandle) -> SparkSession:
    """A warm session, shared by all tests: give temporary views names of your own, and reset what you set."""
    return spark_handle.spark


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about Spark: small as their tables are, strata run there, and not in process.

    But for those marked `anywhere`: they are about what comes before and after strata.
    """
    if "FORESET_ENGINE" not in os.environ and request.node.get_closest_marker("anywhere") is None:
        monkeypatch.setenv("FORESET_ENGINE", "spark")


@pytest.fixture
def world(warehouse: str, tmp_path: Path, spark: SparkSession) -> World:
    """Roads, not refreshed yet."""
    return World(warehouse, tmp_path / "specs", spark)


@pytest.fixture(scope="session")
def server_url(spark_handle: SessionHandle) -> str:
    """A sc:// URL of the run's own server, as a user would write it for a cluster's."""
    state = read_state(state_files(spark_handle.warehouse))
    if state is None:
        pytest.skip("FORESET_TEST_SPARK is not embedded: no server can play the remote one")
    return f"sc://localhost:{state.port}/;token={state.token}"


@pytest.fixture(params=["embedded", "remote", "local"])
def any_session(request: pytest.FixtureRequest, spark_home_warehouse: str, warehouse: str) -> Iterator[SessionHandle]:
    """A session of each kind in turn: on the run's own server, through a sc:// URL, in this process's JVM.

    Write to `warehouse`: the embedded kind is the one server of the run, which saves a start per test.
    pyspark builds columns for the innermost open handle, so do not use `spark` beside this one.
    """
    match request.param:
        case "embedded":
            opened = open_session("embedded", spark_home_warehouse, SETTINGS)
        case "remote":
            opened = open_session(request.getfixturevalue("server_url"), warehouse, SETTINGS)
        case _:
            opened = open_session("local[2]", warehouse, SETTINGS)
    with opened as handle:
        yield handle
