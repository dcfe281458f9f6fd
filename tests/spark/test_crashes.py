"""`kill -9` of a refresh at the points C1 to C14 that crasher.py lists: readers see the old seq or the new one,
whole, the retry ends the same refresh, and the same refresh id gives the same seq.

C7 needs a write of an earlier refresh that nobody committed, so another refresh dies first. C4 and C9 are planted:
delta-rs cannot be stopped inside, and honest refreshes pass verification. Points without a number are our own.

Some points run in `make test`; all of them, five times each, by `make test-crash` (FORESET_LONG=1; FORESET_SEEDS
says how often).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable
from tests.roads import PAPER, REACH, World, closed, words
from tests.spark.crasher import POINTS

import foreset
from foreset.plan.frozen import Request
from foreset.refresh.capturing import capture_sources
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ALWAYS = ("C6", "C12", "all files")
SEEDS = range(int(os.environ.get("FORESET_SEEDS", "5" if os.environ.get("FORESET_LONG") else "1")))
CHOSEN = [point for point in POINTS if os.environ.get("FORESET_LONG") or point.startswith(ALWAYS)]
NIGHTS = (("bc", "hd"), ("fe", "ga"), ("dc", "gh"), ("ab", "bx"), ("cg", "hf"))  # one edge goes, one comes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("point", CHOSEN)
def test_killed_at(point: str, seed: int, world: World, server_url: str) -> None:
    wh = world.open()
    world.settle()
    gone, came = NIGHTS[seed]
    world.delete(gone)
    world.insert(came)
    before, after = closed(PAPER), closed({*PAPER.split(), came} - {gone})

    over = ("force",) if point.startswith("C7") else ()
    if over:
        refresh(world, server_url, "C11 all written, manifest not", "eve")
    killed = refresh(world, server_url, point, "night", *over)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    durable = point.startswith(("C12", "C13", "C14"))
    assert words(wh.read("reach.closure")) == (after if durable else before)
    assert whole(wh.read("reach.closure"), wh.read("reach.two_steps"))

    again = refresh(world, server_url, "", "night")
    assert again.returncode == 0, again.stderr
    assert again.stdout.split()[-1] == "2"
    assert words(wh.read("reach.closure")) == after
    assert [row["seq"] for row in wh.manifest("reach")] == [1, 2]
    plus, minus = wh.changes("reach.closure", 2)
    assert (words(plus), words(minus)) == (after - before, before - after)
    assert words(DeltaTable(f"{world.root}/reach/_export/closure").to_pyarrow_table()) in (before, after)


def refresh(world: World, server: str, point: str, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    """One refresh in a process of its own, on the run's warm server."""
    arguments = [world.root, str(world.specs), "reach", name, point, server, *more]
    command = [sys.executable, "-m", "tests.spark.crasher", *arguments]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, capture_output=True, text=True, cwd=root, check=False, timeout=300)


def whole(closure: object, two_steps: object) -> bool:
    """Two views of one state: every pair of edges is in the closure."""
    return words(two_steps) <= words(closure)  # type: ignore[arg-type]


def test_a_stranger_cannot_publish_what_was_overtaken(world: World, spark: SparkSession) -> None:
    """Two refreshes of one state: the second takes over by force, and the first is told so when it commits."""
    layout = world.open().layout("reach")
    slow = open_refresh(spark, layout, (REACH, "reach.yaml"), Request("slow"))
    capture_sources(slow)  # type: ignore[arg-type]
    for number in (1, 2, 3):
        maintain(slow, number)  # type: ignore[arg-type]
    verify(slow)  # type: ignore[arg-type]
    assert world.open().refresh("reach", refresh_id="quick", force=True).seq == 1
    with pytest.raises(foreset.Fenced, match="quick"):
        commit(slow)  # type: ignore[arg-type]
    assert [row["refresh_id"] for row in world.open().manifest("reach")] == ["quick"]
    world.insert("zz")
    assert world.settle().seq == 2
