"""A warm server that serves refresh after refresh holds after each what it held before: `make bench-longrun`, short."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench.longrun import alive
from tests.roads import World

from foreset.backends.spark import cutting

if TYPE_CHECKING:
    from foreset.session import SessionHandle

pytestmark = pytest.mark.spark

WARM, REFRESHES = 4, 10


@pytest.mark.skipif(shutil.which("jcmd") is None, reason="a JDK has it")
def test_ten_refreshes_leave_nothing_behind(
    world: World, spark_handle: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "AT_HAND", -1)  # so that there is something to release
    held = spark_handle.spark.range(9).persist()
    held.count()
    assert alive(spark_handle.warehouse).blocks > 0, "it sees blocks where there are some"
    held.unpersist(blocking=True)
    wh, seen = world.open(), {}
    for number in range(1, REFRESHES + 1):
        wh.refresh("reach", verify="off")
        (world.delete if number % 2 else world.insert)("bc")
        if number in (WARM, REFRESHES):
            seen[number] = alive(spark_handle.warehouse)
    before, after = seen[WARM], seen[REFRESHES]
    assert after.beyond(before) == []
    assert (after.sessions, after.blocks <= before.blocks) == (before.sessions, True), seen
    assert list(Path(wh.layout("reach").runs).rglob("kept/*/*")) == []
