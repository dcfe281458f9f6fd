"""The Spark server of docker/, as a process: what the containers run, without containers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.roads import PAPER, World, closed, words

from foreset.orchestrate.home import free_port

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("FORESET_LONG"), reason="a JVM of its own: with FORESET_LONG=1"),
]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    port = str(free_port(15002))
    settings = {**os.environ, "SPARK_CONNECT_HOST": "127.0.0.1", "SPARK_CONNECT_PORT": port,
                "FORESET_SPARK_MEMORY": "1g", "FORESET_SPARK_CORES": "2"}  # fmt: skip
    command = [sys.executable, str(ROOT / "docker" / "spark_server.py")]
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f"serves at port {port}" in process.stdout.readline()
        yield f"sc://localhost:{port}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_refresh_through_it(server: str, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    wh = World(warehouse, tmp_path / "specs", server).open()
    assert wh.refresh("reach").seq == 1
    assert words(wh.read("reach.closure")) == closed(PAPER)
