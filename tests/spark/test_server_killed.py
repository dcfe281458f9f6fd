"""`kill -9` of the Spark Connect server in the middle of a refresh, with the client alive to tell of it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.roads import AFTER_THE_NIGHT, PAPER, REACH, World, closed, words

import foreset
from foreset.errors import EnvironmentFault
from foreset.session import Settings, inspect_server, open_session, stop_server
from foreset.session.state import Fit

pytestmark = pytest.mark.spark

SMALL = Settings(cores="1", memory_mb=1024, idle_minutes=5)


@pytest.fixture
def world(warehouse: str, tmp_path: Path) -> Iterator[World]:
    """A warehouse with a server of its own, which is ended whatever happened to it."""
    yield World(warehouse, tmp_path / "specs", "embedded")
    with contextlib.suppress(EnvironmentFault):
        stop_server(warehouse)


def test_killed_in_the_middle_of_a_recursion(world: World) -> None:
    with open_session("embedded", world.root, SMALL) as handle:
        world.spark = handle.spark
        world.spec(REACH.replace("    export: true", "    strategy: dred", 1))  # which goes in rounds
        wh = world.open()
        world.settle(verify="off")
        world.night()
        server = inspect_server(world.root, SMALL)

        def kills(event: dict[str, Any]) -> None:
            if event["event"] == "round":
                os.kill(server.jvm_pid, signal.SIGKILL)

        with pytest.raises(foreset.EnvironmentFault, match="Spark went away, during stratum-") as caught:
            wh.refresh("reach", "incremental", refresh_id="night", listen=kills)
        assert "of group reach" in caught.value.message
        assert "run the same refresh again" in caught.value.hint
        assert words(wh.read("reach.closure")) == closed(PAPER)
    assert inspect_server(world.root, SMALL).fit is not Fit.FITS

    with open_session("embedded", world.root, SMALL) as handle:  # finds the corpse, and starts another
        world.spark = handle.spark
        wh = world.open()
        done = wh.refresh("reach", "incremental", refresh_id="night", verify="full")
        assert (done.seq, done.refresh_id) == (2, "night")
        assert words(wh.read("reach.closure")) == closed(AFTER_THE_NIGHT)
        assert [row["seq"] for row in wh.manifest("reach")] == [1, 2]
