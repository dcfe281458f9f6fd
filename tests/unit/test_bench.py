"""The benchmark's own parts: its graphs are always the same, and its closure is the closure."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from bench import instances, stdel
from bench.graphs import Graph, closure, digraph, layered
from bench.strata import measure, world
from bench.worlds import fingerprint

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("make", [lambda: layered(5, 12, 3), lambda: digraph(40, 60)], ids=["layered", "digraph"])
def test_graphs_and_their_closures(make, tmp_path: Path) -> None:
    one, other = make(), make()
    assert one.edges == other.edges
    one.create(str(tmp_path / "one"))
    other.create(str(tmp_path / "other"))
    for _, size, kind in one.changes():
        change = one.apply(str(tmp_path / "one"), size, kind)
        other.apply(str(tmp_path / "other"), size, kind)
        assert (change.inserted > 0, change.deleted > 0) == (kind != "delete", kind != "insert")
    assert one.edges == other.edges
    assert pairs(one) == set(nx.transitive_closure(nx.DiGraph(sorted(one.edges)), reflexive=False).edges)


def pairs(graph: Graph) -> set[tuple[int, int]]:
    table = closure(graph.nodes, np.array(sorted(graph.edges), dtype=np.int64))
    return set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


def test_layers_have_no_circle() -> None:
    assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(layered(5, 12, 3).edges)))


def test_fingerprints_see_rows_and_not_their_order() -> None:
    table = closure(4, np.array([[0, 1], [1, 2]], dtype=np.int64))
    assert fingerprint(table) == fingerprint(table.take([2, 0, 1]))
    assert fingerprint(table)[0] == 3
    assert fingerprint(table.slice(1)) != fingerprint(table.slice(0, 2))


@pytest.mark.parametrize("shape", list(stdel.SHAPES))
def test_every_strategy_deletes_the_same_rows(shape: str, tmp_path: Path) -> None:
    """Worlds of a few rows, through the benchmark's own measure, which compares what the strategies take away."""
    made = world(stdel.SHAPES[shape], {"joins": 12, "dag": (4, 6), "sparse": 60}[shape], tmp_path)
    lines = list(measure(made, stdel.STRATEGIES, "tiny", 5, 2))
    assert {line.strategy for line in lines} >= {"stdel", "dred", "dredc", "recompute"}
    assert len({line.gone for line in lines}) == 1
    assert stdel.space(made, "tiny")["supports"] > 0
    assert "stdel" in stdel.table(lines, [stdel.space(made, "tiny")])


def test_cliques_cost_dred_many_more_rule_instances_than_dredc(tmp_path: Path) -> None:
    made = world(instances.SHAPES["clique"], 6, tmp_path)
    lines = list(measure(made, instances.STRATEGIES, "6", 1, 1))
    assert [line.strategy for line in lines] == ["dred", "dredc"]
    assert instances.ratios(lines, "clique")["6", 1] > 10
