"""Sources at their pinned versions, by key: what bound evaluation reads.

DuckDB looks at the table's files through delta-rs, without Spark: that is fast for
a few keys, and a second opinion on the data as well. Tables that delta-rs cannot
read (deletion vectors) are asked through Spark.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from foreset.ir.program import Column, View, member_columns
from foreset.ir.rules import Rule, atoms
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.store import scratch
from foreset.store.arrow_values import to_rows, values_of
from foreset.store.quoting import quoted
from foreset.store.types import arrow_type, duck_type
from foreset.verify.binding_order import Asked
from foreset.verify.distinct import all_differ
from foreset.verify.queries import KEYS, groups_query
from foreset.verify.value_numbering import NULL, Codes, Numbers, stacked

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

KEEP_AFTER = 4  # looks at one source, after which its columns are kept in memory (DuckDB spills) ...
ROWS_A_LOOK = 250_000  # ... plus one for so many rows: a copy of a large source takes as long as many looks
WHOLE_VALUES = 4_000_000  # up to so many, a source that is asked often is taken as it is
LARGE_ROWS = 8_000_000  # beyond, a source is asked by keys alone: nothing that reads all of it is done to help
TRIED_KEYS, TRIED_ROWS = 16, 2_048  # keys of a large source that are looked for, to see how many rows one finds
KEY_COLUMNS = 3  # so many columns at most are tried as a key
NEARLY_ONE = 1.1  # rows by distinct keys, as estimated
_NUMBERS = itertools.count(1)
Opener = Callable[[str], "Dataset | pa.Table | tuple[str, ...]"]  # rows, or the files that hold them


@dataclass(slots=True)
class SourceFacts:
    """Rows of sources by key, each key fetched once."""

    columns: Mapping[str, tuple[Column, ...]]
    opener: Opener
    single: Mapping[str, Asked] = field(default_factory=dict)  # by source: columns in which no two rows agree
    rows_read: dict[str, int] = field(default_factory=dict)
    _connection: duckdb.DuckDBPyConnection = field(default_factory=scratch.cursor)
    _number: int = field(default_factory=_NUMBERS.__next__)  # views of files are seen by whoever looks
    _opened: dict[str, Any] = field(default_factory=dict)
    _looks: dict[str, int] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)
    _known: dict[tuple[str, Asked], dict[Row, list[Row]]] = field(default_factory=dict)
    _keys: dict[str, Asked | None] = field(default_factory=dict)
    _fanouts: dict[tuple[str, Asked], float] = field(default_factory=dict)

    def rows(self, relation: str, known: Asked, keys: Iterable[Row]) -> Mapping[Row, list[Row]]:
        """The rows whose columns `known` are one of `keys`, by key."""
        cache = self._known.setdefault((relation, known), {})
        missing = [key for key in set(keys) if key not in cache]
        if missing:
            cache |= self._fetch(relation, known, missing)
            cache |= {key: [] for key in missing if key not in cache}
        return cache

    def whole(self, relation: str, codes: Codes) -> Numbers | None:
        """All rows as numbers; None where they are too many."""
        self._open(relation)
        view, columns = quoted("s_" + relation), self.columns[relation]
        if self.fanout(relation, ()) * len(columns) > WHOLE_VALUES:
            return None
        names = ", ".join(quoted(column.name) for column in columns)
        table = self._connection.sql(f"{self._select(relation)} {names} FROM {view}").to_arrow_table()
        self.rows_read[relation] = self.rows_read.get(relation, 0) + table.num_rows
        found = [_numbers(table.column(i), column, codes) for i, column in enumerate(columns)]
        return stacked(found, table.num_rows)

    def fanout(self, relation: str, known: Asked) -> float:
        """Rows for one key, about: rows by distinct keys."""
        key = self.single.get(relation)
        if key is not None and set(key) <= set(known):
            return 1.0
        if (relation, known) not in self._fanouts:
            if relation not in self._opened:
                self._open(relation)
            names = [quoted(self.columns[relation][position].name) for position in known]
            found = self._tried(relation, names) if known and self._large(relation) else self._counted(relation, names)
            self._fanouts[relation, known] = found
        return self._fanouts[relation, known]

    def _large(self, relation: str) -> bool:
        return self.fanout(relation, ()) > LARGE_ROWS

    def _counted(self, relation: str, names: Sequence[str]) -> float:
        """By all rows; without names that is how many there are, which files say by themselves."""
        keys = f"approx_count_distinct(hash({', '.join(names)}))" if names else "1"
        query = f"SELECT count(*) / greatest({keys}, 1) FROM {quoted('s_' + relation)}"  # noqa: S608 - quoted
        ((found,),) = self._connection.sql(query).fetchall()
        return float(found)

    def _tried(self, relation: str, names: Sequence[str]) -> float:
        """By a look for some keys, which reads what any look for keys reads."""
        rows, listed = quoted("s_" + relation), ", ".join(names)
        first = f"SELECT {listed} FROM {rows} LIMIT {TRIED_ROWS}"  # noqa: S608 - quoted
        keys = f"SELECT DISTINCT {listed} FROM ({first}) LIMIT {TRIED_KEYS}"  # noqa: S608 - quoted
        tried: pa.Table = self._connection.sql(keys).to_arrow_table()
        self._connection.register(KEYS, tried)
        same = " AND ".join(f"t.{name} = k.{name}" for name in names)
        query = f"SELECT count(*) FROM {rows} t SEMI JOIN {KEYS} k ON {same}"  # noqa: S608 - quoted
        ((found,),) = self._connection.sql(query).fetchall()
        return float(found / max(len(tried), 1))

    def grouped(self, view: View, rules: Sequence[Rule], asked: Asked, keys: Iterable[Row]) -> list[Row] | None:
        """The groups with these keys by one query; None where DuckDB cannot give them as we mean them."""
        aggregation = view.aggregation
        assert aggregation is not None
        members = [column.type for column in member_columns(view)]
        for relation in {atom.relation for rule in rules for atom, _ in atoms(rule)}:
            self._open(relation)
        keys = list(keys)
        if asked:
            self._connection.register(KEYS, key_table(keys, [members[position] for position in asked]))
        nulls = with_null(keys)
        for quick in (True, False):  # by words of 64 bits, and where those are too narrow, by wider ones
            query = groups_query(rules, aggregation, members, self.columns, (asked, nulls), self._key, quick=quick)
            if query is None:
                return None
            with suppress(duckdb.Error):
                return to_rows(self._connection.sql(query[0], params=query[1]).to_arrow_table(), view.columns)
        return None  # such as an overflow: by single members it is a failure of some, or of none

    def _key(self, relation: str) -> Asked | None:
        """Columns of a source in which no two of its rows agree; where none are known, the first ones are tried."""
        if relation in self.single:
            return self.single[relation]
        if self._large(relation):
            return None
        if relation not in self._keys:
            columns = self.columns[relation]
            most = min(KEY_COLUMNS, len(columns))
            self._keys[relation] = next(
                (tuple(range(n)) for n in range(1, most + 1) if self._tell_apart(relation, n)), None
            )
        return self._keys[relation]

    def _select(self, relation: str) -> str:
        """Rows as they are where no two are copies of one."""
        return "SELECT" if relation in self.single else "SELECT DISTINCT"

    def _tell_apart(self, relation: str, count: int) -> bool:
        if self.fanout(relation, tuple(range(count))) > NEARLY_ONE:
            return False
        columns, rows = self.columns[relation][:count], quoted("s_" + relation)
        names = ", ".join(quoted(column.name) for column in columns)
        if all(column.type.is_integral for column in columns):
            found = self._connection.sql(f"SELECT {names} FROM {rows}").to_arrow_table()  # noqa: S608 - quoted
            if (differ := all_differ(found.columns)) is not None:
                return differ
        query = f"SELECT 1 FROM {rows} GROUP BY {names} HAVING count(*) > 1 LIMIT 1"  # noqa: S608 - quoted
        return not self._connection.sql(query).fetchall()

    def _fetch(self, relation: str, known: Asked, keys: Sequence[Row]) -> dict[Row, list[Row]]:
        columns = self.columns[relation]
        self._open(relation)
        names = [quoted(column.name) for column in columns]
        query = f"{self._select(relation)} {', '.join('t.' + name for name in names)} FROM "
        if known:
            self._connection.register(KEYS, key_table(keys, [columns[p].type for p in known]))
            nulls = with_null(keys)
            on = " AND ".join(
                f"t.{names[p]} {'IS NOT DISTINCT FROM' if i in nulls else '='} k.k{i}" for i, p in enumerate(known)
            )
            first = narrowed([columns[p] for p in known], keys)
            query += f"(SELECT * FROM {quoted('s_' + relation)} t{first}) t SEMI JOIN {KEYS} k ON {on}"  # noqa: S608 - quoted
        else:
            query += f"{quoted('s_' + relation)} t"
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
            rows = self._opened[relation] = self.opener(relation)
            if isinstance(rows, tuple):
                self._connection.read_parquet(list(rows), union_by_name=True).create_view(self._name(relation))
            else:
                self._connection.register(self._name(relation), rows)
            casts, rows_of = ", ".join(cast(column) for column in self.columns[relation]), quoted(self._name(relation))
            self._connection.execute(f"CREATE TEMP VIEW {view} AS SELECT {casts} FROM {rows_of}")  # noqa: S608
        elif looks >= KEEP_AFTER and relation not in self._kept and self._worth_keeping(relation, looks):
            self._kept.add(relation)
            kept = quoted("k_" + relation)
            self._connection.execute(f"CREATE TEMP TABLE {kept} AS SELECT * FROM {view}")  # noqa: S608
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {kept}")  # noqa: S608

    def _name(self, relation: str) -> str:
        return f"a{self._number}_{relation}"

    def close(self) -> None:
        """Forget what was opened."""
        for relation, rows in self._opened.items():
            if isinstance(rows, tuple):
                self._connection.execute(f"DROP VIEW IF EXISTS {quoted(self._name(relation))}")
        self._connection.close()

    def _worth_keeping(self, relation: str, looks: int) -> bool:
        return not self._large(relation) and looks >= KEEP_AFTER + self.fanout(relation, ()) / ROWS_A_LOOK


def with_null(keys: Iterable[Row]) -> frozenset[int]:
    """The places at which some key has a NULL: there columns are compared so that NULL equals NULL."""
    return frozenset(i for key in keys for i, value in enumerate(key) if value is None)


def key_table(keys: Sequence[Row], kinds: Sequence[Type]) -> pa.Table:
    """Keys as columns `k0`, `k1` ..., in the types of the columns that they are compared with."""
    arrays = [pa.array([key[i] for key in keys], arrow_type(kind)) for i, kind in enumerate(kinds)]
    return pa.table(arrays, names=[f"k{i}" for i in range(len(kinds))])


def narrowed(columns: Sequence[Column], keys: Sequence[Row]) -> str:
    """A semi join on one column of whole numbers, to stand behind a table `t`; nothing where there is none.

    DuckDB tests such a column fast, and reads the other columns of rows that pass only.
    """
    whole = [
        i for i, column in enumerate(columns) if column.type.is_integral and all(key[i] is not None for key in keys)
    ]
    if len(columns) < 2 or not whole:
        return ""
    best = max(whole, key=lambda i: len({key[i] for key in keys}))
    return f" SEMI JOIN (SELECT DISTINCT k{best} FROM {KEYS}) d ON t.{quoted(columns[best].name)} = d.k{best}"  # noqa: S608 - a number


def _numbers(found: pa.ChunkedArray, column: Column, codes: Codes) -> Numbers:
    """The numbers of a column, each distinct value looked at once."""
    if column.type.element:  # Arrow has no dictionary of lists
        return codes.column(values_of(found, column), column.type)
    coded = found.combine_chunks().dictionary_encode()
    numbers = np.append(codes.column(values_of(coded.dictionary, column), column.type), NULL)
    places = coded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(numbers[places], dtype=np.int64)


def cast(column: Column) -> str:
    """A column in its type, for DuckDB."""
    name, kind = quoted(column.name), column.type
    if kind.name == "timestamp":  # stored with the zone UTC; compared without it
        return f"timezone('UTC', {name}::TIMESTAMPTZ) AS {name}"
    return name if kind.element else f"{name}::{duck_type(kind)} AS {name}"
