"""The small group that many tests refresh: roads between towns, which ways they make, and what its views must hold.

A road is two letters, and a graph is words: `ab bc` are the roads from a to b and from b to c.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.refresh_cases import always, in_normal_form, load_program

import foreset
from foreset.errors import EvaluationError
from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.plan.place import VARIABLE
from foreset.refresh import maintaining
from foreset.refresh.whole import RefreshResult
from foreset.testing.replica import Delta
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Node = TypeVar("Node", bound=Hashable)
FEED = {"delta.enableChangeDataFeed": "true"}
EDGE = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
"""
GROUP = f"{EDGE}views:\n"
CLOSURE = """\
  closure:
    columns: {src: string, dst: string}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
"""
DEAD_END = """\
  dead_end:
    columns: {node: string}
    rules:
      - dead_end(X) :- edge(_, X), not edge(X, _)
"""
TWO_STEPS = """\
  two_steps:
    columns: {src: string, dst: string}
    rules:
      - two_steps(X, Y) :- edge(X, Z), edge(Z, Y)
"""
REACH = f"{GROUP}{CLOSURE}    export: true\n{DEAD_END}{TWO_STEPS}"

# The graph of example 2 of paper 000, and a night: `bc` goes and `hd` comes.
PAPER = "fe ed ea ab dc bc cg"
AFTER_THE_NIGHT = "fe ed ea ab dc cg hd"


def edges(*roads: str | tuple[str | None, str]) -> pa.Table:
    """Rows of `edge`: words, or pairs of longer names."""
    pairs = [pair for road in roads for pair in (road.split() if isinstance(road, str) else [road])]
    columns = {"src": [a for a, _ in pairs], "dst": [b for _, b in pairs]}
    return pa.table(columns, pa.schema({name: pa.string() for name in columns}))


def words(rows: pa.Table) -> set[str]:
    """Rows as words."""
    return {"".join(row.values()) for row in rows.to_pylist()}


def paths(roads: Iterable[tuple[Node, Node]]) -> set[tuple[Node, Node]]:
    """All pairs with a way from one to the other, by search from every node: no Datalog at all."""
    after: dict[Node, set[Node]] = {}
    for a, b in roads:
        after.setdefault(a, set()).add(b)
    found = set()
    for start, first in after.items():
        waiting, seen = list(first), set(first)
        while waiting:
            fresh = after.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting += fresh
        found |= {(start, node) for node in seen}
    return found


def closed(roads: str | Iterable[str]) -> set[str]:
    """The closure, as words."""
    return {a + b for a, b in paths((a, b) for a, b in (roads.split() if isinstance(roads, str) else roads))}


class World:
    """A warehouse with one source table, and a spec that can be rewritten."""

    def __init__(self, warehouse: str, specs: Path, spark: SparkSession | str, roads: str = PAPER) -> None:
        self.root, self.specs, self.spark = warehouse, specs, spark
        specs.mkdir(exist_ok=True)
        self.spec(REACH)
        write_deltalake(self.table, edges(roads), configuration=FEED)

    @property
    def table(self) -> str:
        """Where `edge` lies."""
        return f"{self.root}/sales/edge"

    def spec(self, text: str) -> None:
        """Write the spec anew."""
        (self.specs / "reach.yaml").write_text(text)

    def open(self) -> Warehouse:
        """What a user has in hand."""
        return foreset.open(self.root, str(self.specs), self.spark)

    def settle(self, **options: Any) -> RefreshResult:
        """A refresh before or after the one that a test is about: in process, which takes a tenth of the time."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(os.environ, VARIABLE, "auto")
            return self.open().refresh("reach", **options)

    def insert(self, *roads: str | tuple[str | None, str]) -> None:
        """New roads."""
        write_deltalake(self.table, edges(*roads), mode="append")

    def delete(self, road: str) -> None:
        """One road less."""
        DeltaTable(self.table).delete(f"src = '{road[0]}' and dst = '{road[1]}'")

    def night(self) -> None:
        """What happens to the paper's graph by day, for the next refresh to take in."""
        self.delete("bc")
        self.insert("hd")


def refuse_a_planted_row(world: World, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """Load, and see the next refresh stopped for a row that no rule derives."""
    wh = world.open()
    wh.refresh("reach")
    world.insert("hd")
    plant_in_closure(monkeypatch)
    with pytest.raises(foreset.VerificationFailed, match=r"closure\('z', 'q'\) was computed, but no rule derives it"):
        wh.refresh("reach")
    return wh


def plant_in_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the road `hd` came: a row that no rule derives, slipped into what the stratum stages."""
    honest = maintaining._stage_view

    def planted(work, port, view):  # type: ignore[no-untyped-def]
        staged = honest(work, port, view)
        if view == "closure":
            rows = pa.table({"src": ["h", "h", "h", "z"], "dst": ["d", "c", "g", "q"]})
            for file in Path(staged.plus.path).glob("*.parquet"):
                file.unlink()
            pa.parquet.write_table(rows, f"{staged.plus.path}/part-0.parquet")
            return replace(staged, plus=replace(staged.plus, rows=4))
        return staged

    monkeypatch.setattr(maintaining, "_stage_view", planted)


def counters_lost(kind: Callable[[Program, Layering], Any], strategy: str) -> None:
    """A reader whose counters know nothing of its rows says so, rather than go on from them."""
    view = "two_steps" if strategy == "counting" else "closure"
    replica = kind(*in_normal_form(load_program(GROUP + CLOSURE + TWO_STEPS, "reach.yaml")))
    replica.refresh({"edge": Delta(frozenset({("a", "b"), ("b", "c")}))}, always("recompute"))
    replica.counters[view] = {}
    with pytest.raises(
        EvaluationError, match=rf"view {view}: the stored number of derivations of \('a', '\w'\) is wrong"
    ):
        replica.refresh({"edge": Delta(minus=frozenset({("a", "b")}))}, always(strategy))
