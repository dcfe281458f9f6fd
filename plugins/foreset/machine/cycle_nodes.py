"""The nodes of a graph that lie on a circle; rows are edges."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from foreset.ir.terms import Row


def on_circles(edges: Iterable[Row]) -> set[Row]:
    """The nodes of components in which each reaches the other, and those with an edge to themselves."""
    graph = nx.DiGraph((row[: len(row) // 2], row[len(row) // 2 :]) for row in edges)
    large = (part for part in nx.strongly_connected_components(graph) if len(part) > 1)
    return {node for part in large for node in part} | {node for node, other in graph.edges if node == other}
