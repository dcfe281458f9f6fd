"""What a machine asks, answered by DuckDB in this process: milliseconds a round, for small differentials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foreset.backends.duckdb import aggregates
from foreset.backends.duckdb.compile import derive
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.support_lookup import follow
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.ir.rules import Rule
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
from foreset.ir.types import BIGINT
from foreset.machine.backend import Backend, Work
from foreset.machine.cycle_nodes import on_circles
from foreset.plan import giving_up
from foreset.store.types import column_names


@dataclass(slots=True)
class DuckDBBackend(Backend[Part, CounterTables]):
    """The tables of one stratum."""

    versions: Tables
    counters: dict[str, CounterTables] = field(default_factory=dict)
    work: Work = field(default_factory=Work)

    @property
    def patience(self) -> giving_up.Patience:
        return giving_up.IN_MEMORY

    def derive(self, part: Derivation) -> Sequence[Part]:
        """One query for all rules."""
        wanted = None if part.within is None else self.versions.whole(part.within)
        if wanted is not None and not wanted.rows:
            return ()
        found = self._derived(part.rules, part.within, wanted)
        if not found:
            return ()
        rows = self._counted(found)
        if not rows.rows:
            return ()
        return [Part(self.versions.make(self.versions.without(rows, part.without, distinct=True)))]

    def _derived(self, rules: Sequence[Rule], within: Ref | None = None, wanted: Table | None = None) -> list[Sql]:
        return [sql for rule in rules if (sql := derive(rule, self.versions, within, wanted)) is not None]

    def _counted(self, queries: Sequence[Sql]) -> Table:
        """The rows of queries, one for each instance of a rule that fired."""
        rows = self.versions.make(union(queries))
        self.work.derivations += rows.rows
        return rows

    def merge(self, target: Ref, source: Ref) -> None:
        """Into a table that only the target refers to."""
        self.versions.merge(target, source)

    def subtract(self, source: Ref, less: Sequence[Ref]) -> Sequence[Part]:
        """The parts as they are where nothing is taken away."""
        if not less:
            return self.versions.parts(source)
        rows = self.versions.whole(source)
        return [Part(self.versions.make(self.versions.without(rows, less)))]

    def tally(self, relation: str, counts: Sequence[Count]) -> Sequence[Part]:
        """One query for all rules of the relation."""
        found = [sql for part in counts for sql in self._signed(part)]
        rows = self._counted(found) if found else None
        if rows is None or not rows.rows:
            return ()
        names = ", ".join(column_names(len(self.versions.schemas[relation])))
        sums = "CAST(sum(base) AS BIGINT) AS base, CAST(sum(recursive) AS BIGINT) AS recursive"
        change = self.versions.make(Sql(f"SELECT {names}, {sums} FROM {rows.name} GROUP BY {names}"))
        touched = self.versions.make(Sql(f"SELECT {names} FROM {change.name}"))
        self.counters_of(relation).add(change, touched)
        return [Part(touched)]

    def _signed(self, part: Count) -> list[Sql]:
        base, recursive = (part.sign, 0) if part.counter is Counter.BASE else (0, part.sign)
        return [
            Sql(f"SELECT h.*, {base} AS base, {recursive} AS recursive FROM ({sql.text}) h", sql.values)
            for sql in self._derived(part.rules)
        ]

    def pick(self, step: Pick) -> Sequence[Part]:
        """Looked up in the stored counters and in this run's changes."""
        rows = self.versions.whole(step.source)
        if rows.rows:
            rows = self.counters_of(step.source.relation).standing(rows, step.standing)
        if rows.rows and not all(self.versions.empty(ref) for ref in step.without):
            rows = self.versions.make(self.versions.without(rows, step.without))
        return [Part(rows)]

    def uncounted(self, relation: str) -> CounterTables:
        return CounterTables(self.versions, relation)

    def impossible(self, relation: str) -> Row | None:
        wrong = self.counters_of(relation).impossible()
        if wrong is None or not wrong.rows:
            return None
        kinds = self.versions.schemas[relation]
        return self.versions.fetch(wrong, (*kinds, BIGINT, BIGINT))[0][: len(kinds)]

    def group(self, step: Group) -> Sequence[Part]:
        """By DuckDB where it can."""
        return [Part(aggregates.group(step, self.versions))]

    def aggregate(self, step: Aggregate) -> tuple[Sequence[Part], Sequence[Part]]:
        """Folded by DuckDB where it can."""
        plus, minus = aggregates.aggregate(step, self.versions)
        return [Part(plus)], [Part(minus)]

    def circles(self, step: Circles) -> Sequence[Part]:
        kinds = self.versions.schemas[step.source.relation]
        edges = self.versions.whole(step.source)
        self.versions.budget.see(edges.rows)
        nodes = on_circles(self.versions.fetch(edges, kinds))
        names, types = column_names(len(kinds) // 2), kinds[: len(kinds) // 2]
        return [Part(self.versions.bring(sorted(nodes, key=repr), types, names))] if nodes else ()

    def spread(self, step: Spread) -> tuple[Sequence[Part], Sequence[Part]]:
        from foreset.bitsets.spread import spread

        tables = self.versions
        return spread(step, lambda ref: tables.arrow(tables.whole(ref)), lambda rows: Part(tables.take_arrow(rows)))

    def follow(self, step: Follow) -> Sequence[Part]:
        rows = follow(step, self.versions)
        return () if rows is None else [Part(rows)]

    def after_step(self) -> None:
        self.versions.sweep(table for counter in self.counters.values() for table in counter.held)


def union(queries: Sequence[Sql]) -> Sql:
    """All rows of all queries."""
    values = {name: value for query in queries for name, value in query.values.items()}
    return Sql(
        " UNION ALL ".join(f"({query.text})" if " UNION ALL " in query.text else query.text for query in queries),
        values,
    )
