"""In every interleaving of refreshes, crashes, zombies, readers, gc and rollback the promises hold.

Under broken rules they do not: each breach is found, so the exploration has teeth.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
import tests.unit.protocol_model as model
from tests.unit.protocol_model import Broken, Explored, Opened, Process, Raised, Row, Rules, Version, World

from foreset.store import protocol
from foreset.store.protocol import Append, Entry, Reuse, Write


def world(views: int, seqs: int = 0, floor: int = 0) -> World:
    """A warehouse in which `seqs` refreshes have been committed, each touching every view."""
    tables = [[Version("create", 0, "", "", 0, None, frozenset())] for _ in range(views)]
    manifest: list[Opened | Row | Raised] = []
    for k in range(1, seqs + 1):
        holds = frozenset(f"h{j}" for j in range(1, k + 1))
        for table in tables:
            table.append(Version("write", k, f"h{k}", f"h{k}", protocol.transaction(k, 0), None, holds))
        manifest += [Opened(k, f"h{k}"), Row(Entry(k, f"h{k}", f"h{k}/1", k), (k,) * views, holds)]
    return World((*manifest, *([Raised(floor)] if floor else [])), tuple(map(tuple, tables)))


def refresh(name: str) -> Process:
    return Process(name, "refresh", "open")


GC, READER, ROLLBACK = (Process(kind, kind, "open") for kind in ("gc", "reader", "rollback"))
# Two attempts of one task: an epoch opened once for both, as when Airflow starts a task again.
SHARED = world(2)._replace(manifest=(Opened(1, "r1"),), bases=(("r1~1", 0),))
TWINS = tuple(Process(f"r1/{n}", "refresh", "stage", (1, 0, ())) for n in (1, 2))

SCENARIOS = {
    "two refreshes, two views, a crash anywhere": (world(2), (refresh("r1/1"), refresh("r2/1")), 1),
    "two refreshes, two crashes": (world(1), (refresh("r1/1"), refresh("r2/1")), 2),
    "a zombie, its retry and a rival": (world(1, 1), (refresh("r1/1"), refresh("r1/1b"), refresh("r2/1")), 0),
    "two attempts in one epoch, a crash": (SHARED, TWINS, 1),
    "a refresh, gc and a reader, a crash": (world(1, 2), (refresh("r1/1"), GC, READER), 1),
    "rollback, gc and a reader, two crashes": (world(2, 2), (ROLLBACK, GC, READER), 2),
    "a refresh against rollback, a crash": (world(1, 2), (refresh("r1/1"), ROLLBACK), 1),
}
TOTAL, EXPLORED = Explored(), set()


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_interleaving_keeps_the_promises(name: str) -> None:
    found = model.explore(*SCENARIOS[name])
    EXPLORED.add(name)
    TOTAL.states += found.states
    TOTAL.interleavings += found.interleavings
    TOTAL.crashes += found.crashes
    print(f"\n{name}: {found.interleavings:,} interleavings, {found.states:,} states, {found.crashes:,} crash points")
    assert found.states > 1000


def test_the_exploration_is_as_large_as_we_say() -> None:
    if set(SCENARIOS) != EXPLORED:
        pytest.skip("counts what the scenarios before it explored, and some ran in another process")
    print(f"\nin all: {TOTAL.interleavings:,} interleavings, {TOTAL.states:,} states, {TOTAL.crashes:,} crash points")
    assert TOTAL.interleavings > 100_000
    assert TOTAL.states > 50_000


@pytest.mark.skipif("FORESET_DEEP" not in os.environ, reason="half a minute and 1.8e17 interleavings: set FORESET_DEEP")
def test_two_crashes_among_two_refreshes_of_two_views() -> None:
    found = model.explore(world(2), (refresh("r1/1"), refresh("r2/1")), 2)
    print(f"\n{found}")


# ---------------------------------------------------------------------------- the invariants have teeth


def no_fence(reading, row, prev_seq):
    """Commits whatever the epoch, as long as the seq is free."""
    return protocol.decide_commit(replace(reading, epoch=0), row, prev_seq)


def no_guard(reading, row, prev_seq):
    """Looks neither at the epoch nor at the seq. (The epoch alone keeps seqs apart; the seq is the second bolt.)"""
    return Append(reading.version, prev_seq + 1)


def no_memory(reading, row, prev_seq):
    """Does not look whether the refresh is committed already, and builds on whatever is newest."""
    decision = protocol.decide_commit(replace(reading, same_refresh=None), row, reading.seq)
    return decision if not isinstance(decision, Append) else Append(decision.version, prev_seq + 1)


def no_reset(pin, later, epoch, refresh_id, **_):
    """Appends to the head, whatever it is."""
    return Write(max((commit.version for commit in later), default=pin) + 1)


def trusts_the_write(expected, found, standing, mine):
    """Takes the version that it was given, even if something slipped in before it."""
    return Reuse(found) if found is not None else protocol.decide_written(expected, found, standing, mine)


def trusts_the_head(expected, found, standing, mine):
    """Takes a silently skipped write for done."""
    return Reuse(expected if found is None else found)


def unclean_reuse(pin, later, epoch, refresh_id, **_):
    """Uses any earlier write of the epoch, on whatever ground it stands."""
    mine = [c.version for c in later if (c.kind, c.epoch, c.refresh_id) == ("write", epoch, refresh_id)]
    return Reuse(mine[-1]) if mine else protocol.decide_stage(pin, later, epoch, refresh_id)


def forgetful_open(reading, refresh_id, holder, patience):
    return protocol.decide_open(replace(reading, same_refresh=None), refresh_id, holder, patience)


def not_contiguous(expected, found, *_):
    return Reuse(found) if found == expected else None


def unleased(seqs, floor, leased):
    return protocol.kept(seqs, floor, ())


def always(*_):
    return True


def never(*_):
    return None


TWO, ZOMBIES = SCENARIOS["two refreshes, two views, a crash anywhere"], SCENARIOS["a zombie, its retry and a rival"]
COLLECTED = SCENARIOS["a refresh, gc and a reader, a crash"]
BROKEN = {
    "no fence in the commit": (Rules(decide_commit=no_fence), TWO, "zombie"),
    "neither a fence nor a check of the seq": (Rules(decide_commit=no_guard), TWO, "seqs are|zombie"),
    "no memory of committed refreshes": (
        Rules(decide_commit=no_memory, decide_open=forgetful_open), ZOMBIES, "seqs are|two seqs|holds|not its own"),
    "no read-back after a blind manifest append": (
        Rules(exact_commit=False, reads_back=False), TWO, "not its own|zombie"),
    "a blind manifest append": (Rules(exact_commit=False), TWO, "zombie"),
    "no read-back after a put-if-absent": (Rules(reads_back=False), TWO, "not its own"),
    "no reset to the pin": (Rules(decide_stage=no_reset), TWO, "holds"),
    "no check that the write succeeds the pin": (Rules(decide_written=trusts_the_write), TWO, "holds"),
    "a skipped write taken for done": (Rules(decide_written=trusts_the_head), TWO, "holds|index"),
    "a reused write on unclean ground": (
        Rules(decide_stage=unclean_reuse, decide_written=not_contiguous), TWO, "holds"),
    "gc without leases": (Rules(kept=unleased), COLLECTED, "deleted"),
    "a reader that does not look at the floor": (Rules(lease_holds=always), COLLECTED, "deleted"),
    "gc without a fence": (Rules(decide_fence=never), COLLECTED, "deleted"),
    "gc that lists files after reading the manifest": (Rules(gc_lists_first=False), COLLECTED, "deleted"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_caught(name: str) -> None:
    rules, (start, processes, crashes), message = BROKEN[name]
    with pytest.raises((Broken, IndexError), match=message):
        model.explore(start, processes, crashes, rules)


# ---------------------------------------------------------------------------- single decisions


def test_a_floor_never_falls_and_keeps_at_least_the_newest() -> None:
    assert protocol.new_floor(newest=10, keep=3, standing=0) == 8
    assert protocol.new_floor(newest=10, keep=0, standing=0) == 10
    assert protocol.new_floor(newest=10, keep=8, standing=7) == 7


def test_a_rival_is_busy_until_it_falls_silent() -> None:
    reading = protocol.Reading(version=3, epoch=2)
    alive = protocol.Holder(2, "r1", closed=False, silent_for=10.0)
    assert protocol.decide_open(reading, "r2", alive, 60.0) == protocol.Busy(alive)
    assert protocol.decide_open(reading, "r1", alive, 60.0) == protocol.Allocate(3, 3)
    assert protocol.decide_open(reading, "r2", replace(alive, silent_for=61.0), 60.0) == protocol.Allocate(3, 3)
    assert protocol.decide_open(reading, "r2", replace(alive, closed=True), 60.0) == protocol.Allocate(3, 3)
    assert protocol.decide_open(reading, "r2", alive, 60.0, force=True) == protocol.Allocate(3, 3)
