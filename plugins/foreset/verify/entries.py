"""Rows to draw from and to look for, in memory or in the files of a signed table, without reading all of them here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.relations.files import Plain, Rows, SignedFiles
from foreset.store import scratch
from foreset.store.arrow_values import to_rows
from foreset.store.delta import SEQ, SEQ_OF_ENTRY, entries_in
from foreset.store.quoting import quoted
from foreset.verify.facts import cast, key_table, narrowed


@dataclass(frozen=True, slots=True)
class Draw:
    """Rows to draw from: how many, and by which chance."""

    rows: Rows
    size: int
    seed: int


def sampled(draws: Sequence[Draw], columns: tuple[Column, ...]) -> list[list[Row]]:
    """Up to `size` distinct rows of each; of a signed table entries, some of which may have gone since."""
    found: list[list[Row]] = [[] for _ in draws]
    with _asking(columns) as asking:
        texts = []
        for number, draw in enumerate(draws):
            rows = draw.rows.came if isinstance(draw.rows, SignedFiles) else draw.rows
            if rows is not None and rows != () and draw.size > 0:
                chance = f"USING SAMPLE reservoir({int(draw.size)} ROWS) REPEATABLE ({int(draw.seed)})"
                texts.append(f"SELECT * FROM (SELECT {number} AS part, * FROM {asking.bound(rows)} {chance})")  # noqa: S608 - quoted
        if texts:
            drawn = asking.ask(" UNION ALL ".join(texts)).to_arrow_table()
            for number, row in zip(drawn.column(0).to_pylist(), to_rows(drawn.remove_column(0), columns), strict=True):
                found[number].append(row)
    return [sorted(set(rows), key=repr) for rows in found]


def present(parts: Sequence[Rows], columns: tuple[Column, ...], wanted: Sequence[Row]) -> list[set[Row]]:
    """Which of `wanted` are in each; in a signed table, those that came after they last went."""
    last: dict[tuple[int, int], dict[int, int]] = {}  # by part and sign: of a place in `wanted` who wrote the row last
    if wanted:
        with _asking(columns) as asking:
            keys = key_table(wanted, [column.type for column in columns])
            asking.connection.register("wanted", keys.append_column("n", pa.array(np.arange(len(wanted)))))
            texts = [
                asking.found(part, sign, rows, wanted, at)
                for part, whole in enumerate(parts)
                for sign, rows, at in _signs(whole)
            ]
            if texts:
                query = f"SELECT part, sign, n, max(seq) FROM ({' UNION ALL '.join(texts)}) GROUP BY part, sign, n"  # noqa: S608 - quoted
                for part, sign, place, at in asking.ask(query).fetchall():
                    last.setdefault((part, sign), {})[place] = at
    found = []
    for part in range(len(parts)):
        came, went = (last.get((part, sign), {}) for sign in (1, -1))
        found.append({wanted[place] for place, at in came.items() if at > went.get(place, -1)})
    return found


def worked_on(plus: Rows, minus: Rows, columns: tuple[Column, ...], groups: int, size: int) -> list[Row]:
    """New rows of groups: first those that lost members, then others that were there before, large ones first.

    The first `groups` columns are the group's, the next one says how many members it has.
    """
    if plus is None or plus == () or isinstance(plus, SignedFiles):
        return []
    with _asking(columns) as asking:
        names = [quoted(column.name) for column in columns]
        many = names[groups]
        if minus is None or minus == () or isinstance(minus, SignedFiles):
            came = f"SELECT *, {many} AS before, 2 AS rank FROM {asking.bound(plus)}"  # noqa: S608 - quoted
        else:
            same = " AND ".join(f"m.{name} IS NOT DISTINCT FROM p.{name}" for name in names[:groups]) or "true"
            before = f"coalesce(m.{many}, p.{many}) AS before"
            rank = f"CASE WHEN m.{many} > p.{many} THEN 0 WHEN m.{many} IS NOT NULL THEN 1 ELSE 2 END AS rank"
            old, new = (f"(SELECT * FROM {asking.bound(rows)}) {name}" for rows, name in ((minus, "m"), (plus, "p")))  # noqa: S608 - quoted
            came = f"SELECT p.*, {before}, {rank} FROM {new} LEFT JOIN {old} ON {same}"  # noqa: S608 - quoted
        order = ", ".join(["rank", "before DESC", *names[:groups]])
        query = f"SELECT * EXCLUDE (before, rank) FROM ({came}) ORDER BY {order} LIMIT {int(size)}"  # noqa: S608 - quoted
        return to_rows(asking.ask(query).to_arrow_table(), columns)


def _signs(rows: Rows) -> Iterator[tuple[int, Plain, str]]:
    """What came and what went, and when: 0, or the refresh that wrote it."""
    both = [(1, rows.came, SEQ), (-1, rows.went, SEQ)] if isinstance(rows, SignedFiles) else [(1, rows, "0")]
    yield from ((sign, entries, at) for sign, entries, at in both if entries is not None and entries != ())


@dataclass(frozen=True, slots=True)
class _Asking:
    """One statement over rows of several places: each statement takes longer than a look at few rows."""

    connection: duckdb.DuckDBPyConnection
    columns: tuple[Column, ...]
    files: dict[str, list[str]] = field(default_factory=dict)

    def bound(self, rows: Plain, *, dated: bool = False) -> str:
        """The rows in the types of the columns; `dated` entries of a signed table with the refresh that wrote each."""
        when = [SEQ_OF_ENTRY if isinstance(rows, tuple) else SEQ] if dated else []
        texts = ", ".join([*(cast(column) for column in self.columns), *when])
        name = f"entries{next(_LOOKS)}"
        if isinstance(rows, tuple):
            self.files[name] = list(rows)
            return f"(SELECT {texts} FROM {entries_in(name)}) t"  # noqa: S608 - quoted
        self.connection.register(name, rows)
        return f"(SELECT {texts} FROM {name}) t"  # noqa: S608 - quoted

    def found(self, part: int, sign: int, rows: Plain, wanted: Sequence[Row], at: str) -> str:
        """The places in `wanted` of the rows that are there."""
        # NULL is looked for where there is one only: plain equality lets DuckDB skip what cannot match.
        same = " AND ".join(
            f"t.{quoted(column.name)} {'IS NOT DISTINCT FROM' if any(row[i] is None for row in wanted) else '='} k.k{i}"
            for i, column in enumerate(self.columns)
        )
        there = f"(SELECT * FROM {self.bound(rows, dated=at == SEQ)}{narrowed(self.columns, wanted)}) t"  # noqa: S608 - quoted
        return f"SELECT {part} AS part, {sign} AS sign, k.n AS n, {at} AS seq FROM {there} JOIN wanted k ON {same}"  # noqa: S608 - quoted

    def ask(self, query: str) -> duckdb.DuckDBPyRelation:
        """What a query over bound rows gives."""
        return self.connection.sql(query, params=self.files)


@contextmanager
def _asking(columns: tuple[Column, ...]) -> Iterator[_Asking]:
    with scratch.cursor() as connection:
        yield _Asking(connection, columns)


_LOOKS = itertools.count(1)
