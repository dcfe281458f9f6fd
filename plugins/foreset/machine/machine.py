"""The one interpreter of the step language; how rows are joined, counted and kept is a backend's.

It knows what steps mean, when a loop ends, and when a strategy is given up. Whatever it asks of a backend is asked
from the state before the step, and assigned after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, assert_never

from foreset.errors import EvaluationError
from foreset.ir.sizes import summed
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
    Count,
    Derivation,
    Derive,
    Follow,
    Forget,
    Group,
    Merge,
    Phase,
    Pick,
    Ref,
    Repeat,
    Spread,
    Step,
    Subtract,
    Tally,
)
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.backend import Backend
from foreset.machine.versions import P
from foreset.plan import giving_up
from foreset.records.events import OfMachine, PhaseDone, RoundBegun

SETTLED = 3  # rounds, after which a loop is expected to go on for some more
Listener = Callable[[OfMachine], None]


@dataclass(slots=True)
class Machine(Generic[P]):
    """Runs the phases of one stratum."""

    backend: Backend[P, Any]
    max_rounds: int
    listen: Listener = lambda _: None
    may_give_up: bool = False  # raise `GivenUp` rather than go on

    def run(self, *phases: Phase) -> None:
        """Run phases one after the other; their results are in the backend's versions."""
        work, versions = self.backend.work, self.backend.versions
        for phase in phases:
            for step in phase.steps:
                self._step(step)
            work.overdeleted, work.rederived = versions.rows_in(Version.DEL), versions.rows_in(Version.RED)
            self.listen(PhaseDone(phase.name, work.overdeleted, work.rederived))

    def _step(self, step: Step) -> None:  # noqa: C901, PLR0912 - one branch per step
        backend, put, empty = self.backend, self.backend.versions.put, self.backend.versions.empty
        match step:
            case Derive(parts=parts):
                found = [(part.target, self._derived(part)) for part in parts]
                for target, pieces in found:
                    put(target, *pieces)
            case Merge(target=target, source=source):
                self._merge(target, source)
            case Subtract(target=target, source=source, less=less):
                put(target, *(() if empty(source) else backend.subtract(source, [r for r in less if not empty(r)])))
            case Tally(parts=counts):
                self._tally(counts)
            case Pick(target=target, source=source):
                put(target, *(() if empty(source) else backend.pick(step)))
            case Forget(relation=relation):
                backend.counters[relation] = backend.uncounted(relation)
            case AssertCounts(relation=relation):
                row = backend.impossible(relation)
                if row is not None:
                    raise EvaluationError(*miscounted(relation, row))
            case Group(target=target, source=source):
                put(target, *(() if empty(source) else backend.group(step)))
            case Aggregate(aggregation=aggregation):
                changes = [Ref(aggregation.members, version) for version in (Version.PLUS, Version.MINUS)]
                sides = ((), ()) if all(map(empty, changes)) else backend.aggregate(step)
                for version, pieces in zip((Version.PLUS, Version.MINUS), sides, strict=True):
                    put(Ref(step.relation, version), *pieces)
            case Circles(target=target, source=source):
                put(target, *(() if empty(source) else backend.circles(step)))
            case Spread():
                giving_up.check_spread(step.relation, summed(map(backend.versions.count, step.reads)))
                for ref, pieces in zip(step.writes, backend.spread(step), strict=True):
                    put(ref, *pieces)
            case Follow(target=target, source=source):
                put(target, *(() if empty(source) else backend.follow(step)))
            case Repeat(body=body, until_empty=until_empty):
                self._repeat(body, until_empty)
            case _:
                assert_never(step)
        backend.after_step()

    def _derived(self, part: Derivation) -> Sequence[P]:
        nothing = not part.rules or (part.within is not None and self.backend.versions.empty(part.within))
        return () if nothing else self.backend.derive(part)

    def _merge(self, target: Ref, source: Ref) -> None:
        self.backend.merge(target, source)
        if self.may_give_up and target.version is Version.DEL:
            count = self.backend.versions.count
            self.backend.patience.check(target.relation, count(target), count(Ref(target.relation, Version.OLD)))

    def _tally(self, counts: Sequence[Count]) -> None:
        named = dict.fromkeys((*(count.relation for count in counts), *self.backend.counters))
        found = [(name, self.backend.tally(name, [one for one in counts if one.relation == name])) for name in named]
        for name, pieces in found:
            self.backend.versions.put(Ref(name, Version.TOUCHED), *pieces)

    def _repeat(self, body: tuple[Step, ...], until_empty: tuple[Ref, ...]) -> None:
        versions, rounds = self.backend.versions, 0
        while not all(versions.empty(ref) for ref in until_empty):
            rounds += 1
            found = {ref.relation: versions.count(ref) for ref in until_empty}
            self.listen(RoundBegun(rounds, found))
            if rounds > self.max_rounds:
                raise EvaluationError(*giving_up.endless(sorted(found), self.max_rounds))
            if rounds == SETTLED:
                self.backend.keep_near(body)
            for step in body:
                self._step(step)
        self.backend.work.rounds += rounds


def miscounted(view: str, row: Row) -> tuple[str, str]:
    """What to say when more derivations of a row are taken away than are stored."""
    fact = f"view {view}: the stored number of derivations of {row} is wrong"
    return fact, "the state does not belong to these rows: refresh with `--mode recompute`"
