"""What a machine asks, answered by plain Python sets: slow and simple on purpose.

The other backends are held to this one by shared cases, and it is itself held to full evaluation and to clingo by
random programs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from foreset.backends.sets.joins import heads
from foreset.backends.sets.linear_fixpoint import spread_out
from foreset.backends.sets.rows import Counters, Memory, Rows
from foreset.backends.sets.support_lookup import followed
from foreset.ir.steps import (
    Aggregate,
    Circles,
    Count,
    Counter,
    Derivation,
    Follow,
    Group,
    Pick,
    Ref,
    Spread,
)
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.backend import Backend, Work
from foreset.machine.cycle_nodes import on_circles
from foreset.machine.folding import fold_all
from foreset.plan import giving_up
from foreset.values.groups import gather_all


@dataclass(slots=True)
class SetsBackend(Backend[Rows, Counters]):
    """The memory of one stratum."""

    versions: Memory
    counters: dict[str, Counters] = field(default_factory=dict)
    work: Work = field(default_factory=Work)

    @property
    def patience(self) -> giving_up.Patience:
        return giving_up.IN_MEMORY

    def derive(self, part: Derivation) -> Sequence[Rows]:
        found: set[Row] = set()
        for rule in part.rules:
            for row in heads(rule, self.versions, part.within):
                self.work.derivations += 1
                found.add(row)
        return self._without(found, part.without)

    def _without(self, rows: Collection[Row], refs: Sequence[Ref]) -> Sequence[Rows]:
        known = [reading for ref in refs if (reading := self.versions.reading(ref)).pieces]
        return [Rows(row for row in rows if not any(row in reading for reading in known))]

    def merge(self, target: Ref, source: Ref) -> None:
        self.versions.merge(target, source)

    def subtract(self, source: Ref, less: Sequence[Ref]) -> Sequence[Rows]:
        """Always a set of its own, which may grow."""
        return [Rows(set(self.versions.rows(source)).difference(*(self.versions.rows(ref) for ref in less)))]

    def tally(self, relation: str, counts: Sequence[Count]) -> Sequence[Rows]:
        counters, touched = self.counters_of(relation), set[Row]()
        for count in counts:
            counter = 0 if count.counter is Counter.BASE else 1
            for rule in count.rules:
                for row in heads(rule, self.versions):
                    self.work.derivations += 1
                    counters.tally(row, counter, count.sign)
                    touched.add(row)
        return [Rows(touched)]

    def pick(self, step: Pick) -> Sequence[Rows]:
        counters = self.counters_of(step.source.relation)
        rows = {row for row in self.versions.rows(step.source) if counters.stands(row, step.standing)}
        return self._without(rows, step.without)

    def uncounted(self, _: str) -> Counters:
        return Counters()

    def impossible(self, relation: str) -> Row | None:
        return self.counters_of(relation).impossible()

    def group(self, step: Group) -> Sequence[Rows]:
        gathered = gather_all(self.versions.rows(step.source), step.aggregation, step.rule)
        return [Rows((*group, *row) for group, row in gathered.items())]

    def aggregate(self, step: Aggregate) -> tuple[Sequence[Rows], Sequence[Rows]]:
        outcome = fold_all(step, self.versions.rows)
        self.work.groups += outcome.touched
        self.work.gathered += outcome.read
        return [Rows(outcome.plus)], [Rows(outcome.minus)]

    def circles(self, step: Circles) -> Sequence[Rows]:
        return [Rows(on_circles(self.versions.rows(step.source)))]

    def spread(self, step: Spread) -> tuple[Sequence[Rows], Sequence[Rows]]:
        old, new = (spread_out(step, self.versions, version) for version in (Version.OLD, Version.FULL))
        return [Rows(new - old)], [Rows(old - new)]

    def follow(self, step: Follow) -> Sequence[Rows]:
        return [Rows(followed(step, self.versions))]
