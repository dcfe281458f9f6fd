"""Rows to draw from and to look for, in memory or in the files of a signed table, without reading all of them here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow.dataset import Dataset

from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.store import scratch
from foreset.store.delta import ENTRIES, SEQ, SEQ_OF_ENTRY
from foreset.store.quoting import quoted
from foreset.verify.facts import cast, key_table, narrowed, to_rows

Files: TypeAlias = tuple[str, ...]
Plain: TypeAlias = pa.Table | Dataset | Files  # where a row is there or not


@dataclass(frozen=True, slots=True)
class SignedFiles:
    """The files of a signed table (store/signed.py): what came, and what went, each in folders named by its refresh."""

    came: Files
    went: Files


Rows: TypeAlias = Plain | SignedFiles | None


def holds(files: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the files have all these columns between them; a table may have one that no file has yet."""
    with scratch.cursor() as connection:
        return set(names) <= set(connection.read_parquet(list(files), union_by_name=True).columns)


def sampled(rows: Rows, columns: tuple[Column, ...], size: int, seed: int) -> list[Row]:
    """Up to `size` distinct rows; of a signed table entries, some of which may have gone since."""
    found = rows.came if isinstance(rows, SignedFiles) else rows
    if found is None or found == () or size <= 0:
        return []
    with _bound(found, columns) as bound:
        query = f"SELECT * FROM {bound.text} USING SAMPLE reservoir({int(size)} ROWS) REPEATABLE ({int(seed)})"  # noqa: S608 - quoted
        drawn = to_rows(bound.ask(query).to_arrow_table(), columns)
    return sorted(set(drawn), key=repr)


def present(rows: Rows, columns: tuple[Column, ...], wanted: Sequence[Row]) -> set[Row]:
    """Which of `wanted` are there; in a signed table, those that came after they last went."""
    if rows is None or not wanted:
        return set()
    if not isinstance(rows, SignedFiles):
        return {wanted[place] for place in _last(rows, columns, wanted, at="0")}
    came, went = (_last(files, columns, wanted, at=SEQ) for files in (rows.came, rows.went))
    return {wanted[place] for place, at in came.items() if at > went.get(place, -1)}


def _last(rows: Plain, columns: tuple[Column, ...], wanted: Sequence[Row], at: str) -> dict[int, int]:
    """The places in `wanted` of the rows that are there, with the greatest `at`: 0, or the refresh that wrote them."""
    if rows == ():
        return {}
    with _bound(rows, columns, dated=at == SEQ) as bound:
        keys = key_table(wanted, [column.type for column in columns])
        bound.connection.register("wanted", keys.append_column("n", pa.array(np.arange(len(wanted)))))
        # NULL is looked for where there is one only: plain equality lets DuckDB skip what cannot match.
        same = (
            f"t.{quoted(column.name)} {'IS NOT DISTINCT FROM' if any(row[i] is None for row in wanted) else '='} k.k{i}"
            for i, column in enumerate(columns)
        )
        entries = f"(SELECT * FROM {bound.text}{narrowed(columns, wanted)}) t"  # noqa: S608 - quoted
        query = f"SELECT k.n, max({at}) FROM {entries} JOIN wanted k ON {' AND '.join(same)} GROUP BY k.n"  # noqa: S608 - quoted
        return dict(bound.ask(query).fetchall())


@dataclass(frozen=True, slots=True)
class _Bound:
    """Rows under the name `t` in a query: two statements would take longer than a look at few of them."""

    connection: duckdb.DuckDBPyConnection
    text: str
    values: dict[str, list[str]]

    def ask(self, query: str) -> duckdb.DuckDBPyRelation:
        """What a query over `text` gives."""
        return self.connection.sql(query, params=self.values)


@contextmanager
def _bound(rows: Plain, columns: Sequence[Column], *, dated: bool = False) -> Iterator[_Bound]:
    """The rows in the types of the columns; `dated` entries of a signed table with the refresh that wrote each."""
    texts = ", ".join([*(cast(column) for column in columns), *([SEQ_OF_ENTRY] if dated else [])])
    with scratch.cursor() as connection:
        if isinstance(rows, tuple):
            source, values = ENTRIES, {"files": list(rows)}
        else:
            source, values = f"entries{next(_LOOKS)}", {}
            connection.register(source, rows)
        yield _Bound(connection, f"(SELECT {texts} FROM {source}) t", values)  # noqa: S608 - quoted


_LOOKS = itertools.count(1)
