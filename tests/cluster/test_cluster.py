"""Refreshes on a Spark cluster: the same rows as in process, and what they do when parts of it are killed.

Only `make test-cluster` starts one. FORESET_SEEDS says how many random programs and how many kills in each phase there
are (2), FORESET_LONG=1 runs the sample warehouse's two days in Spark from end to end, which takes minutes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from examples.cluster import SERVER, Cluster, kill
from tests.roads import AFTER_THE_NIGHT, PAPER, REACH, World, closed, words
from tests.spark.test_random_refresh import SEED
from tests.spark.test_random_refresh import test_random_program as random_program
from tests.spark.test_supply_chain import test_a_real_day as a_real_day

import foreset
from foreset.backends.spark.cutting import Keeper

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from foreset.backends.spark.frames import Piece

pytestmark = pytest.mark.spark

SEEDS = range(int(os.environ.get("FORESET_SEEDS", "2")))
IN_ROUNDS = REACH.replace("    export: true", "    strategy: dred", 1)
Event = dict[str, Any]
# The first event after which an executor is missing.
PHASES: dict[str, Callable[[Event], bool]] = {
    "capture": lambda event: event["event"] == "finished",
    "stratum": lambda event: event["event"] == "stratum",
    "round": lambda event: event["event"] == "round",
    "verify": lambda event: event["event"] == "finished" and event["phase"].startswith("stratum-"),
    "commit": lambda event: event["event"] == "finished" and event["phase"].startswith("verif"),
}


def test_two_executors_do_the_work(cluster: Cluster, spark: SparkSession) -> None:
    spark.range(10).repartition(4).count()
    assert len(cluster.executors()) == cluster.workers
    assert spark.conf.get("spark.master").startswith("spark://")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(
    seed: int, warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_program(SEED + seed, warehouse, tmp_path, spark, monkeypatch)


@pytest.mark.skipif(not os.environ.get("FORESET_LONG"), reason="takes minutes")
def test_two_days_of_the_sample(warehouse: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    a_real_day(warehouse, spark, monkeypatch)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("phase", PHASES)
def test_an_executor_is_killed(phase: str, seed: int, cluster: Cluster, world: World) -> None:
    """At once, or a little later, in the midst of whatever it does."""
    moment, killed = Random(seed).uniform(0, 2) if seed else 0, []

    def shoot() -> None:
        for one in cluster.executors()[seed % 2 :]:
            killed.append(one.pid)
            kill(one)

    def listen(event: Event) -> None:
        if not timer.is_alive() and not killed and PHASES[phase](event):
            timer.start()

    timer = threading.Timer(moment, shoot)
    refreshed(world, listen)
    timer.join()
    assert killed, "the refresh has not come by there"


def test_every_executor_is_killed_after_each_result(
    cluster: Cluster, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nothing that is read again can lie in an executor."""
    kept, written = [], Keeper.keep

    def keep(self: Keeper, frame: DataFrame, most: int | None = None) -> Piece:
        piece = written(self, frame)
        kept.append(piece.rows)
        if len(kept) % 3 == 0:
            for one in cluster.executors():
                kill(one)
        return piece

    monkeypatch.setattr(Keeper, "keep", keep)
    refreshed(world)
    assert len(kept) > 6, "there was something to lose"


def test_a_worker_is_killed(cluster: Cluster, world: World) -> None:
    def listen(event: Event) -> None:
        if event["event"] == "stratum" and "worker-1" in cluster.processes:
            cluster.kill("worker-1")

    refreshed(world, listen)
    assert "worker-1" not in cluster.processes
    assert len(cluster.executors()) == cluster.workers - 1


def test_the_connect_server_is_killed(cluster: Cluster, world: World) -> None:
    world.spec(IN_ROUNDS)
    world.settle()
    world.night()

    def listen(event: Event) -> None:
        if event["event"] == "round" and SERVER in cluster.processes:
            cluster.kill(SERVER)

    wh = world.open()
    with pytest.raises(foreset.EnvironmentFault, match="Spark went away, during stratum-") as caught:
        wh.refresh("reach", "incremental", refresh_id="night", listen=listen)
    assert (caught.value.exit_code, "run the same refresh again" in caught.value.hint) == (5, True)
    assert words(wh.read("reach.closure")) == closed(PAPER)
    cluster.start_server()
    done = wh.refresh("reach", "incremental", refresh_id="night", verify="full")
    assert (done.seq, words(wh.read("reach.closure"))) == (2, closed(AFTER_THE_NIGHT))


def refreshed(world: World, listen: Callable[[Event], None] | None = None) -> None:
    """A night that goes in rounds, whatever happens meanwhile."""
    world.spec(IN_ROUNDS)
    world.settle()
    world.night()
    wh = world.open()
    done = wh.refresh("reach", "incremental", verify="full", listen=listen)
    assert (done.seq, done.verification["verdict"]) == (2, "passed")
    assert words(wh.read("reach.closure")) == closed(AFTER_THE_NIGHT)
