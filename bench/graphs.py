"""Graphs whose closures are the benchmark: generators, nightly changes, and a closure of our own to compare with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from bench.worlds import Change, Fingerprint, fingerprint, write_changes, write_table

RULES = """\
group: {group}
sources:
  edge: {{table: raw/edge, columns: {{src: bigint, dst: bigint}}}}
views:
  closure:
    columns: {{src: bigint, dst: bigint}}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
"""
QUERY = """
with recursive reach as (select src, dst from edge union select e.src, r.dst from edge e join reach r on r.src = e.dst)
select src, dst from reach
"""
Edge = tuple[int, int]


@dataclass(slots=True)
class Graph:
    """A changing graph; `layers` > 0 keeps every edge between neighbouring layers, so that there is no cycle."""

    name: str
    nodes: int
    layers: int = 0
    edges: set[Edge] = field(default_factory=set)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    view = "closure"
    tables = ("edge",)
    query = QUERY

    def spec(self, group: str) -> str:
        """The view's spec under a group's name."""
        return RULES.format(group=group)

    def create(self, root: str) -> None:
        """Write the graph as a Delta table."""
        write_table(root, "raw/edge", _table(sorted(self.edges)))

    def changes(self) -> list[tuple[str, int, str]]:
        """Label, size and kind of each change, in order."""
        sizes = {"1": 1, "10": 10, "100": 100, "1 %": max(1, len(self.edges) // 100)}
        return [(f"{kind} {label}", n, kind) for label, n in sizes.items() for kind in ("insert", "delete", "mixed")]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Change the graph and its table; half and half when mixed, one of each at least."""
        present = sorted(self.edges)
        came: set[Edge] = set()
        gone: set[Edge] = set()
        if kind in ("delete", "mixed"):
            count = size if kind == "delete" else max(1, size // 2)
            gone = {present[i] for i in self.rng.choice(len(present), count, replace=False)}
        while kind in ("insert", "mixed") and len(came) < max(1, size - len(gone)):
            edge = self.edge()
            if edge not in self.edges:
                came.add(edge)
        self.edges = (self.edges - gone) | came
        plus, minus = _table(sorted(came)), _table(sorted(gone))
        write_changes(root, "raw/edge", plus, minus)
        return Change(plus.num_rows, minus.num_rows)

    def expected(self, _root: str) -> Fingerprint:
        """Number and hash of the closure's rows, by bit sets."""
        return fingerprint(closure(self.nodes, np.array(sorted(self.edges), dtype=np.int64)))

    def edge(self) -> Edge:
        """Any edge that the graph may have."""
        if not self.layers:
            return int(self.rng.integers(self.nodes)), int(self.rng.integers(self.nodes))
        width = self.nodes // self.layers
        layer = int(self.rng.integers(self.layers - 1))
        return layer * width + int(self.rng.integers(width)), (layer + 1) * width + int(self.rng.integers(width))


def layered(layers: int, width: int, down: int) -> Graph:
    """`layers` of `width` nodes, each with `down` edges to the next layer."""
    graph = Graph("dag", layers * width, layers)
    for layer in range(layers - 1):
        for node in range(width):
            for target in graph.rng.choice(width, min(down, width), replace=False):
                graph.edges.add((layer * width + node, (layer + 1) * width + int(target)))
    return graph


def digraph(nodes: int, edges: int) -> Graph:
    """Edges between random nodes: one giant component beyond one edge a node."""
    graph = Graph("digraph", nodes)
    while len(graph.edges) < edges:
        graph.edges.add(graph.edge())
    return graph


def _table(edges: list[Edge]) -> pa.Table:
    return pa.table(
        {"src": pa.array([e[0] for e in edges], pa.int64()), "dst": pa.array([e[1] for e in edges], pa.int64())}
    )


def closure(nodes: int, edges: np.ndarray) -> pa.Table:
    """Reachability by at least one edge: rows of bits, joined until nothing grows."""
    reach = np.zeros((nodes, (nodes + 63) // 64), dtype=np.uint64)
    for src, dst in edges:
        reach[src, dst // 64] |= np.uint64(1) << np.uint64(dst % 64)
    after: list[list[int]] = [[] for _ in range(nodes)]
    for src, dst in edges:
        after[src].append(int(dst))
    grown = True
    while grown:
        grown = False
        for node in range(nodes - 1, -1, -1):  # targets of layered edges come first
            if after[node]:
                merged = reach[node] | np.bitwise_or.reduce(reach[after[node]], axis=0)
                if not np.array_equal(merged, reach[node]):
                    reach[node], grown = merged, True
    bits = np.unpackbits(reach.view(np.uint8), axis=1, bitorder="little")[:, :nodes]
    src, dst = np.nonzero(bits)
    return pa.table({"src": src.astype(np.int64), "dst": dst.astype(np.int64)})
