"""The machine over a backend of sets that notes what it is asked for: when, how often, and from which state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Memory, Rows
from foreset.errors import EvaluationError
from foreset.ir.rules import Atom, Rule
from foreset.ir.steps import (
    Count,
    Counter,
    Derivation,
    Derive,
    Merge,
    Phase,
    Pick,
    Procedure,
    Ref,
    Repeat,
    Spread,
    Standing,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.terms import Var
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.machine import SETTLED
from foreset.machine.stratum import Task, run_phases
from foreset.machine.versions import Versions
from foreset.plan.giving_up import GivenUp, Patience
from foreset.records.events import OfMachine, RoundBegun
from foreset.relations.sets import SetsPort

X, Y = Var("X"), Var("Y")
TYPES = {"X": BIGINT, "Y": BIGINT}


def ref(relation: str, version: Version) -> Ref:
    return Ref(relation, version)


def rule(head: Atom, *body: Atom) -> Rule:
    return Rule(head, body, name="v#1", types=TYPES)


@dataclass(slots=True)
class Noting(SetsBackend):
    """Sets, with a note of the calls that no row shows."""

    near: int = 0
    steps: int = 0

    @property
    def patience(self) -> Patience:
        return Patience(0.0, 1)

    def keep_near(self, _: Any) -> None:
        self.near += 1

    def after_step(self) -> None:
        self.steps += 1


@dataclass(slots=True)
class World:
    """A memory, and a machine over it."""

    backend: Noting = field(default_factory=lambda: Noting(Memory({"v": (BIGINT,), "e": (BIGINT, BIGINT)})))
    told: list[OfMachine] = field(default_factory=list)
    max_rounds: int = 50
    may_give_up: bool = False

    def run(self, *steps: Step) -> None:
        phase = Phase("only", steps)
        task = Task(Procedure("by hand", ("v",), (phase,)), (), self.max_rounds, self.told.append, self.may_give_up)
        run_phases(task, SetsPort(self.backend), (phase,))

    def rows(self, version: Version) -> set[int]:
        return {row[0] for row in self.backend.versions.rows(ref("v", version))}

    def fill(self, version: Version, *rows: int) -> None:
        self.backend.versions.fill(ref("v", version), [(row,) for row in rows])


def walk(world: World, length: int) -> Repeat:
    """A loop that goes along a chain, a step a round."""
    world.backend.versions.fill(ref("e", Version.NEW), [(n, n + 1) for n in range(length)])
    world.fill(Version.INS_NEXT, 0)
    nexts = ref("v", Version.INS_NEXT)
    way = rule(Atom("v", (Y,)), Atom("v", (X,), version=Version.INS_NEXT), Atom("e", (X, Y), version=Version.NEW))
    ins = ref("v", Version.INS)
    return Repeat((Merge(ins, nexts), Derive((Derivation(nexts, (way,), without=(ins,)),))), (nexts,))


def test_a_loop_ends_when_nothing_is_new_and_keeps_near_what_it_reads_once() -> None:
    world = World()
    loop = walk(world, 6)
    world.run(loop)
    assert world.rows(Version.INS) == set(range(7))
    assert (world.backend.work.rounds, world.backend.near, world.backend.steps) == (7, 1, 15)
    assert [event.rows for event in world.told if isinstance(event, RoundBegun)] == [{"v": 1}] * 7
    short = World()
    short.run(walk(short, SETTLED - 2))
    assert (short.backend.work.rounds, short.backend.near) == (SETTLED - 1, 0)


def test_a_loop_that_does_not_end_is_an_error() -> None:
    world = World(max_rounds=3)
    with pytest.raises(EvaluationError, match="recursion of v has not ended after 3 rounds"):
        world.run(walk(world, 6))


def test_what_is_derived_at_once_is_derived_from_the_state_before() -> None:
    world = World()
    world.fill(Version.PLUS, 1)
    world.fill(Version.MINUS, 2)
    swap = [
        Derivation(ref("v", to), (rule(Atom("v", (X,)), Atom("v", (X,), version=of)),))
        for to, of in ((Version.PLUS, Version.MINUS), (Version.MINUS, Version.PLUS))
    ]
    world.run(Derive(tuple(swap)))
    assert (world.rows(Version.PLUS), world.rows(Version.MINUS)) == ({2}, {1})


def test_what_is_not_needed_is_not_opened() -> None:
    """Of nothing, nothing is taken away; and rules whose other atom is empty read nothing."""
    world = World()
    opened: list[str] = []

    def late(name: str) -> list[Rows]:
        opened.append(name)
        return [Rows([(1,)])]

    world.backend.versions.put_later(ref("v", Version.OLD), lambda: late("old"))
    full, plus = ref("v", Version.FULL), ref("v", Version.PLUS)
    both = rule(Atom("v", (X,)), Atom("v", (X,), version=Version.OLD), Atom("v", (X,), version=Version.DEL))
    world.run(Subtract(plus, full, (ref("v", Version.OLD),)), Derive((Derivation(full, (both,)),)))
    assert not opened
    within = Derivation(full, (rule(Atom("v", (X,)), Atom("v", (X,), version=Version.OLD)),), within=plus)
    world.run(Derive((within,)))
    assert not opened
    world.fill(Version.PLUS, 1, 2)
    world.run(Subtract(plus, plus, (ref("v", Version.LEFT),)), Derive((within,)))
    assert (world.rows(Version.PLUS), opened) == ({2}, ["old"]), "and it is opened once"


def test_a_tally_touches_what_it_names_and_nothing_else() -> None:
    """Rows of which counts cancel are touched; of views that it does not name, no row is."""
    world = World()
    world.backend.versions.schemas = {**world.backend.versions.schemas, "w": (BIGINT,)}
    world.backend.counters["w"] = world.backend.uncounted("w")
    world.backend.versions.fill(ref("w", Version.TOUCHED), [(9,)])
    world.fill(Version.OLD, 1, 2)
    world.fill(Version.PLUS, 2)
    more = Count("v", Counter.BASE, 1, (rule(Atom("v", (X,)), Atom("v", (X,), version=Version.OLD)),))
    less = Count("v", Counter.BASE, -1, (rule(Atom("v", (X,)), Atom("v", (X,), version=Version.PLUS)),))
    touched = ref("v", Version.TOUCHED)
    world.run(Tally((more, less)), Pick(ref("v", Version.INS), touched, Standing.APPEARED))
    assert (world.rows(Version.TOUCHED), world.rows(Version.INS)) == ({1, 2}, {1})
    assert world.backend.versions.empty(ref("w", Version.TOUCHED))


def test_a_deletion_is_given_up_only_where_it_may_be() -> None:
    for may in (False, True):
        world = World(may_give_up=may)
        world.fill(Version.OLD, 1, 2, 3)
        world.fill(Version.DEL_NEXT, 1, 2)
        step = Merge(ref("v", Version.DEL), ref("v", Version.DEL_NEXT))
        if may:
            with pytest.raises(GivenUp, match="2 of the 3 rows of v"):
                world.run(step)
        else:
            world.run(step)
            assert world.backend.work.overdeleted == 2


def test_rows_that_nobody_has_counted_are_not_spread() -> None:
    """A piece may be a plan that has not run: then its number is not known, and it is not empty."""

    @dataclass(frozen=True)
    class Plan:
        rows: int | None = None

    versions = Versions[Plan]()
    versions.put(ref("e", Version.OLD), Plan(3), Plan(), Plan(0))
    assert (versions.count(ref("e", Version.OLD)), versions.empty(ref("e", Version.OLD))) == (None, False)
    assert len(versions.stored(ref("e", Version.OLD))) == 2
    world = World()
    world.backend.versions = versions
    with pytest.raises(GivenUp, match="an unknown number of rows"):
        world.run(Spread("v", "e", "e", (0,)))


def test_a_virtual_version_is_its_base_less_what_went_with_what_came() -> None:
    world = World()
    versions = world.backend.versions
    for version, rows in ((Version.OLD, (1, 2, 3)), (Version.MINUS, (2,)), (Version.PLUS, (4,))):
        world.fill(version, *rows)
    found = {version: world.rows(version) for version in (Version.NEW, Version.KEPT, Version.EVER)}
    assert found == {Version.NEW: {1, 3, 4}, Version.KEPT: {1, 3}, Version.EVER: {1, 2, 3, 4}}
    (old,) = versions.stored(ref("v", Version.OLD))
    versions.put(ref("v", Version.MINUS), old)
    assert versions.composed(ref("v", Version.KEPT)) == (), "all of it went, and nobody has to look"
    versions.put(ref("v", Version.NEW), old)
    assert world.rows(Version.NEW) == {1, 2, 3}, "a version that is there is not composed"
