"""The picture of sources and views: what it shows, that nothing overlaps, and that nothing breaks out of it."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from tests.cases_runner import case_files, case_id, check_file
from tests.cli_runner import foreset

from foreset.explain.graph import Edge, Graph, Kind, Node, graph_of
from foreset.explain.picture import RULES, State, Tonight, drawing, file, shortened
from foreset.explain.placing import Sizes, place
from foreset.spec.load import load_file, load_text

ROOT = Path(__file__).resolve().parents[2]
EVIL = "</title><script>alert('x')</script>&\"'\x1b"
SIZES = Sizes(120, 30)
SHOWN = EVIL.replace("\x1b", "\N{REPLACEMENT CHARACTER}")
SVG = "http://www.w3.org/2000/svg"


def run_picture(text: str, arguments: Mapping[str, str]) -> str:
    loaded = load_text(text)
    assert loaded.program is not None, list(loaded.report)
    return f"{drawing(graph_of(loaded.program), {name: tonight(told) for name, told in arguments.items()})}\n"


def tonight(told: str) -> Tonight:
    counts = re.fullmatch(r"\+(\d+)-(\d+)", told)
    return Tonight(State.CHANGED, int(counts[1]), int(counts[2])) if counts else Tonight(State(told))


@pytest.mark.parametrize("path", case_files("picture"), ids=case_id)
def test_picture_case(path: Path) -> None:
    check_file(path, {"picture": run_picture})


def random_graph(seed: int, count: int) -> Graph:
    """A graph of `count` nodes on several levels, with names of all lengths and readers of many."""
    dice = random.Random(seed)
    names = [f"{'relation_with_a_long_name_' * dice.randint(0, 2)}r{i}" for i in range(count)]
    views = {name: dice.sample(names[:i], min(i, dice.randint(1, 4))) for i, name in enumerate(names) if i > count // 4}
    levels: dict[str, int] = {}
    for name in names:
        levels[name] = 1 + max((levels[read] for read in views[name]), default=0) if name in views else 0
    nodes = tuple(
        Node(
            name, Kind.VIEW if name in views else Kind.SOURCE, levels[name], i, dice.random() < 0.2, dice.random() < 0.2
        )
        for i, name in enumerate(names)
    )
    return Graph("g", nodes, tuple(Edge(r, n, dice.random() < 0.3) for n, found in views.items() for r in found))


@pytest.mark.parametrize("count", [1, 3, 10, 30, 60])
def test_boxes_never_overlap_and_every_line_ends_at_its_reader(count: int) -> None:
    graph = random_graph(count, count)
    placed = place(graph, SIZES)
    at = {box.node.name: box for box in placed.boxes}
    assert set(at) == {node.name for node in graph.nodes}
    for one, other in combinations(placed.boxes, 2):
        apart = abs(one.x - other.x) >= SIZES.width + 30 or abs(one.y - other.y) >= SIZES.height + 5
        assert apart, (one, other)
    for trunk in placed.trunks:
        left = at[trunk.read]
        middles = {(at[name].x, round(at[name].y + SIZES.height / 2, 1)) for name in trunk.by}
        assert set(trunk.ends) == middles
        for x1, y1, x2, y2 in trunk.curves:
            assert left.x + SIZES.width <= x1 <= x2, "lines lead to the right"
            for box in placed.boxes:  # a line within a column is a bend, which no box covers
                covered = x1 == box.x and x2 == box.x + SIZES.width and abs(y1 - box.y - SIZES.height / 2) < 18
                assert not covered, (trunk, box)
            assert 0 <= min(y1, y2) <= max(y1, y2) <= placed.height + SIZES.height


@pytest.mark.parametrize("count", [1, 3, 10, 30, 60])
def test_everything_is_inside_of_the_picture_and_the_picture_is_small(count: int) -> None:
    svg = file(random_graph(count, count), {"r0": Tonight(State.CHANGED, 1_234_567, 7_654_321)})
    root = ET.fromstring(svg)
    x, y, width, height = map(float, root.get("viewBox", "").split())
    for rect in root.iter(f"{{{SVG}}}rect"):
        left, top = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert x <= left <= left + float(rect.get("width", 0)) <= x + width
        assert y <= top <= top + float(rect.get("height", 0)) <= y + height
    assert len(svg) < 100_000


def test_sources_stand_left_and_each_view_right_of_what_it_reads() -> None:
    program = load_file(ROOT / "view_specs" / "supply_chain.yaml").program
    graph = graph_of(program)
    at = {box.node.name: box.x for box in place(graph, SIZES).boxes}
    assert {at[source.name] for source in program.sources} == {0}
    assert all(at[edge.read] < at[edge.by] for edge in graph.edges if edge.read != edge.by)
    assert {node.name for node in graph.nodes if node.recursive} == {"clash", "requires"}
    assert {edge.read for edge in graph.edges if edge.negated and edge.by == "needs"} == {"choice"}


def test_few_lines_cross() -> None:
    """Two groups that have nothing to do with each other are drawn without a crossing, in whatever order they come."""
    names = ["a1", "b1", "a2", "b2", "a3", "b3"]
    kinds = {"1": Kind.SOURCE, "2": Kind.SOURCE, "3": Kind.VIEW}
    nodes = [Node(name, kinds[name[1]], int(name[1] == "3"), i) for i, name in enumerate(names)]
    edges = (Edge("a1", "a3"), Edge("a2", "a3"), Edge("b1", "b3"), Edge("b2", "b3"))
    at = {box.node.name: box.y for box in place(Graph("g", tuple(nodes), edges), SIZES).boxes}
    assert max(at["a1"], at["a2"]) < min(at["b1"], at["b2"]) or max(at["b1"], at["b2"]) < min(at["a1"], at["a2"])
    assert (at["a1"] < at["b1"]) == (at["a3"] < at["b3"])


def test_words_of_a_spec_are_text_and_nothing_else() -> None:
    nodes = (Node("e", Kind.SOURCE, about=EVIL), Node("v" * 99, Kind.VIEW, 1, 1, about=EVIL))
    graph = Graph(EVIL, nodes, (Edge("e", "v" * 99),))
    root = ET.fromstring(drawing(graph, links={"e": f'x"{EVIL}'}).replace("<svg ", f"<svg xmlns='{SVG}' ", 1))
    assert not list(root.iter(f"{{{SVG}}}script"))
    titles = [one.text for one in root.iter(f"{{{SVG}}}title")]
    assert any(SHOWN in str(title) for title in titles)
    (shown,) = [one.text for one in root.iter(f"{{{SVG}}}text") if str(one.text).startswith("vv")]
    assert shown == "v" * 14 + "…" + "v" * 9
    assert any("v" * 99 in str(title) for title in titles), "the whole name is shown when pointed at"
    assert [one.get("href") for one in root.iter(f"{{{SVG}}}a")] == [f'x"{SHOWN}']


def test_long_names_stay_apart() -> None:
    names = [f"what_each_customer_ordered_in_{month}" for month in ("january", "february")]
    assert [shortened(name) for name in names] == ["what_each_cust…n_january", "what_each_cust…_february"]
    assert shortened("x" * 24) == "x" * 24


def test_a_file_is_whole_and_a_drawing_leaves_its_colours_to_the_page() -> None:
    graph = graph_of(load_file(ROOT / "view_specs" / "reach.yaml").program)
    assert "<style>" not in drawing(graph)
    assert RULES in file(graph)
    assert "prefers-color-scheme: dark" in file(graph)
    assert " style=" not in file(graph), "the policy of the pages forbids it"
    assert "url(" not in file(graph)


def test_the_neighbours_of_a_view() -> None:
    graph = graph_of(load_file(ROOT / "view_specs" / "supply_chain.yaml").program)
    near = graph.near("needs")
    assert [(node.name, node.level) for node in near.nodes] == [
        ("option", 0), ("choice", 0), ("needs", 1), ("requires", 2), ("leaf", 2)
    ]  # fmt: skip
    assert set(graph.reads("needs")) == {"option", "choice"}
    assert set(graph.readers("needs")) == {"requires", "leaf"}
    assert {"depends", "provides", "provider"} <= graph.below("needs")
    assert "requires" not in graph.below("needs")
    both = replace(graph, edges=(*graph.edges, Edge("requires", "needs")))
    levels = {node.name: node.level for node in both.near("needs").nodes}
    assert levels["requires"] == 1, "views that read each other stand beside each other"
    assert place(both.near("needs"), SIZES).trunks


def test_the_command_writes_the_picture(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "reach.svg"
    done = foreset("explain", "reach", "--svg", str(target), "--specs", str(ROOT / "view_specs"))
    assert (done.code, f"written: {target}" in done.out) == (0, True)
    assert "<title>view closure" in target.read_text()
    foreset("explain", "supply_chain.needs", "--svg", str(target), "--specs", str(ROOT / "view_specs"))
    assert "choice" in target.read_text()
    assert "maintainer" not in target.read_text()
