"""`Follow` in DuckDB: supports are looked up by the rows that they stand on, and no other relation is read."""

from __future__ import annotations

from foreset.backends.duckdb.join_state import constant
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.backends.duckdb.types import widening
from foreset.ir.rules import Atom, Rule
from foreset.ir.steps import Follow, Ref
from foreset.ir.terms import Const
from foreset.ir.types import Type, widen
from foreset.machine.links import linked, shared


def follow(step: Follow, tables: Tables) -> Table | None:
    """The rows of the source that agree with a row of some link."""
    found = [part for link in step.links for part in _linked(link, step.source, tables) if part.table.rows]
    if not found:
        return None
    if len(found) == 1 and not found[0].less and not found[0].table.outside:
        return found[0].table
    rows = tables.select(found, step.source.relation)
    if len(step.links) > 1:  # a support may stand on several of the rows
        rows = Sql(f"SELECT DISTINCT * FROM ({rows.text})", rows.values)
    return tables.make(rows)


def _linked(link: Rule, source: Ref, tables: Tables) -> list[Part]:
    atom = linked(link)
    ref = Ref(atom.relation, atom.version)
    parts = tables.parts(source)
    if tables.empty(ref) or not parts:
        return []
    ours, theirs = shared(link, tables.schemas)
    mine, other = tables.schemas[source.relation], tables.schemas[atom.relation]
    plain = len(theirs) == len(atom.args) and not any(kind for _, kind in theirs)
    if plain:  # the rows themselves are the keys
        keys, names = tables.whole(ref), [f"c{i}" for i, _ in theirs]
    else:
        keys = tables.make(_keys(atom, tables, [_column(i, other[i], kind or other[i]) for i, kind in theirs]))
        names = [f"k{n}" for n in range(len(theirs))]
    if not keys.rows:
        return []
    pairs = [(name, _column(i, mine[i], kind or mine[i]), True) for name, (i, kind) in zip(names, ours, strict=True)]
    if not pairs:
        return list(parts)
    return [Part(tables.look(part.table, keys, pairs), part.less) for part in parts]


def _keys(atom: Atom, tables: Tables, columns: list[str]) -> Sql:
    """What the atom's rows have in the shared columns, each once."""
    rows = tables.select(tables.parts(Ref(atom.relation, atom.version)), atom.relation)
    conditions, values = list[str](), dict(rows.values)
    for i, (kind, arg) in enumerate(zip(tables.schemas[atom.relation], atom.args, strict=True)):
        if isinstance(arg, Const):
            text, more = constant(tables, arg, kind)
            conditions.append(f"{_column(i, kind, widen(kind, arg.type) or kind)} = {text}")
            values |= more
    picked = ", ".join(f"{column} AS k{n}" for n, column in enumerate(columns)) or "1 AS k0"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return Sql(f"SELECT DISTINCT {picked} FROM ({rows.text}) r{where}", values)


def _column(position: int, kind: Type, to: Type) -> str:
    return widening(f"r.c{position}", kind, to)
