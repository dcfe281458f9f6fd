"""Two refreshes of one group, in processes of their own: exactly one publishes, and the other says why.

A process stops itself (SIGSTOP) at a named point, others go on meanwhile, and then it wakes (SIGCONT).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.roads import AFTER_THE_NIGHT, PAPER, World, closed, words
from tests.spark.crasher import PAUSES

import foreset

pytestmark = pytest.mark.spark

ALWAYS = "asleep, views written"
CHOSEN = [point for point in PAUSES if os.environ.get("FORESET_LONG") or point == ALWAYS]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 400.0


def begun(world: World, server: str, refresh_id: str, point: str) -> subprocess.Popen[str]:
    """A refresh in a process of its own."""
    arguments = [world.root, str(world.specs), "reach", refresh_id, point, server]
    command = [sys.executable, "-m", "tests.spark.crasher", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def asleep(process: subprocess.Popen[str]) -> None:
    """Wait until the process has stopped itself."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        if psutil.Process(process.pid).status() == psutil.STATUS_STOPPED:
            return
        time.sleep(0.05)
    raise AssertionError(f"it did not stop: {process.communicate()[1] if process.poll() is not None else ''}")


@pytest.fixture
def world(world: World) -> World:
    """At seq 1, with a night of changes waiting."""
    world.settle(verify="off")
    world.night()
    return world


@pytest.mark.parametrize("point", CHOSEN)
def test_a_paused_refresh_wakes_after_its_successor(point: str, world: World, server_url: str) -> None:
    """While it sleeps, a second one is refused; one that takes over commits; the sleeper wakes and is fenced."""
    wh, after = world.open(), closed(AFTER_THE_NIGHT)
    paused = begun(world, server_url, "sleeper", point)
    try:
        asleep(paused)
        with pytest.raises(foreset.Fenced, match="refresh sleeper .* is already running for group reach"):
            wh.refresh("reach", refresh_id="polite")
        assert words(wh.read("reach.closure")) == closed(PAPER)
        done = wh.refresh("reach", "incremental", refresh_id="successor", force=True, verify="full")
        assert done.seq == 2
        assert words(wh.read("reach.closure")) == after

        paused.send_signal(signal.SIGCONT)
        _, said = paused.communicate(timeout=PATIENCE)
    finally:
        paused.kill()
    assert paused.returncode == foreset.Fenced.exit_code == 4, said
    assert "refresh sleeper of group reach cannot publish" in said
    assert "by refresh successor" in said
    assert [(row["seq"], row["refresh_id"]) for row in wh.manifest("reach")][1:] == [(2, "successor")]
    assert words(wh.read("reach.closure")) == after
    world.insert("gz")
    assert world.settle(mode="incremental", verify="full").seq == 3
    assert words(wh.read("reach.closure")) == closed(f"{AFTER_THE_NIGHT} gz")


def test_two_at_the_same_time(world: World, server_url: str) -> None:
    """The second begins while the first is at work: it ends with 4 and names the first, which commits."""
    first = begun(world, server_url, "first", "asleep, all staged")
    try:
        asleep(first)
        second = begun(world, server_url, "second", "")
        _, said = second.communicate(timeout=PATIENCE)
        assert second.returncode == 4, said
        assert "refresh first (epoch" in said
        assert "is already running for group reach" in said
        first.send_signal(signal.SIGCONT)
        out, said = first.communicate(timeout=PATIENCE)
    finally:
        first.kill()
    assert first.returncode == 0, said
    assert out.split()[-1] == "2"
    assert [row["refresh_id"] for row in world.open().manifest("reach")][1:] == ["first"]
