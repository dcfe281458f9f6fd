"""A reader of steps in plain Python sets: the meaning of the step language.

Slow and simple on purpose: the Spark engine is held to it by shared cases, and it
is itself held to `naive` and to clingo by random programs.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from foreset.backends.sets.folding import fold_all
from foreset.backends.sets.joins import Schemas, heads
from foreset.backends.sets.linear_fixpoint import spread_out
from foreset.backends.sets.rows import Counters, Memory
from foreset.backends.sets.support_lookup import followed
from foreset.errors import EvaluationError
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
    Counter,
    Derivation,
    Derive,
    Follow,
    Forget,
    Group,
    Merge,
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
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.cycle_nodes import on_circles
from foreset.plan.giving_up import endless
from foreset.values.groups import gather_all


@dataclass(slots=True)
class Work:
    """What a run did: deterministic, so that tests and benchmarks can compare it."""

    rounds: int = 0
    derivations: int = 0  # rule instances that fired
    overdeleted: int = 0
    rederived: int = 0
    groups: int = 0  # that a change touched
    gathered: int = 0  # members that were read because their groups could not be folded


@dataclass(slots=True)
class Machine:
    """Runs the steps of one stratum over a memory."""

    memory: Memory
    schemas: Schemas
    max_rounds: int
    counters: dict[str, Counters] = field(default_factory=dict)
    work: Work = field(default_factory=Work)

    def run(self, procedure: Procedure) -> None:
        """Run all phases; afterwards PLUS and MINUS of the procedure's views are in the memory."""
        helpers = {h.name: tuple(column.type for column in h.columns) for h in procedure.helpers}
        self.schemas = {**self.schemas, **helpers}
        for step in procedure.steps:
            self._step(step)
        for view in procedure.views:
            self.work.overdeleted += len(self.memory.rows(Ref(view, Version.DEL)))
            self.work.rederived += len(self.memory.rows(Ref(view, Version.RED)))

    def _step(self, step: Step) -> None:  # noqa: C901, PLR0912 - one branch per step
        match step:
            case Derive(parts=parts):
                found = [(part.target, self._derived(part)) for part in parts]
                for target, rows in found:
                    self.memory.put(target, rows)
            case Merge(target=target, source=source):
                self.memory.merge(target, self.memory.rows(source))
            case Subtract(target=target, source=source, less=less):
                rows = set(self.memory.rows(source)).difference(*(self.memory.rows(ref) for ref in less))
                self.memory.put(target, rows)
            case Tally():
                self._tally(step)
            case Pick():
                self._pick(step)
            case Forget(relation=relation):
                self.counters[relation] = Counters()
            case AssertCounts(relation=relation):
                self._assert_counts(relation)
            case Group(target=target, source=source, aggregation=aggregation, rule=rule):
                gathered = gather_all(self.memory.rows(source), aggregation, rule)
                self.memory.put(target, [(*group, *row) for group, row in gathered.items()])
            case Aggregate():
                self._aggregate(step)
            case Circles(target=target, source=source):
                self.memory.put(target, on_circles(self.memory.rows(source)))
            case Spread():
                old, new = (spread_out(step, self.memory, version) for version in (Version.OLD, Version.FULL))
                for ref, rows in zip(step.writes, (new - old, old - new), strict=True):
                    self.memory.put(ref, rows)
            case Follow(target=target):
                self.memory.put(target, followed(step, self.memory, self.schemas))
            case Repeat(body=body, until_empty=until_empty):
                self._repeat(body, until_empty)
            case _:
                assert_never(step)

    def _derived(self, part: Derivation) -> set[Row]:
        found: set[Row] = set()
        for rule in part.rules:
            for row in heads(rule, self.memory, self.schemas, part.within):
                self.work.derivations += 1
                found.add(row)
        return {row for row in found if not any(self.memory.contains(ref, row) for ref in part.without)}

    def _tally(self, step: Tally) -> None:
        found: list[tuple[str, int, int, Multiset[Row]]] = []
        for part in step.parts:
            counted = Multiset(row for rule in part.rules for row in heads(rule, self.memory, self.schemas))
            self.work.derivations += counted.total()
            found.append((part.relation, 0 if part.counter is Counter.BASE else 1, part.sign, counted))
        touched: dict[str, set[Row]] = {relation: set() for relation in self.counters}
        for relation, counter, sign, counted in found:
            for row, times in counted.items():
                self._counters(relation).tally(row, counter, sign * times)
            touched.setdefault(relation, set()).update(counted)
        for relation, rows in touched.items():
            self.memory.put(Ref(relation, Version.TOUCHED), rows)

    def _counters(self, relation: str) -> Counters:
        return self.counters.setdefault(relation, Counters())

    def _pick(self, step: Pick) -> None:
        counters = self._counters(step.source.relation)
        rows = {row for row in self.memory.rows(step.source) if _stands(counters, row, step.standing)}
        known = (self.memory.contains(ref, row) for row in rows for ref in step.without)
        if any(known):
            rows = {row for row in rows if not any(self.memory.contains(ref, row) for ref in step.without)}
        self.memory.put(step.target, rows)

    def _aggregate(self, step: Aggregate) -> None:
        outcome = fold_all(step, self.memory)
        self.memory.put(Ref(step.relation, Version.PLUS), outcome.plus)
        self.memory.put(Ref(step.relation, Version.MINUS), outcome.minus)
        self.work.groups += outcome.touched
        self.work.gathered += outcome.read

    def _assert_counts(self, relation: str) -> None:
        counters = self._counters(relation)
        for row in counters.change:
            if min(counters.now(row)) < 0:
                raise EvaluationError(*miscounted(relation, row))

    def _repeat(self, body: tuple[Step, ...], until_empty: tuple[Ref, ...]) -> None:
        rounds = 0
        while any(self.memory.size(ref) for ref in until_empty):
            rounds += 1
            if rounds > self.max_rounds:
                raise EvaluationError(*endless(sorted({ref.relation for ref in until_empty}), self.max_rounds))
            for step in body:
                self._step(step)
        self.work.rounds += rounds


def miscounted(view: str, row: Row) -> tuple[str, str]:
    """What to say when more derivations of a row are taken away than are stored."""
    fact = f"view {view}: the stored number of derivations of {row} is wrong"
    return fact, "the state does not belong to these rows: refresh with `--mode recompute`"


def _stands(counters: Counters, row: Row, standing: Standing) -> bool:
    (base_before, recursive_before), (base, recursive) = counters.was(row), counters.now(row)
    match standing:
        case Standing.APPEARED:
            return base_before + recursive_before == 0 < base + recursive
        case Standing.VANISHED:
            return base_before + recursive_before > 0 == base + recursive
        case Standing.UNFOUNDED:
            return base == 0
        case Standing.STANDING:
            return base + recursive > 0
        case Standing.GONE:
            return base + recursive == 0
        case _:
            assert_never(standing)


def run(
    procedure: Procedure,
    memory: Memory,
    schemas: Schemas,
    max_rounds: int,
    counters: Mapping[str, Mapping[Row, tuple[int, int]]] | None = None,
) -> Machine:
    """Run `procedure` over `memory` with the stored counters; the machine holds what came of it."""
    stored = {view: Counters(before) for view, before in (counters or {}).items()}
    machine = Machine(memory, schemas, max_rounds, stored)
    machine.run(procedure)
    return machine
