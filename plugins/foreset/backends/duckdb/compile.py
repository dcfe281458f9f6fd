"""One rule as a query for the rows that it derives, one for each way in which its body holds.

Each join is finished before the next one, so sizes are known, not guessed. What does not join, conditions and computed
values, is in `conditions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from foreset.backends.duckdb.conditions import keep, settle, settled
from foreset.backends.duckdb.join_state import Plan, constant, source
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables, lacking
from foreset.backends.duckdb.types import widening
from foreset.ir.rules import Atom, Let, Rule, null_safe
from foreset.ir.steps import Ref
from foreset.ir.terms import Const, Value, Var
from foreset.ir.types import Type, widen
from foreset.machine.literals import Condition, heads_of, places_of
from foreset.store.types import column_names


def derive(rule: Rule, tables: Tables, within: Ref | None = None, wanted: Table | None = None) -> Sql | None:
    """The head's rows under `c0`, `c1` ...; None when there are none for sure.

    Of the rows in `within` only, which are the table `wanted`.
    """
    return heads_of(rule, tables, DuckDBJoin(rule, tables, wanted), within)


@dataclass(slots=True)
class _Meeting:
    """How an atom's row `r` meets the row `l` of the join so far."""

    fresh: dict[str, str] = field(default_factory=dict)  # new variable -> our expression over r
    keys: list[tuple[str, str, bool]] = field(default_factory=list)  # column of l, expression over r, null-safe
    conditions: list[str] = field(default_factory=list)  # over r alone
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def where(self) -> Sql:
        """The conditions on r, to follow a table or a join."""
        return Sql(f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "", self.values)


@dataclass(slots=True)
class DuckDBJoin(Plan):
    """Each join is finished before the next one where that is not a scan of a small table."""

    def begin(self) -> None:
        """Their columns are `w0`, `w1` ..., each variable's the first one."""
        assert self.within is not None
        places, kinds = places_of(self.rule.head), self.tables.schemas[self.rule.head.relation]
        conditions, values = [], dict[str, Value]()
        for place, const in places.constants:
            text, more = constant(self.tables, const, kinds[place])
            conditions.append(f"r.c{place} = {text}")
            values |= more
        for place, name in places.again:
            kind, known = kinds[place], kinds[first := places.first[name]]
            sides = _as(f"r.c{place}", kind, known), _as(f"r.c{first}", known, kind)
            conditions.append(" IS NOT DISTINCT FROM ".join(sides))
        self.wanted = {name: (f"w{place}", kinds[place]) for name, place in places.first.items()}
        picked = [f"r.c{place} AS w{place}" for place in places.first.values()]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        self.current = Sql(f"SELECT {', '.join(picked) or '1 AS one'} FROM {self.within.name} r{where}", values)

    def join(self, atom: Atom, needed: AbstractSet[str]) -> None:
        ref = Ref(atom.relation, atom.version)
        names = column_names(len(self.tables.schemas[atom.relation]))
        meeting = self._meeting(atom)
        kept = {variable: column for variable, column in self.bound.items() if variable in needed}
        wanted = {variable: pair for variable, pair in self.wanted.items() if variable not in meeting.fresh}
        fresh = {variable: self.column() for variable in meeting.fresh if variable in needed}
        columns = [f"l.{column} AS {column}" for column in (*kept.values(), *(column for column, _ in wanted.values()))]
        columns += [f"{meeting.fresh[variable]} AS {column}" for variable, column in fresh.items()]
        parts = self.tables.parts(ref)
        first = self.current is None
        if not first and (not self.plain or _far(parts)):
            self.materialised()
        texts, values = [], dict(meeting.values)
        for part in parts:
            table = part.table
            if isinstance(self.current, Table) and meeting.keys and _far((part,)):
                table = self.tables.look(table, self.current, meeting.keys, meeting.where)
                if not table.rows:
                    continue
            texts.append(self._joined(meeting, Part(table, part.less), columns, names))
        if not texts:  # nothing was found, but the columns must be there
            nowhere = ", ".join(
                f"NULL AS {column}" for column in [*kept.values(), *(c for c, _ in wanted.values()), *fresh.values()]
            )
            self.current = self.tables.make(Sql(f"SELECT {nowhere or '1 AS one'} WHERE false"))
        else:
            if isinstance(self.current, Sql):
                values |= self.current.values
            self.current = Sql(" UNION ALL ".join(texts), values)
        self.plain = first and not _far(parts)
        self.bound, self.wanted = kept | fresh, wanted

    def _joined(self, meeting: _Meeting, part: Part, columns: list[str], names: tuple[str, ...]) -> str:
        self.tables.note(part.table)
        table = part.table.name
        if part.table.outside and part.table.bag:
            table = f"(SELECT DISTINCT * FROM {table})"
        less = lacking("r", part.less, names)
        picked = ", ".join(columns) or "1 AS one"
        if self.current is None:
            return f"SELECT {picked} FROM {table} r{less}{meeting.where.text}"
        left = self.current.name if isinstance(self.current, Table) else f"({self.current.text})"
        on = " AND ".join(f"l.{key} {'IS NOT DISTINCT FROM' if safe else '='} {own}" for key, own, safe in meeting.keys)
        return f"SELECT {picked} FROM {left} l JOIN {table} r ON {on or 'true'}{less}{meeting.where.text}"

    def _meeting(self, atom: Atom) -> _Meeting:
        kinds, types, places = self.tables.schemas[atom.relation], self.rule.types, places_of(atom)
        meeting, safe = _Meeting(), null_safe(atom, self.rule)
        for place, const in places.constants:
            text, values = constant(self.tables, const, kinds[place])
            meeting.conditions.append(f"{_as(f'r.c{place}', kinds[place], const.type)} = {text}")
            meeting.values |= values
        found = {name: widening(f"r.c{place}", kinds[place], types[name]) for name, place in places.first.items()}
        for name, value in found.items():
            if name in self.bound:
                meeting.keys.append((self.bound[name], value, places.first[name] in safe))
                continue
            meeting.fresh[name] = value
            if name in self.wanted:
                column, of = self.wanted[name]
                meeting.keys.append((column, _as(value, types[name], of), True))
        for place, name in places.again:
            meeting.conditions.append(f"{found[name]} = {widening(f'r.c{place}', kinds[place], types[name])}")
        return meeting

    def keep(self, conditions: Sequence[Condition]) -> Sequence[Condition]:
        return keep(self, conditions)

    def settle(self, literal: Condition | Let) -> None:
        """In DuckDB where it can be; functions in Python, together, when somebody needs what comes of them."""
        settle(self, literal)

    @property
    def empty(self) -> bool:
        """Known of what is a table already."""
        return isinstance(self.current, Table) and not self.current.rows

    def exclude(self, atom: Atom) -> None:
        """NOT EXISTS as an anti-join; a NULL on either side never excludes."""
        settled(self)
        tables, ref = self.tables, Ref(atom.relation, atom.version)
        names = column_names(len(tables.schemas[atom.relation]))
        for part in tables.parts(ref):
            meeting = self._meeting(atom)
            keys = [key for key in meeting.keys if not key[2]]
            table = part.table
            if keys and (table.outside or table.rows > tables.large):
                table = tables.look(table, self.materialised(), keys, meeting.where)
            values = dict(meeting.values)
            inner = ", ".join(f"{own} AS k{i}" for i, (_, own, _) in enumerate(keys)) or "1 AS one"
            tables.note(table)
            partners = f"(SELECT {inner} FROM {table.name} r{lacking('r', part.less, names)}{meeting.where.text})"
            on = " AND ".join(f"l.{key} = o.k{i}" for i, (key, _, _) in enumerate(keys))
            rows = source(self, values)
            self.current = Sql(f"SELECT l.* FROM {rows} l ANTI JOIN {partners} o ON {on or 'true'}", values)

    def heads(self, *, restricted: bool) -> Sql:
        """The head's columns; what is wanted of them and was not met on the way is compared now."""
        settled(self)
        head, types = self.rule.head, self.rule.types
        schema = self.tables.schemas[head.relation]
        columns, conditions, values = [], [], dict[str, Value]()
        for label, kind, arg in zip(column_names(len(schema)), schema, head.args, strict=True):
            match arg:
                case Const():
                    text, more = constant(self.tables, arg, kind)
                    values |= more
                case Var(name=name):
                    text = widening(f"l.{self.bound[name]}", types[name], kind)
                    if name in self.wanted:
                        column, of = self.wanted[name]
                        value = _as(f"l.{self.bound[name]}", types[name], of)
                        conditions.append(f"l.{column} IS NOT DISTINCT FROM {value}")
                case _:
                    raise AssertionError(f"{head} is not in normal form")
            columns.append(f"{text} AS {label}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        found = f"SELECT {', '.join(columns)} FROM {source(self, values)} l{where}"
        if restricted and self.within is not None:
            same = " AND ".join(f"h.{name} IS NOT DISTINCT FROM w.{name}" for name in column_names(len(schema)))
            found = f"SELECT h.* FROM ({found}) h SEMI JOIN {self.within.name} w ON {same}"
        return Sql(found, values)


def _far(parts: Sequence[Part]) -> bool:
    return any(part.table.outside for part in parts)


def _as(text: str, kind: Type, other: Type) -> str:
    """`text`, a value of `kind`, in the type in which it is compared with one of type `other`."""
    return widening(text, kind, widen(kind, other) or kind)
