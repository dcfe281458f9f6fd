"""A view whose columns change while its rows come and go: what fits is asked in one way, and every refresh verifies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

import foreset
from foreset.errors import UsageError
from foreset.ir.program import Column
from foreset.ir.types import BIGINT, INT, STRING
from foreset.refresh.auditing import audit
from foreset.refresh.fits import fits
from foreset.store.rows import ViewPin
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


def pin(**columns: str) -> ViewPin:
    return ViewPin("g/v", "id", 1, columns)


@pytest.mark.parametrize(
    ("columns", "fitting"),
    [
        ((("x", INT), ("y", STRING)), True),
        ((("y", STRING), ("x", INT)), True),
        ((("x", BIGINT), ("y", STRING)), False),
        ((("x", INT), ("z", STRING)), False),
        ((("X", INT), ("y", STRING)), False),
        ((("x", INT),), False),
        ((("x", INT), ("y", STRING), ("z", INT)), False),
        ((("x", STRING), ("y", INT)), False),
    ],
)
def test_a_view_is_its_columns_by_name_and_type(columns: tuple, fitting: bool) -> None:
    assert fits(pin(x="int", y="string"), [Column(*one) for one in columns]) is fitting


def rows(table: pa.Table) -> Rows:
    return {tuple(row.values()) for row in table.to_pylist()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Warehouse, Path, str]:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    (tmp_path / "specs").mkdir()
    spec = tmp_path / "specs" / "g.yaml"
    spec.write_text(BEFORE)
    table = str(tmp_path / "wh" / "s")
    write(table, [(1, 1), (2, 2), (3, 3), (4, 4)])
    return foreset.open(str(tmp_path / "wh"), str(spec.parent), "nowhere"), spec, table


def write(table: str, found: list[tuple[int, int]]) -> None:
    columns = [pa.array(values, pa.int32()) for values in zip(*found, strict=True)]
    write_deltalake(table, pa.table(columns, ["x", "y"]), mode="append", configuration=FEED)


@pytest.mark.parametrize("change", CHANGES)
def test_columns_change_while_rows_come_and_go(place: tuple[Warehouse, Path, str], change: str) -> None:
    wh, spec, table = place
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


def test_what_was_published_with_other_columns_is_not_verified_by_the_new_rules(
    place: tuple[Warehouse, Path, str],
) -> None:
    wh, spec, _ = place
    wh.refresh("g")
    assert audit(wh.layout("g"), wh.spec("g"), 50).ok
    spec.write_text(BEFORE.replace("v:\n    columns: {x: int, y: int", "v:\n    columns: {x: int, y: bigint"))
    with pytest.raises(UsageError, match="`v` was published with other columns"):
        audit(wh.layout("g"), wh.spec("g"), 50)
