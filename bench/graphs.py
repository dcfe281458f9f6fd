"""Graphs whose closures are the benchmark: generators, nightly changes, and a closure of our own to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from bench.worlds import NO_KEYS, Change, Fingerprints, fingerprint, write_changes, write_table

RULES = """\
group: {group}
max_rounds: 10000
sources:
  edge: {{table: raw/edge, columns: {{src: bigint, dst: bigint}}}}
views:
  closure:
    columns: {{src: bigint, dst: bigint}}
    strategy: {strategy}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
"""
QUERY = """
with recursive reach as (select src, dst from edge union select e.src, r.dst from edge e join reach r on r.src = e.dst)
select src, dst from reach
"""
Edge = tuple[int, int]


def recursive(pathway: str) -> dict[str, str]:
    """Peers of a view that reads itself; `pathway` names the program that peers/incremental.py has for it."""
    return {
        "spark": "not: Spark's recursive queries keep duplicates (UNION ALL only)",
        "merge": "not: no keys say which rows a change touches",
        "pg_ivm": "not: no recursion",
        "nemo": "rules",
        "clingo": "rules",
        "pathway": pathway,
    }


@dataclass(slots=True)
class Graph:
    """A changing graph; `layers` > 0 keeps every edge between neighbouring layers, so that there is no cycle."""

    name: str
    nodes: int
    layers: int = 0
    edges: set[Edge] = field(default_factory=set)
    deletions: tuple[int, ...] = ()  # nothing but these
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    tables = ("edge",)
    keyed = NO_KEYS
    queries: Mapping[str, str] = field(default_factory=lambda: {"closure": QUERY})
    peers: Mapping[str, str] = field(default_factory=lambda: recursive("closure"))

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The view's spec under a group's name."""
        return RULES.format(group=group, strategy=strategy)

    def create(self, root: str) -> None:
        """Write the graph as a Delta table."""
        write_table(root, "raw/edge", edge_table(sorted(self.edges)))

    def changes(self) -> list[tuple[str, int, str]]:
        """Label, size and kind of each change, in order."""
        if self.deletions:
            return [(f"delete {n:,}", n, "delete") for n in self.deletions]
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
        plus, minus = edge_table(sorted(came)), edge_table(sorted(gone))
        write_changes(root, "raw/edge", plus, minus)
        return Change(plus.num_rows, minus.num_rows)

    def expected(self, _root: str) -> Fingerprints:
        """Number and hash of the closure's rows, by bit sets."""
        return {"closure": fingerprint(closure(self.nodes, np.array(sorted(self.edges), dtype=np.int64)))}

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


def path(nodes: int, deletions: tuple[int, ...]) -> Graph:
    """One long path, of which edges go."""
    return Graph("path", nodes, nodes, {(node, node + 1) for node in range(nodes - 1)}, deletions)


def edge_table(edges: list[Edge], names: tuple[str, str] = ("src", "dst")) -> pa.Table:
    """Edges as rows."""
    return pa.table({name: pa.array([edge[i] for edge in edges], pa.int64()) for i, name in enumerate(names)})


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


PARENTS = ("child", "parent")
GENERATION = """\
group: {group}
sources:
  parent: {{table: raw/parent, columns: {{child: bigint, parent: bigint}}}}
views:
  same:
    columns: {{a: bigint, b: bigint}}
    strategy: {strategy}
    rules:
      - same(X, Y) :- parent(X, P), parent(Y, P)
      - same(X, Y) :- parent(X, A), same(A, B), parent(Y, B)
"""
SAME = """
with recursive same as (
  select l.child a, r.child b from parent l join parent r on l.parent = r.parent
  union select l.child, r.child from same s join parent l on l.parent = s.a join parent r on r.parent = s.b
) select a, b from same
"""


@dataclass(slots=True)
class Tree:
    """A binary tree; who is of the same generation as whom."""

    depth: int  # levels, the root's included
    edges: set[Edge] = field(default_factory=set)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    tables = ("parent",)
    keyed = NO_KEYS
    queries: Mapping[str, str] = field(default_factory=lambda: {"same": SAME})
    peers: Mapping[str, str] = field(default_factory=lambda: recursive("generation"))

    @property
    def name(self) -> str:
        """As reports call it."""
        return f"depth {self.depth}"

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The view's spec under a group's name."""
        return GENERATION.format(group=group, strategy=strategy)

    def create(self, root: str) -> None:
        """Write the tree."""
        self.edges = {(k, k // 2) for k in range(2, 2**self.depth)}
        write_table(root, "raw/parent", edge_table(sorted(self.edges), PARENTS))

    def changes(self) -> list[tuple[str, int, str]]:
        """Leaves come and go."""
        return [(f"{kind} {n}", n, kind) for n in (1, 10) for kind in ("insert", "delete")]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Hang leaves below nodes of the last generation but one, or take some away."""
        leaves = 2 ** (self.depth - 1)
        came: set[Edge] = set()
        gone: set[Edge] = set()
        if kind == "delete":
            present = sorted(edge for edge in self.edges if edge[0] >= leaves)
            gone = {present[i] for i in self.rng.choice(len(present), size, replace=False)}
        else:
            first = max(child for child, _ in self.edges) + 1
            came = {(first + k, int(self.rng.integers(leaves // 2, leaves))) for k in range(size)}
        self.edges = (self.edges - gone) | came
        write_changes(root, "raw/parent", edge_table(sorted(came), PARENTS), edge_table(sorted(gone), PARENTS))
        return Change(len(came), len(gone))

    def expected(self, _root: str) -> Fingerprints:
        """All pairs of each level: levels are found from the root, without recursion of a database."""
        parent = dict(self.edges)
        level: dict[int, int] = {1: 0}
        for child in sorted(parent):
            level[child] = level[parent[child]] + 1
        levels: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
        for child in parent:
            levels[level[child]].append(child)
        pairs = [np.meshgrid(np.array(nodes), np.array(nodes)) for nodes in levels if nodes]
        a, b = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
        return {"same": fingerprint(pa.table({"a": a, "b": b}))}
