"""A reader of steps that runs them in DuckDB, in this process: milliseconds a round, for small differentials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from foreset.backends.duckdb import aggregates
from foreset.backends.duckdb.compile import derive
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.linear_fixpoint import spread
from foreset.backends.duckdb.support_lookup import follow
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.backends.sets.interpret import miscounted
from foreset.errors import EvaluationError
from foreset.ir.steps import (
    Aggregate,
    AssertCounts,
    Circles,
    Count,
    Counter,
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
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.cycle_nodes import on_circles
from foreset.plan import giving_up
from foreset.store.types import column_names

Listener = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class InProcess:
    """Runs the phases of one stratum over its tables."""

    tables: Tables
    max_rounds: int
    counters: dict[str, CounterTables] = field(default_factory=dict)
    listen: Listener = lambda _: None
    may_give_up: bool = False  # raise `GivenUp` rather than go on
    rounds: int = 0
    derivations: int = 0  # rule instances that fired

    def run(self, phase: Phase) -> None:
        """Run one phase; its results are in the tables."""
        for step in phase.steps:
            self._step(step)
        taken = {name: self.tables.rows_in(v) for name, v in (("overdeleted", Version.DEL), ("rederived", Version.RED))}
        self.listen({"event": "work", "phase": phase.name, **taken})

    def _step(self, step: Step) -> None:  # noqa: C901, PLR0912 - one branch per step
        match step:
            case Derive(parts=parts):
                found = [(part.target, self._derived(part)) for part in parts]
                for target, table in found:
                    self._put(target, table)
            case Merge(target=target, source=source):
                self.tables.merge(target, source)
                if self.may_give_up and target.version is Version.DEL:
                    old = self.tables.count(Ref(target.relation, Version.OLD))
                    giving_up.OF_PROCESS.check(target.relation, self.tables.count(target), old)
            case Subtract(target=target, source=source, less=less):
                self._subtract(target, source, less)
            case Tally(parts=counts):
                self._tally(counts)
            case Pick():
                self._pick(step)
            case Forget(relation=relation):
                self.counters[relation] = CounterTables(self.tables, relation)
            case AssertCounts(relation=relation):
                self._assert_counts(relation)
            case Circles(target=target, source=source):
                self._circles(target, source)
            case Spread():
                spread(step, self.tables)
            case Follow(target=target):
                self._put(target, follow(step, self.tables))
            case Repeat(body=body, until_empty=until_empty):
                self._repeat(body, until_empty)
            case Group():
                aggregates.group(step, self.tables)
            case Aggregate():
                aggregates.aggregate(step, self.tables)
            case _:
                assert_never(step)
        self.tables.sweep(table for counter in self.counters.values() for table in counter.held)

    def _put(self, ref: Ref, table: Table | None) -> None:
        self.tables.put(ref, *(() if table is None else (Part(table),)))

    def _derived(self, part: Derivation) -> Table | None:
        within = None
        if part.within is not None:
            within = self.tables.whole(part.within)
            if not within.rows:
                return None
        found = [sql for rule in part.rules if (sql := derive(rule, self.tables, within)) is not None]
        if not found:
            return None
        rows = self.tables.make(union(found))
        self.derivations += rows.rows
        return self.tables.make(self.tables.without(rows, part.without, distinct=True)) if rows.rows else None

    def _subtract(self, target: Ref, source: Ref, less: Sequence[Ref]) -> None:
        parts = self.tables.parts(source)
        if not parts or all(self.tables.empty(ref) for ref in less):
            self.tables.put(target, *parts)
            return
        rows = self.tables.whole(source)
        self._put(target, self.tables.make(self.tables.without(rows, less)))

    def _tally(self, counts: Sequence[Count]) -> None:
        relations = dict.fromkeys(part.relation for part in counts)
        for relation in (*relations, *(name for name in self.counters if name not in relations)):
            touched = Ref(relation, Version.TOUCHED)
            found = [sql for part in counts if part.relation == relation for sql in self._signed(part)]
            rows = self.tables.make(union(found)) if found else None
            if rows is None or not rows.rows:
                self.tables.put(touched)
                continue
            self.derivations += rows.rows
            names = ", ".join(column_names(len(self.tables.schemas[relation])))
            sums = "CAST(sum(base) AS BIGINT) AS base, CAST(sum(recursive) AS BIGINT) AS recursive"
            change = self.tables.make(Sql(f"SELECT {names}, {sums} FROM {rows.name} GROUP BY {names}"))
            all_touched = self.tables.make(Sql(f"SELECT {names} FROM {change.name}"))
            self._counters(relation).add(change, all_touched)
            self._put(touched, all_touched)

    def _signed(self, part: Count) -> list[Sql]:
        base, recursive = (part.sign, 0) if part.counter is Counter.BASE else (0, part.sign)
        found = [sql for rule in part.rules if (sql := derive(rule, self.tables)) is not None]
        return [
            Sql(f"SELECT h.*, {base} AS base, {recursive} AS recursive FROM ({sql.text}) h", sql.values)
            for sql in found
        ]

    def _counters(self, relation: str) -> CounterTables:
        return self.counters.setdefault(relation, CounterTables(self.tables, relation))

    def _pick(self, step: Pick) -> None:
        rows = self.tables.whole(step.source)
        if rows.rows:
            rows = self._counters(step.source.relation).standing(rows, step.standing)
        if rows.rows and not all(self.tables.empty(ref) for ref in step.without):
            rows = self.tables.make(self.tables.without(rows, step.without))
        self._put(step.target, rows)

    def _assert_counts(self, relation: str) -> None:
        wrong = self._counters(relation).impossible()
        if wrong is not None and wrong.rows:
            kinds = self.tables.schemas[relation]
            row = self.tables.fetch(wrong, (*kinds, BIGINT, BIGINT))[0][: len(kinds)]
            raise EvaluationError(*miscounted(relation, row))

    def _circles(self, target: Ref, source: Ref) -> None:
        kinds = self.tables.schemas[source.relation]
        edges = self.tables.whole(source)
        self.tables.budget.see(edges.rows)
        nodes = on_circles(self.tables.fetch(edges, kinds))
        names, types = column_names(len(kinds) // 2), kinds[: len(kinds) // 2]
        self._put(target, self.tables.bring(sorted(nodes, key=repr), types, names) if nodes else None)

    def _repeat(self, body: tuple[Step, ...], until_empty: tuple[Ref, ...]) -> None:
        rounds = 0
        while not all(self.tables.empty(ref) for ref in until_empty):
            rounds += 1
            found = {ref.relation: self.tables.count(ref) for ref in until_empty}
            self.listen({"event": "round", "round": rounds, "rows": found})
            if rounds > self.max_rounds:
                raise EvaluationError(*giving_up.endless(sorted(found), self.max_rounds))
            for step in body:
                self._step(step)
        self.rounds += rounds


def union(queries: Sequence[Sql]) -> Sql:
    """All rows of all queries."""
    values = {name: value for query in queries for name, value in query.values.items()}
    return Sql(
        " UNION ALL ".join(f"({query.text})" if " UNION ALL " in query.text else query.text for query in queries),
        values,
    )
