"""Rows of a large source that several strata look up by what changed in another: looked up once for all of them.

When orders change, many a view asks for the lines of these orders, each for its own part of them, and each such look
goes through all lines. Where rules equate a column of the source with one of a changed source, the rows that meet any
changed value are a table of their own, which stands in for the source in every look that asks for such values alone.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.tables import Near, Sql, Table, Tables
from foreset.ir.rules import Rule, atoms
from foreset.ir.strata import Stratum
from foreset.ir.terms import Var
from foreset.ir.types import Type
from foreset.store.types import duck_type

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEYS, MOST_ROWS = 100_000, 1_000_000  # beyond, strata look for themselves
Place = tuple[str, int]  # a relation and one of its columns
Links = Mapping[Place, frozenset[Place]]


def links(strata: Iterable[Stratum], schemas: Mapping[str, Sequence[Type]], changed: Collection[str]) -> Links:
    """By a column of a source: columns of `changed` ones with which rules of several strata equate it."""
    found: dict[Place, set[Place]] = defaultdict(set)
    strata_of: Counter[Place] = Counter()
    for stratum in strata:
        pairs = {pair for view in stratum.views for rule in view.rules for pair in _equated(rule, schemas)}
        for place, other in pairs:
            if other[0] in changed:
                found[place].add(other)
        strata_of.update({place for place, other in pairs if other[0] in changed})
    return {place: frozenset(others) for place, others in found.items() if strata_of[place] > 1}


def _equated(rule: Rule, schemas: Mapping[str, Sequence[Type]]) -> Iterable[tuple[Place, Place]]:
    """Pairs of columns of different sources that hold the same variable, and values of one type."""
    places: dict[str, list[Place]] = defaultdict(list)
    for atom in (atom for atom, _ in atoms(rule) if atom.relation in schemas):
        for position, arg in enumerate(atom.args):
            if isinstance(arg, Var):
                places[arg.name].append((atom.relation, position))
    for met in places.values():
        for one in met:
            for other in met:
                if one[0] != other[0] and schemas[one[0]][one[1]] == schemas[other[0]][other[1]]:
                    yield one, other


@dataclass(slots=True, eq=False)
class Shared:
    """What the strata of a run share; its tables lie in a schema of their own, which every connection sees."""

    tables: Tables
    schema: str
    links: Links
    source: Callable[[Tables, str], Table]  # every row of a source, bound
    changes: Callable[[Tables, str], Sequence[Table]]  # the rows that came to a source and those that went
    hidden: Callable[[str], AbstractSet[int]]  # places of columns of a source that are not taken along
    _made: dict[Place, Near | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def near(self, relation: str, place: int, hidden: AbstractSet[int]) -> Near | None:
        """The rows of a source by this column, for who asks for no column in `hidden`; None: who asks looks itself."""
        key = (relation, place)
        if key not in self.links or not self.hidden(relation) <= hidden:
            return None
        with self._lock:  # one stratum looks, the others wait for what it finds
            if key in self._made:
                return self._made[key]
            found = self._look(relation, place)
            self._made[key] = found and replace(found, read=0)  # whoever came first has read it
            return found

    def _look(self, relation: str, place: int) -> Near | None:
        tables, column = self.tables, f"c{place}"
        keys, rows = (f"{self.schema}.{tables.fresh('n')}" for _ in range(2))
        picked = [
            f"SELECT c{other} AS k FROM {table.name} WHERE c{other} IS NOT NULL"
            for changed, other in sorted(self.links[relation, place])
            for table in self.changes(tables, changed)
        ]
        if not picked or self._make(keys, f"SELECT DISTINCT k FROM ({' UNION ALL '.join(picked)})") > MOST_KEYS:
            return None
        source = self.source(tables, relation)
        found = f"SELECT r.* FROM {source.name} r SEMI JOIN {keys} n ON r.{column} = n.k LIMIT {MOST_ROWS + 1}"
        if source.far is not None:
            try:
                found = f"SELECT * FROM {source.far.meeting(tables, self._read(keys), [(place, False)]).name}"
            except OutOfBounds:
                return None
        read = source.far.rows or 0 if source.far is not None else 0
        return Near(keys, rows, read) if self._make(rows, found) <= MOST_ROWS else None

    def _read(self, keys: str) -> pa.Table:
        return self.tables.connection.sql(f"FROM {keys}").to_arrow_table()

    def _make(self, name: str, query: str) -> int:
        ((rows,),) = self.tables.run(Sql(f"CREATE TABLE {name} AS {query}"))
        return int(rows)


def near(
    shared: Shared, relation: str, kinds: Sequence[Type], hidden: AbstractSet[int]
) -> Callable[[int], Near | None]:
    """What is shared of a source, for a stratum to which some of its columns are hidden: they are NULL."""
    texts = [f"CAST(NULL AS {duck_type(kind)}) AS c{i}" if i in hidden else f"c{i}" for i, kind in enumerate(kinds)]

    def seen(place: int) -> Near | None:
        found = shared.near(relation, place, hidden) if place not in hidden else None
        return found and replace(found, rows=f"(SELECT {', '.join(texts)} FROM {found.rows})")

    return seen
