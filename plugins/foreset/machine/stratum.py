"""One stratum, run: fed from wherever its relations lie, by whatever backend.

A refresh, a recount, `deny:`, a replica in memory, tests and benchmarks all run their strata here. They differ in where
relations lie (`Places`) and in how rows are taken in (`Port`), and in nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from foreset.ir.reads import awaited, named_by, places_read, read_by
from foreset.ir.steps import Phase, Procedure, Ref, Repeat, Step, Tally
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.backend import Backend
from foreset.machine.lookahead import read_once
from foreset.machine.machine import Listener, Machine
from foreset.plan.translate import COUNTED, REMEMBERED
from foreset.records.events import PhaseBegun

L = TypeVar("L")  # where a version of a relation lies
L_co = TypeVar("L_co", covariant=True)
L_contra = TypeVar("L_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Reads:
    """What a procedure finds when it begins."""

    lower: tuple[str, ...]  # relations below
    own: tuple[str, ...]  # views whose state before it reads
    counters: tuple[str, ...]  # views whose stored counters it needs
    building: bool  # of what lies below it reads new states only
    tallying: bool  # it counts derivations: copies of a row would count too


@functools.lru_cache(REMEMBERED)
def reads_of(procedure: Procedure, lower: tuple[str, ...]) -> Reads:
    """By the steps alone, whatever the strategy is called."""
    named = {ref.version for ref in read_by(procedure.steps) if ref.relation in lower}
    # Who deletes is weighed against what there was (`Machine._merge`), also where no step reads that.
    before, every = awaited(procedure.steps), set(named_by(procedure.steps))
    own = tuple(view for view in procedure.views if Ref(view, Version.OLD) in before or Ref(view, Version.DEL) in every)
    counters = procedure.views if procedure.strategy in COUNTED else ()
    return Reads(lower, own, counters, named <= {Version.NEW}, _tallies(procedure.steps))


@functools.lru_cache(8 * REMEMBERED)
def _places_read(procedure: Procedure, relation: str) -> frozenset[int] | None:
    return places_read(procedure.steps, relation)


def _tallies(steps: Sequence[Step]) -> bool:
    return any(isinstance(one, Tally) or (isinstance(one, Repeat) and _tallies(one.body)) for one in steps)


class Places(Protocol[L_co]):
    """Where relations lie."""

    def below(self, relation: str, *, building: bool, read: AbstractSet[int] | None) -> Sequence[L_co]:
        """A lower relation: its new state, and unless the stratum is built, its old one and what came and went.

        `read`: the columns of which rules say anything, None for all.
        """

    def before(self, view: str) -> Sequence[L_co]:
        """The state that a view of the stratum had."""

    def counters(self, view: str) -> L_co | None:
        """The counters that a view of the stratum had; None where no row has two derivations, and none are needed."""


class Port(Protocol[L_contra]):
    """How one backend takes relations in."""

    @property
    def backend(self) -> Backend[Any, Any]:
        """What runs the steps."""

    def put(self, versions: Sequence[L_contra], reads: Reads) -> None:
        """Take in versions of one relation; what is large is opened when a step first asks for it."""

    def count(self, view: str, stored: L_contra | None) -> None:
        """Take in counters; None: no row has two derivations."""


class Results(Port[L_contra], Protocol[L_contra]):
    """The same, where what came of it is asked for row by row."""

    def rows(self, ref: Ref, most: int | None = None) -> list[Row]:
        """The rows of a version, or so many of them."""

    def changes(self, view: str) -> Mapping[Row, tuple[int, int]]:
        """How the counters of a view have changed, by row."""


@dataclass(frozen=True, slots=True)
class Task:
    """A procedure over lower relations, and how far it may go."""

    procedure: Procedure
    lower: tuple[str, ...]
    max_rounds: int
    listen: Listener = lambda _: None
    may_give_up: bool = False  # raise `GivenUp` rather than go on
    staged: bool = False  # of what it leaves behind, only differentials and counters are read, each once

    @property
    def results(self) -> tuple[Ref, ...]:
        """The differentials."""
        return tuple(Ref(view, side) for view in self.procedure.views for side in (Version.PLUS, Version.MINUS))

    @property
    def reads(self) -> Reads:
        """What it finds when it begins."""
        return reads_of(self.procedure, self.lower)


def run_stratum(task: Task, port: Port[L], places: Places[L]) -> None:
    """Run a whole stratum; its results are in the versions of the backend."""
    feed(task, port, places)
    run_phases(task, port, task.procedure.phases)


def feed(task: Task, port: Port[L], places: Places[L]) -> None:
    """Take in what a procedure finds when it begins."""
    reads = task.reads
    for name in reads.lower:
        read = _places_read(task.procedure, name)
        port.put(places.below(name, building=reads.building, read=read), reads)
    for view in reads.own:
        port.put(places.before(view), reads)
    for view in reads.counters:
        port.count(view, places.counters(view))
    if task.staged:
        versions = port.backend.versions
        port.backend.foresee(lambda: read_once(task.procedure.steps, task.results, versions.empty_unopened))


def run_phases(task: Task, port: Port[L], phases: Iterable[Phase]) -> None:
    """Run some phases of a stratum that was fed; of those before, what is handed over has to be there."""
    machine = Machine(port.backend, task.max_rounds, task.listen, task.may_give_up)
    for phase in phases:
        task.listen(PhaseBegun(phase.name))
        machine.run(phase)
