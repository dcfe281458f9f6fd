"""Sources at their pinned versions, by key: what bound evaluation reads.

DuckDB looks at the table's files through delta-rs, without Spark: that is fast for
a few keys, and a second opinion on the data as well. Tables that delta-rs cannot
read (deletion vectors) are asked through Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from foreset.ir.program import Column
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.reference.widen import widened
from foreset.store.quoting import quoted
from foreset.store.types import arrow_type, duck_type
from foreset.verify.passing import Asked

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

KEEP_AFTER = 4  # looks at one source, after which its columns are kept in memory (DuckDB spills)
INDEX_AFTER = 8  # fetches by the same columns, after which a source of few rows is indexed here, once
INDEXED_ROWS = 300_000
Opener = Callable[[str], "Dataset | pa.Table"]


@dataclass(slots=True)
class SourceFacts:
    """Rows of sources by key, each key fetched once."""

    columns: Mapping[str, tuple[Column, ...]]
    opener: Opener
    rows_read: dict[str, int] = field(default_factory=dict)
    _connection: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    _opened: dict[str, Any] = field(default_factory=dict)
    _looks: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[str, Asked], dict[Row, list[Row]]] = field(default_factory=dict)
    _fetches: dict[tuple[str, Asked], int] = field(default_factory=dict)
    _indexed: set[tuple[str, Asked]] = field(default_factory=set)

    def rows(self, relation: str, known: Asked, keys: Iterable[Row]) -> Mapping[Row, list[Row]]:
        """The rows whose columns `known` are one of `keys`, by key."""
        asked = (relation, known)
        cache = self._known.setdefault(asked, {})
        missing = [key for key in set(keys) if key not in cache]
        if missing and asked not in self._indexed:
            self._fetches[asked] = self._fetches.get(asked, 0) + 1
            if relation in self._opened and self._fetches[asked] > INDEX_AFTER and self._few(relation):
                self._index(asked, cache)
                missing = [key for key in missing if key not in cache]
            else:
                cache |= self._fetch(relation, known, missing)
        cache |= {key: [] for key in missing if key not in cache}
        return cache

    def _few(self, relation: str) -> bool:
        (count,) = self._connection.sql(f"SELECT count(*) FROM {quoted('s_' + relation)}").fetchall()[0]  # noqa: S608 - quoted
        return bool(count <= INDEXED_ROWS)

    def _index(self, asked: tuple[str, Asked], cache: dict[Row, list[Row]]) -> None:
        """All rows of a source by these columns: a look at a dict is a thousand times cheaper than a query."""
        relation, known = asked
        cache.clear()
        for row in self._fetch(relation, (), [()]).get((), ()):
            key = tuple(row[p] for p in known)
            if None not in key:
                cache.setdefault(key, []).append(row)
        self._indexed.add(asked)

    def _fetch(self, relation: str, known: Asked, keys: Sequence[Row]) -> dict[Row, list[Row]]:
        columns = self.columns[relation]
        self._open(relation)
        names = [quoted(column.name) for column in columns]
        query = f"SELECT DISTINCT {', '.join('s.' + name for name in names)} FROM {quoted('s_' + relation)} s"  # noqa: S608 - identifiers are quoted
        if known:
            self._connection.register("wanted", key_table(keys, [columns[p].type for p in known]))
            on = " AND ".join(f"s.{names[p]} = k.k{i}" for i, p in enumerate(known))
            query += f" SEMI JOIN wanted k ON {on}"
        found: dict[Row, list[Row]] = defaultdict(list)
        for row in to_rows(self._connection.sql(query).to_arrow_table(), columns):
            found[tuple(row[p] for p in known)].append(row)
        self.rows_read[relation] = self.rows_read.get(relation, 0) + sum(map(len, found.values()))
        return found

    def _open(self, relation: str) -> None:
        """Open a source on the first look; keep its columns in DuckDB when looks become many."""
        looks = self._looks[relation] = self._looks.get(relation, 0) + 1
        view = quoted("s_" + relation)
        if looks == 1:
            self._opened[relation] = self.opener(relation)
            self._connection.register(f"a_{relation}", self._opened[relation])
            casts = ", ".join(_cast(column) for column in self.columns[relation])
            self._connection.execute(f"CREATE TEMP VIEW {view} AS SELECT {casts} FROM {quoted('a_' + relation)}")  # noqa: S608
        elif looks == KEEP_AFTER:
            kept = quoted("k_" + relation)
            self._connection.execute(f"CREATE TEMP TABLE {kept} AS SELECT DISTINCT * FROM {view}")  # noqa: S608
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {kept}")  # noqa: S608


def key_table(keys: Sequence[Row], kinds: Sequence[Type]) -> pa.Table:
    """Keys as columns `k0`, `k1` ..., in the types of the columns that they are compared with."""
    arrays = [pa.array([key[i] for key in keys], arrow_type(kind)) for i, kind in enumerate(kinds)]
    return pa.table(arrays, names=[f"k{i}" for i in range(len(kinds))])


def to_rows(table: pa.Table, columns: Sequence[Column]) -> list[Row]:
    """Arrow rows as canonical values of the declared types."""
    picked: list[list[Value]] = []
    for index, column in enumerate(columns):
        values = table.column(index).to_pylist()
        picked.append([canonical(_plain(widened(_plain(value), column.type)), column.type) for value in values])
    return list(zip(*picked, strict=True)) if picked else []


def _plain(value: Any) -> Any:  # noqa: ANN401 - Arrow's Python values
    return tuple(_plain(item) for item in value) if isinstance(value, list) else value


def _cast(column: Column) -> str:
    name, kind = quoted(column.name), column.type
    if kind.name == "timestamp":  # stored with the zone UTC; compared without it
        return f"timezone('UTC', {name}::TIMESTAMPTZ) AS {name}"
    return name if kind.element else f"{name}::{duck_type(kind)} AS {name}"
