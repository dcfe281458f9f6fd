"""Views of groups: by DuckDB where `gathering.py` has words for it, else by the reference, for touched groups only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

import duckdb

from foreset.backends.duckdb.gathering import folded, grouped
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.backends.sets.folding import fold_all
from foreset.backends.sets.rows import Memory
from foreset.ir.aggregates import Aggregation, Upkeep
from foreset.ir.steps import Aggregate, Group, Ref
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.store.types import column_names
from foreset.values.groups import gather_all


def group(step: Group, tables: Tables) -> None:
    """One row for each group of the source."""
    parts = tables.parts(step.source)
    if not parts:
        tables.put(step.target)
        return
    found = _grouped(tables, tables.select(parts, step.source.relation).text, step.source.relation, step.aggregation)
    if found is not None:
        tables.put(step.target, Part(found))
        return
    rows = _seen(tables, tables.whole(step.source), step.source)
    _bring(tables, step.target, [(*key, *row) for key, row in gather_all(rows, step.aggregation, step.rule).items()])


def aggregate(step: Aggregate, tables: Tables) -> None:
    """PLUS and MINUS of the view from those of its members."""
    if _folded(step, tables):
        return
    outcome = fold_all(step, _TouchedGroups(step, tables), lambda groups: _gathered(step, tables, groups))
    _bring(tables, Ref(step.relation, Version.PLUS), list(outcome.plus))
    _bring(tables, Ref(step.relation, Version.MINUS), list(outcome.minus))


def _grouped(tables: Tables, members: str, relation: str, aggregation: Aggregation) -> Table | None:
    """The groups of the members by DuckDB; None where the reference must say, or can say which group fails."""
    text = grouped(aggregation, tables.schemas[relation][: aggregation.groups], members)
    try:
        return None if text is None else tables.make(Sql(text))
    except duckdb.Error:  # such as a total of more than 38 digits
        return None


def _folded(step: Aggregate, tables: Tables) -> bool:
    """The change of the view by DuckDB; False, with nothing done, where the reference must say or can say more."""
    aggregation, relation = step.aggregation, step.relation
    if aggregation.upkeep is Upkeep.ANEW:
        return False
    came, went = _groups_of(step, tables, Version.PLUS), _groups_of(step, tables, Version.MINUS)
    if came is None or went is None:
        return False
    width, names = aggregation.groups, column_names(len(tables.schemas[relation]))
    keys = ", ".join(names[:width]) or "1 AS one"
    touched = tables.make(Sql(f"SELECT {keys} FROM {came.name} UNION SELECT {keys} FROM {went.name}"))
    old = _standing(Ref(relation, Version.OLD), tables, touched, names[:width])
    try:
        after = tables.make(Sql(folded(aggregation, touched.name, old.name, came.name, went.name)))
    except duckdb.Error:  # such as a total of more than 38 digits
        return False
    new = _settled(step, tables, after)
    if new is None:
        return False
    standing = f"SELECT {', '.join(names)} FROM {old.name}"
    tables.put(Ref(relation, Version.PLUS), Part(tables.make(Sql(f"{new} EXCEPT {standing}"))))
    tables.put(Ref(relation, Version.MINUS), Part(tables.make(Sql(f"{standing} EXCEPT {new}"))))
    return True


def _standing(ref: Ref, tables: Tables, touched: Table, names: Sequence[str]) -> Table:
    """The groups that are touched, as they were."""
    if names:
        return tables.held(touched, ref, names)
    return tables.whole(ref) if touched.rows else tables.nothing(ref.relation)


def _settled(step: Aggregate, tables: Tables, after: Table) -> str | None:
    """The groups that stand after the change, those whose extremum went from their members; None for the reference."""
    aggregation, names = step.aggregation, column_names(len(tables.schemas[step.relation]))
    width, columns = aggregation.groups, ", ".join(names)
    members = names[width]
    ((gone, below),) = tables.run(
        Sql(f"SELECT count(*) FILTER (WHERE must_be_read), count(*) FILTER (WHERE {members} < 0) FROM {after.name}")
    )
    if below:
        return None
    text = f"SELECT {columns} FROM {after.name} WHERE NOT must_be_read AND {members} > 0"
    if gone:
        left = f"SELECT {', '.join(names[:width])} FROM {after.name} WHERE must_be_read"
        read = _members(step, tables, tables.make(Sql(left)) if width else None)
        anew = _grouped(tables, f"SELECT * FROM {read.name}", aggregation.members, aggregation)
        if anew is None:
            return None
        text += f" UNION ALL SELECT {columns} FROM {anew.name}"
    return f"({text})"


def _groups_of(step: Aggregate, tables: Tables, version: Version) -> Table | None:
    """The accumulators of the members that came or went alone."""
    ref = Ref(step.aggregation.members, version)
    parts = tables.parts(ref)
    if not parts:
        return tables.nothing(step.relation)
    return _grouped(tables, tables.select(parts, ref.relation).text, ref.relation, step.aggregation)


def _gathered(step: Aggregate, tables: Tables, groups: AbstractSet[Row]) -> tuple[Mapping[Row, Row], int]:
    """The accumulators of these groups, from their members."""
    aggregation, ref = step.aggregation, Ref(step.aggregation.members, Version.NEW)
    width, names = aggregation.groups, column_names(aggregation.groups)
    keys = tables.bring(list(groups), tables.schemas[ref.relation][:width], names) if width else None
    members = _members(step, tables, keys)
    found = _grouped(tables, f"SELECT * FROM {members.name}", ref.relation, aggregation)
    if found is None:
        return gather_all(_seen(tables, members, ref), aggregation, step.rule), members.rows
    rows = tables.fetch(found, tables.schemas[step.relation])
    return {row[:width]: row[width:] for row in rows}, members.rows


def _members(step: Aggregate, tables: Tables, groups: Table | None) -> Table:
    """The members of these groups as they are now; None: of the only one."""
    ref = Ref(step.aggregation.members, Version.NEW)
    return tables.whole(ref) if groups is None else tables.held(groups, ref, column_names(step.aggregation.groups))


class _TouchedGroups(Memory):
    """Relations as `fold_all` reads them, without the groups that no change touches."""

    __slots__ = ("step", "tables")

    def __init__(self, step: Aggregate, tables: Tables) -> None:
        super().__init__()
        self.step, self.tables = step, tables

    def rows(self, ref: Ref) -> Collection[Row]:
        """The changes of the members as a whole, states by group."""
        tables = self.tables
        if ref.version in (Version.PLUS, Version.MINUS):
            return _seen(tables, tables.whole(ref), ref)
        return _seen(tables, self._of_groups(ref), ref)

    def _of_groups(self, ref: Ref) -> Table:
        aggregation, tables = self.step.aggregation, self.tables
        names = column_names(aggregation.groups)
        if not names:
            return tables.whole(ref)
        changes = (tables.parts(Ref(aggregation.members, version)) for version in (Version.PLUS, Version.MINUS))
        rows = tables.select([part for parts in changes for part in parts], aggregation.members)
        keys = tables.make(Sql(f"SELECT DISTINCT {', '.join(names)} FROM ({rows.text})"))
        return tables.held(keys, ref, names)


def _seen(tables: Tables, table: Table, ref: Ref) -> list[Row]:
    tables.budget.see(table.rows)
    return tables.fetch(table, tables.schemas[ref.relation])


def _bring(tables: Tables, ref: Ref, rows: list[Row]) -> None:
    kinds = tables.schemas[ref.relation]
    tables.put(ref, *([Part(tables.bring(rows, kinds, column_names(len(kinds))))] if rows else []))
