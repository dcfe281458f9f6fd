"""The benchmark's own parts: its graphs are always the same, and its closure is the closure."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from bench import instances, stdel, suite
from bench.debian import Debian
from bench.graphs import Graph, Tree, closure, digraph, layered
from bench.peers import datalog
from bench.peers.here import DuckDb
from bench.strata import measure, world
from bench.tpch import Tpch
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


def test_the_whole_command_in_its_small_form(tmp_path: Path) -> None:
    """No JVM and no peer that needs installing: worlds, oracle, targets, report and charts."""
    done = suite.main(["--only", "B5", "--scale", "small", "--no-peers", "--out", str(tmp_path)])
    assert not done.notes
    [report] = tmp_path.glob("bench-*.md")
    told = json.loads(report.with_suffix(".json").read_text())
    verdicts = {(one["benchmark"], one["verdict"]) for one in told["targets"]}
    assert ("B1", "not measured") in verdicts
    assert {name for name, verdict in verdicts if verdict != "not measured"} == {"B5", "memory"}
    assert "| insert 10 |" in report.read_text()
    assert "<svg" in (tmp_path / f"{report.stem}-B5.svg").read_text()
    first = told["lines"]["B5"][0]
    assert first["rows"] == 340
    assert first["peers"]["DuckDB"]["seconds"] > 0


def test_debian_has_a_query_for_every_view_and_rules_for_others() -> None:
    packages = Debian(all_packages=False)
    assert set(packages.queries) == {view.name for view in datalog.program(packages.spec("debian")).shown}
    assert packages.peers["nemo"] == "rules"
    text = list(datalog.rules(datalog.program(packages.spec("debian")), datalog.NEMO))
    assert any("COMPARE(" in rule for rule in text)
    assert any(rule.startswith("r_requires(?VP, ?VT) :- ") for rule in text)


def test_tpch_queries_and_views_have_the_same_columns() -> None:
    world_ = Tpch(Path())
    shown = datalog.program(world_.spec("tpch")).shown
    assert [view.name for view in shown] == list(world_.queries)
    assert len(shown) == 10
    for view in shown:
        for column in view.columns:
            assert column.name in world_.queries[view.name]


def test_a_peer_that_is_late_or_wrong_has_no_time(tmp_path: Path) -> None:
    tree = Tree(3)
    tree.create(str(tmp_path))
    assert DuckDb(60).run(tree, str(tmp_path), tree.expected(str(tmp_path))).seconds is not None
    wrong = DuckDb(60).run(tree, str(tmp_path), {"same": (1, "1")})
    assert (wrong.seconds, wrong.note) == (None, "wrong result in same")
