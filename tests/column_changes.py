"""A view whose columns change while its rows come and go, and what must be published: in process and in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

from foreset.warehouse import Warehouse

BEFORE = """\
group: g
sources:
  s: {table: s, columns: {x: int, y: int}}
views:
  v:
    columns: {x: int, y: int}
    rules:
      - v(X, Y) :- s(X, Y)
  low:
    columns: {x: int}
    rules:
      - low(X) :- v(X, Y), Y < 3
"""
CHANGES = {
    "retyped": ("v:\n    columns: {x: int, y: int}", "v:\n    columns: {x: int, y: bigint}", ("x", "y")),
    "retyped to text": ("columns: {x: int, y: int}\n    rules:\n      - v(X, Y) :- s(X, Y)",
                        "columns: {x: int, y: string}\n    rules:\n      - v(X, string(Y)) :- s(X, Y)", ("x", "y")),
    "renamed": ("v:\n    columns: {x: int, y: int}", "v:\n    columns: {x: int, z: int}", ("x", "z")),
    "swapped": ("v:\n    columns: {x: int, y: int}", "v:\n    columns: {y: int, x: int}", ("y", "x")),
    "reordered": ("columns: {x: int, y: int}\n    rules:\n      - v(X, Y) :- s(X, Y)",
                  "columns: {y: int, x: int}\n    rules:\n      - v(Y, X) :- s(X, Y)", ("y", "x")),
    "wider": ("columns: {x: int, y: int}\n    rules:\n      - v(X, Y) :- s(X, Y)",
              "columns: {x: int, y: int, z: int}\n    rules:\n      - v(X, Y, Y) :- s(X, Y)", ("x", "y", "z")),
    "narrower": ("columns: {x: int, y: int}\n    rules:\n      - v(X, Y) :- s(X, Y)",
                 "columns: {x: int}\n    rules:\n      - v(X) :- s(X, _)", ("x",)),
}  # fmt: skip
SECOND = {"retyped to text": 'low(X) :- v(X, Y), Y < "3"', "reordered": "low(X) :- v(Y, X), Y < 3",
          "wider": "low(X) :- v(X, Y, _), Y < 3", "narrower": "low(X) :- v(X), X < 3"}  # fmt: skip
LOW = "low(X) :- v(X, Y), Y < 3"
Rows = set[tuple[Any, ...]]


def rows(table: pa.Table) -> Rows:
    return {tuple(row.values()) for row in table.to_pylist()}


def write(table: str, found: list[tuple[int, int]]) -> None:
    columns = [pa.array(values, pa.int32()) for values in zip(*found, strict=True)]
    write_deltalake(table, pa.table(columns, ["x", "y"]), mode="append", configuration=FEED)


def columns_change(wh: Warehouse, spec: Path, table: str, change: str) -> None:
    """The case from end to end; `spec` has BEFORE, and `table` four rows."""
    wh.refresh("g", verify=100)
    old, new, names = CHANGES[change]
    changed = BEFORE.replace(old, new).replace(LOW, SECOND.get(change, LOW))
    assert changed != BEFORE
    spec.write_text(changed)
    DeltaTable(table).delete("x <= 2")
    write(table, [(5, 5), (0, 2)])
    assert wh.refresh("g", verify=100).verification["verdict"] == "passed"
    source = {(3, 3), (4, 4), (5, 5), (0, 2)}
    shapes = {
        "retyped to text": lambda x, y: (x, str(y)), "reordered": lambda x, y: (y, x),
        "wider": lambda x, y: (x, y, y), "narrower": lambda x, _: (x,),
    }  # fmt: skip
    shape = shapes.get(change, lambda x, y: (x, y))
    wanted = {shape(*row) for row in source}
    found = wh.read("g.v")
    assert tuple(found.column_names) == names
    assert rows(found) == wanted
    plus, minus = wh.changes("g.v")
    if change in ("reordered", "swapped"):  # the same columns: readers see what came and what went
        before = {shape(*row) for row in {(1, 1), (2, 2), (3, 3), (4, 4)}}
        assert (rows(plus), rows(minus)) == (wanted - before, before - wanted)
    else:
        assert (rows(plus), rows(minus)) == (wanted, set()), "another view: all of it is new"
    low = {(x,) for x, y in source if (x if change in ("narrower", "swapped") else y) < 3}
    assert rows(wh.read("g.low")) == low
    DeltaTable(table).delete("x = 3")
    write(table, [(1, 1)])
    assert wh.refresh("g", verify=100).verification["verdict"] == "passed", "and it goes on"
    assert rows(wh.read("g.v")) == {shape(*row) for row in (source - {(3, 3)}) | {(1, 1)}}
