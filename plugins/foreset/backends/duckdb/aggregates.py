"""Views of groups: by DuckDB where `gathering.py` has words for it, else in Python, for touched groups only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

import duckdb

from foreset.backends.duckdb.gathering import folded, grouped
from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.ir.aggregates import Aggregation, Upkeep
from foreset.ir.steps import Aggregate, Group, Ref
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.folding import fold_all
from foreset.store.types import column_names
from foreset.values.groups import gather_all


def group(step: Group, tables: Tables) -> Table:
    """One row for each group of the source."""
    parts = tables.parts(step.source)
    found = _grouped(tables, tables.select(parts, step.source.relation).text, step.source.relation, step.aggregation)
    if found is not None:
        return found
    rows = _seen(tables, tables.whole(step.source), step.source)
    gathered = gather_all(rows, step.aggregation, step.rule)
    return _bring(tables, step.target.relation, [(*key, *row) for key, row in gathered.items()])


def aggregate(step: Aggregate, tables: Tables) -> tuple[Table, Table]:
    """PLUS and MINUS of the view from those of its members."""
    found = _folded(step, tables)
    if found is not None:
        return found
    outcome = fold_all(step, partial(_touched_groups, step, tables), partial(_gathered, step, tables))
    plus, minus = (_bring(tables, step.relation, list(rows)) for rows in (outcome.plus, outcome.minus))
    return plus, minus


def _grouped(tables: Tables, members: str, relation: str, aggregation: Aggregation) -> Table | None:
    """The groups of the members by DuckDB; None where Python must say, or can say which group fails."""
    text = grouped(aggregation, tables.schemas[relation][: aggregation.groups], members)
    try:
        return None if text is None else tables.make(Sql(text))
    except duckdb.Error:  # such as a total of more than 38 digits
        return None


def _folded(step: Aggregate, tables: Tables) -> tuple[Table, Table] | None:
    """The change of the view by DuckDB; None where Python must say, or can say more."""
    aggregation, relation = step.aggregation, step.relation
    if aggregation.upkeep is Upkeep.ANEW:
        return None
    came, went = _groups_of(step, tables, Version.PLUS), _groups_of(step, tables, Version.MINUS)
    if came is None or went is None:
        return None
    width, names = aggregation.groups, column_names(len(tables.schemas[relation]))
    keys = ", ".join(names[:width]) or "1 AS one"
    touched = tables.make(Sql(f"SELECT {keys} FROM {came.name} UNION SELECT {keys} FROM {went.name}"))
    old = _standing(Ref(relation, Version.OLD), tables, touched, names[:width])
    try:
        after = tables.make(Sql(folded(aggregation, touched.name, old.name, came.name, went.name)))
    except duckdb.Error:  # such as a total of more than 38 digits
        return None
    new = _settled(step, tables, after)
    if new is None:
        return None
    standing = f"SELECT {', '.join(names)} FROM {old.name}"
    return tables.make(Sql(f"{new} EXCEPT {standing}")), tables.make(Sql(f"{standing} EXCEPT {new}"))


def _standing(ref: Ref, tables: Tables, touched: Table, names: Sequence[str]) -> Table:
    """The groups that are touched, as they were."""
    if names:
        return tables.held(touched, ref, names)
    return tables.whole(ref) if touched.rows else tables.nothing(ref.relation)


def _settled(step: Aggregate, tables: Tables, after: Table) -> str | None:
    """The groups that stand after the change, those whose extremum went from their members; None for Python."""
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


def _touched_groups(step: Aggregate, tables: Tables, ref: Ref) -> list[Row]:
    """The changes of the members as a whole; of states, the rows of the groups that these touch."""
    names = column_names(step.aggregation.groups)
    if ref.version in (Version.PLUS, Version.MINUS) or not names:
        return _seen(tables, tables.whole(ref), ref)
    members = step.aggregation.members
    changes = (tables.parts(Ref(members, version)) for version in (Version.PLUS, Version.MINUS))
    rows = tables.select([part for parts in changes for part in parts], members)
    keys = tables.make(Sql(f"SELECT DISTINCT {', '.join(names)} FROM ({rows.text})"))
    return _seen(tables, tables.held(keys, ref, names), ref)


def _seen(tables: Tables, table: Table, ref: Ref) -> list[Row]:
    tables.budget.see(table.rows)
    return tables.fetch(table, tables.schemas[ref.relation])


def _bring(tables: Tables, relation: str, rows: list[Row]) -> Table:
    kinds = tables.schemas[relation]
    return tables.bring(rows, kinds, column_names(len(kinds)))
