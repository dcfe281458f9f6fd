"""Closures of the shapes that are hard on recursion, and the same result however Spark is set.

The oracle is a closure in plain Python, before and after; full verification recomputes the
new state in Spark besides. Some shapes and settings run in `make test`, all under FORESET_LONG=1.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import FEED, paths

import foreset
from foreset.session.admin import sibling_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = bool(os.environ.get("FORESET_LONG"))
Pair = tuple[int, int]
SPEC = """\
group: shapes
sources:
  edge: {table: sales/edge, columns: {src: int, dst: int}}
views:
  closure:
    columns: {src: int, dst: int}
    strategy: dred
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
  counted:
    columns: {src: int, dst: int}
    strategy: dredc
    rules:
      - counted(X, Y) :- edge(X, Y)
      - counted(X, Y) :- counted(X, Z), counted(Z, Y)
"""


def chain(size: int = 24) -> set[Pair]:
    """One path: the longest recursion for its size."""
    return {(k, k + 1) for k in range(size)}


def tree(size: int = 31) -> set[Pair]:
    """A binary tree from its root: many rows, few rounds."""
    return {((k - 1) // 2, k) for k in range(1, size)}


def ring(size: int = 12) -> set[Pair]:
    """One cycle: every row helps to derive itself."""
    return {(k, (k + 1) % size) for k in range(size)}


def giant(size: int = 24, seed: int = 4) -> set[Pair]:
    """A random digraph most of which is one strong component: nearly every row has many derivations."""
    rng = Random(seed)
    return {(rng.randrange(size), rng.randrange(size)) for _ in range(3 * size)}


SHAPES: dict[str, Callable[[], set[Pair]]] = {"chain": chain, "tree": tree, "ring": ring, "giant": giant}
SETTINGS = [(partitions, adaptive) for partitions in (1, 2, 8) for adaptive in ("true", "false")]


def night(edges: set[Pair], rng: Random) -> set[Pair]:
    """Two edges go, two come: one of them inside, one to a new node."""
    gone = set(rng.sample(sorted(edges), 2))
    nodes = sorted({node for edge in edges for node in edge})
    return (edges - gone) | {(rng.choice(nodes), rng.choice(nodes)), (rng.choice(nodes), max(nodes) + 1)}


def write(path: str, edges: set[Pair], rng: Random | None = None) -> None:
    """The table anew; with `rng` in several files, its rows in any order and some twice."""
    rows = sorted(edges)
    parts = [rows]
    if rng is not None:
        rows = [*rows, *rng.sample(rows, len(rows) // 4)]
        rng.shuffle(rows)
        parts = [rows[k::5] for k in range(5)]
    for number, part in enumerate(parts):
        table = pa.table([pa.array([row[k] for row in part], pa.int32()) for k in (0, 1)], names=["src", "dst"])
        write_deltalake(path, table, mode="append" if number else "overwrite", configuration=FEED)


def pairs(rows: pa.Table) -> set[Pair]:
    return {(row["src"], row["dst"]) for row in rows.to_pylist()}


def nights(spark: SparkSession, warehouse: str, folder: Path, edges: set[Pair], number: int, shuffled: bool) -> None:
    """Load, then refresh night by night; each differential is the difference of two full states."""
    rng = Random(len(edges))
    folder.mkdir()
    (folder / "shapes.yaml").write_text(SPEC)
    write(f"{warehouse}/sales/edge", edges, rng if shuffled else None)
    wh = foreset.open(warehouse, str(folder), spark)
    wh.refresh("shapes", verify="off")
    before = paths(edges)
    for _ in range(number):
        edges = night(edges, rng)
        write(f"{warehouse}/sales/edge", edges, rng if shuffled else None)
        done = wh.refresh("shapes", "incremental", verify="full")
        assert {view.strategy for view in done.views.values()} == {"dred", "dredc"}
        after = paths(edges)
        for view in ("closure", "counted"):
            plus, minus = wh.changes(f"shapes.{view}")
            assert (pairs(plus), pairs(minus)) == (after - before, before - after), view
            assert pairs(wh.read(f"shapes.{view}")) == after, view
        before = after


@pytest.mark.parametrize("shape", SHAPES if LONG else ["ring"])
def test_shape(shape: str, warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    nights(spark, warehouse, tmp_path / "specs", SHAPES[shape](), 3 if LONG else 1, shuffled=False)


@pytest.mark.parametrize(("partitions", "adaptive"), SETTINGS if LONG else [SETTINGS[5]])
def test_settings(partitions: int, adaptive: str, warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    """As many partitions as there are, adaptive execution or not, rows of the input in any order and files."""
    mine: Any = sibling_of(spark)
    mine.conf.set("spark.sql.shuffle.partitions", str(partitions))
    mine.conf.set("spark.sql.adaptive.enabled", adaptive)
    nights(mine, warehouse, tmp_path / "specs", giant(14) if not LONG else giant(), 2 if LONG else 1, shuffled=True)
