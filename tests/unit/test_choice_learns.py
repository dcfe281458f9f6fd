"""What `auto` learns, without a clock: nights of made-up cost curves, and what it takes beside the best that there is.

The curves are those that were measured here, and exaggerations of them. Whoever chooses sees only what a manifest would
tell: the seconds of the way that was gone, with noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import CLOSURE, GROUP

from foreset.ir.strata import Stratum
from foreset.plan.choose import Situation, Size, choose
from foreset.plan.cost import DUCKDB, PATIENCE, SPARK, STEADY
from foreset.plan.history import REMEMBERED, Past
from foreset.plan.place import Load, Room, engines, place
from foreset.records.strata import StratumSummary

LEARNING, JUDGED = 10, 40  # nights
WORSE, SLACK_S = 1.2, 0.1  # times the best, beyond what nobody notices
RETRIED, SPENT = 0.1, 1.1  # of all nights judged: how many may be dearer than that, and the seconds of all together
NOISE = 0.1  # of the logarithm
SEEDS = 8
GB = 10**9
ROOMY = Room(14 * GB)

Curve = Callable[[float, float], float]  # seconds by changed rows and by all rows
Curves = Mapping[tuple[bool, str], Curve]  # building or not, by engine


def linear(fixed: float, per_changed: float, per_row: float = 0.0, power: float = 1.0) -> Curve:
    return lambda changed, rows: fixed + per_changed * changed**power + per_row * rows


PROCESS: Curves = {(False, DUCKDB): linear(0.05, 4e-6), (True, DUCKDB): linear(0.1, 0, 5e-7)}
ONE_MACHINE: Curves = {**PROCESS, (False, SPARK): linear(3, 8e-6), (True, SPARK): linear(5, 0, 1e-6)}
CLUSTER: Curves = {**PROCESS, (False, SPARK): linear(4, 1e-7), (True, SPARK): linear(4, 0, 2e-8)}
SLOW_HERE: Curves = {**CLUSTER, (False, DUCKDB): linear(0.05, 6e-5), (True, DUCKDB): linear(0.1, 0, 2e-5)}
DEAR_CHANGES: Curves = {**ONE_MACHINE, (False, DUCKDB): linear(2, 2e-4), (False, SPARK): linear(30, 1e-4)}
BENT: Curves = {**ONE_MACHINE, (False, DUCKDB): linear(0.05, 4e-6, 0, 1.15), (False, SPARK): linear(3, 1e-4, 0, 0.8)}


@dataclass(frozen=True)
class World:
    curves: Curves
    rows: int
    room: Room = ROOMY
    others: bool = False  # strata of the same group run in Spark, since their spec says so


WORLDS = {
    "one machine": World(ONE_MACHINE, 10**7),
    "one machine, Spark known": World(ONE_MACHINE, 10**7, others=True),
    "a cluster, large": World(CLUSTER, 10**8, others=True),
    "a cluster, and slow here": World(SLOW_HERE, 10**7, others=True),
    "no room in process": World(ONE_MACHINE, 10**8, Room(0)),
    "changes are dear": World(DEAR_CHANGES, 10**7, others=True),
    "curves that are no lines": World(BENT, 10**7, others=True),
}
CHANGES = {
    "alike": (1e-3,),
    "a bulk load now and then": (1e-4, 1e-4, 1e-4, 0.2),
    "of every size": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.4),
}


@pytest.fixture(scope="module")
def stratum() -> Stratum:
    return in_normal_form(load_program(GROUP + CLOSURE, "spec"))[1].strata[0]


@dataclass(frozen=True)
class Night:
    way: tuple[bool, str]
    changed: int
    took: float
    best: float

    @property
    def dear(self) -> bool:
        return self.took > WORSE * self.best + SLACK_S


def nights(stratum: Stratum, world: World, changes: Sequence[float], rng: Random, count: int) -> list[Night]:
    """A first load, and so many nights after it."""
    history: list[tuple[StratumSummary, ...]] = []
    found: list[Night] = []
    for night in range(count + 1):
        changed = max(1, int(world.rows * rng.choice(changes))) if night else 0
        sizes = {"edge": Size(0, changed, world.rows, 32)}
        rebuild = "" if night else "first load"
        loads = {building: Load(building, sizes) for building in (False, True)}
        maintained_in, built_in = (engines(loads[building], world.room) for building in (False, True))
        past = Past.of(history)
        cost = past.cost(stratum.names, world.rows)
        choice = choose(stratum, Situation(sizes, rebuild, False, 0, cost, maintained_in, built_in))
        building = choice.strategy == "recompute"
        engine = place(choice.strategy, loads[building], world.room, cost).engine

        def true(way: tuple[bool, str], changed: int = changed) -> float:
            return world.curves[way](changed, world.rows)

        ways = [(False, one) for one in maintained_in] + [(True, one) for one in built_in]
        if night:
            found.append(Night((building, engine), changed, true((building, engine)), min(map(true, ways))))
        noisy = true((building, engine)) * math.exp(rng.gauss(0, NOISE))
        earlier = past.carried(stratum.names) or None
        records = [
            StratumSummary(1, stratum.names, changed, choice.strategy, seconds=noisy, engine=engine,
                           below=world.rows, earlier=earlier)
        ]  # fmt: skip
        records += _others(world, night, past, rng) if world.others else []
        history.append(tuple(records))
    return found


def _others(world: World, night: int, past: Past, rng: Random) -> list[StratumSummary]:
    """Another stratum of the group, which always runs in Spark."""
    building, changed = not night, int(world.rows * 10 ** rng.uniform(-4, -1))
    seconds = world.curves[building, SPARK](changed, world.rows) * math.exp(rng.gauss(0, NOISE))
    strategy = "recompute" if building else "dred"
    earlier = past.carried(["other"])
    return [StratumSummary(2, ("other",), changed, strategy, seconds=seconds, engine=SPARK, below=world.rows,
                           earlier=earlier)]  # fmt: skip


@pytest.mark.parametrize("changes", CHANGES.values(), ids=list(CHANGES))
@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_after_ten_nights_nothing_is_dearer_than_the_best(
    stratum: Stratum, world: World, changes: Sequence[float]
) -> None:
    judged = [night for seed in range(SEEDS) for night in judging(stratum, world, changes, Random(seed))]
    dear = [one for one in judged if one.dear]
    assert len(dear) <= RETRIED * len(judged), dear  # what was dear once is tried again, but seldom
    took, best = sum(one.took for one in judged), sum(one.best for one in judged)
    assert took <= SPENT * best + SLACK_S, (took / best, dear)


def judging(stratum: Stratum, world: World, changes: Sequence[float], rng: Random) -> list[Night]:
    """The nights after ten, whose change is as large as some before: of another size nobody can have learned."""
    found = nights(stratum, world, changes, rng, LEARNING + JUDGED)
    sizes = [one.changed for one in found]
    return [one for night, one in enumerate(found) if night >= LEARNING and sizes[:night].count(one.changed) > 1]


# ---------------------------------------------------------------- what was dear once
def mistaken(nights_ago: int, *, times: float) -> Past:
    """A recompute took 1 s ten times; a maintained change once, long ago, so many times as much."""
    names, history = ("v",), list[tuple[StratumSummary, ...]]()
    for night in range(nights_ago + 1):
        earlier = Past.of(history).carried(names)
        done = ("recompute", 1.0) if night else ("dred", times)
        history.append((StratumSummary(1, names, 100, done[0], seconds=done[1], engine=DUCKDB, below=1_000,
                                       earlier=earlier),))  # fmt: skip
    return Past.of(history)


@pytest.mark.parametrize("times", [1.5, 2.0, 3.0])
def test_what_was_dear_once_is_tried_again_the_later_the_dearer_it_was(times: float) -> None:
    def tried(night: int) -> bool:
        cost = mistaken(night, times=times).cost(["v"], 1_000)
        kept, built = (cost.estimate(*one) for one in (("dred", [DUCKDB], 100), ("recompute", [DUCKDB], 1_000)))
        assert kept is not None, "it is remembered beyond the refreshes whose records are read"
        assert built is not None
        assert kept.seconds == pytest.approx(times)
        return kept.hoped < built.hoped

    assert not tried(STEADY + int((times - 1) * PATIENCE) - 1)
    assert tried(STEADY + int((times - 1) * PATIENCE) + 1)


def test_the_largest_change_is_remembered_beside_the_newest() -> None:
    names, history = ("v",), list[tuple[StratumSummary, ...]]()
    for night in range(3 * REMEMBERED):
        earlier = Past.of(history).carried(names)
        changed, seconds = (10, 0.1) if night else (1_000_000, 60.0)
        history.append((StratumSummary(1, names, changed, "dred", seconds=seconds, engine=DUCKDB, earlier=earlier),))
    found = Past.of(history).cost(names).estimate("dred", [DUCKDB], 1_000_000)
    assert found is not None
    assert found.seconds == pytest.approx(60, rel=0.05)


def test_what_had_to_be_moved_begins_there_the_next_time() -> None:
    moved = StratumSummary(1, ("v",), 100, "dred", seconds=20.0, engine=SPARK, below=1_000, moved_from=DUCKDB)
    load = Load(False, {"edge": Size(0, 100, 1_000, 8)})
    found = place("dred", load, Room(14 * GB), Past.of([(moved,)]).cost(["v"]))
    assert (found.engine, found.trial) == (SPARK, True)
    assert found.reason.startswith("about 40.0 s in process, 20.0 s in Spark, by earlier refreshes; 100 changed rows")


def test_a_first_try_in_spark_needs_others_that_are_cheaper_there() -> None:
    mine = StratumSummary(1, ("v",), 100, "dred", seconds=20.0, engine=DUCKDB)
    other = StratumSummary(2, ("w",), 100, "dred", seconds=4.0, engine=SPARK)
    load, room = Load(False, {"edge": Size(0, 100, 1_000, 8)}), Room(14 * GB)
    assert place("dred", load, room, Past.of([(mine,)]).cost(["v"])).engine == DUCKDB
    found = place("dred", load, room, Past.of([(mine, other)]).cost(["v"]))
    assert (found.engine, found.trial) == (SPARK, True)
    assert found.reason.startswith("about 20.0 s in process, 4.0 s in Spark, if it is there as others are")
    assert place("dred", load, Room(0, local=False), Past.of([(mine, other)]).cost(["v"])).engine == SPARK
