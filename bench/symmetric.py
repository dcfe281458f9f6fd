"""Symmetric and transitive closure: cliques in which every pair is stated, and what deletions of pairs do to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pyarrow as pa
from bench.graphs import Edge, edge_table, recursive
from bench.worlds import NO_KEYS, Change, Fingerprints, fingerprint, write_changes, write_table

RULES = """\
group: {group}
sources:
  link: {{table: raw/link, columns: {{a: bigint, b: bigint}}}}
views:
  same:
    columns: {{a: bigint, b: bigint}}
    strategy: {strategy}
    rules:
      - same(X, Y) :- link(X, Y)
      - same(X, Y) :- same(Y, X)
      - same(X, Z) :- same(X, Y), same(Y, Z)
"""
QUERY = """
with recursive step as (select a, b from link union select b, a from link), same as (
  select a, b from step union select same.a, step.b from same join step on step.a = same.b
) select a, b from same
"""


def clique(size: int, first: int = 0) -> set[Edge]:
    """Every ordered pair of so many nodes."""
    nodes = range(first, first + size)
    return {(a, b) for a in nodes for b in nodes if a != b}


@dataclass(slots=True)
class Cliques:
    """Cliques of several sizes side by side."""

    sizes: tuple[int, ...]
    deletions: tuple[int, ...] = (1, 10, 1000)
    name: str = "cliques"
    edges: set[Edge] = field(default_factory=set)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    tables = ("link",)
    keyed = NO_KEYS
    queries: Mapping[str, str] = field(default_factory=lambda: {"same": QUERY})
    peers: Mapping[str, str] = field(default_factory=lambda: recursive("symmetric"))

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The view's spec under a group's name."""
        return RULES.format(group=group, strategy=strategy)

    def create(self, root: str) -> None:
        """Write the pairs."""
        starts = [sum(self.sizes[:i]) for i in range(len(self.sizes))]
        self.edges = {pair for size, first in zip(self.sizes, starts, strict=True) for pair in clique(size, first)}
        write_table(root, "raw/link", edge_table(sorted(self.edges), ("a", "b")))

    def changes(self) -> list[tuple[str, int, str]]:
        """Pairs that are not stated any longer."""
        return [(f"delete {size:,}", size, "delete") for size in self.deletions]

    def apply(self, root: str, size: int, _kind: str) -> Change:
        """Take pairs away."""
        present = sorted(self.edges)
        gone = {present[i] for i in self.rng.choice(len(present), size, replace=False)}
        self.edges -= gone
        write_changes(root, "raw/link", edge_table([], ("a", "b")), edge_table(sorted(gone), ("a", "b")))
        return Change(0, len(gone))

    def expected(self, _root: str) -> Fingerprints:
        """All pairs of each component."""
        parts = [np.array(sorted(part)) for part in nx.connected_components(nx.Graph(list(self.edges)))]
        grids = [np.meshgrid(part, part) for part in parts]
        a, b = (np.concatenate([grid[side].ravel() for grid in grids]) for side in (0, 1))
        return {"same": fingerprint(pa.table({"a": a, "b": b}))}
