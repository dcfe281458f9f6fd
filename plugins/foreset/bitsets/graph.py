"""Directed graphs over numbered nodes, by arrays: reachability, strong components, levels.

No loop here runs over nodes or edges one by one: each round of a loop takes a whole frontier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
SEED = 1  # of the priorities by which components are found: the same graph is always cut in the same way


@dataclass(slots=True)
class Graph:
    """Edges `tails[i] -> heads[i]` over nodes 0 .. nodes-1."""

    nodes: int
    tails: Ints
    heads: Ints
    _order: Ints = field(init=False)
    _starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        self._order = np.argsort(self.tails)
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(self.tails, minlength=self.nodes))))

    @property
    def turned(self) -> Graph:
        """The same edges, each in the other direction."""
        return Graph(self.nodes, self.heads, self.tails)

    def leaving(self, frontier: Ints) -> Ints:
        """The edges that leave a node of `frontier`."""
        first, sizes = self._starts[frontier], self._starts[frontier + 1] - self._starts[frontier]
        skipped = np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        found: Ints = self._order[skipped + np.arange(skipped.size)]
        return found

    def reached(self, start: Ints) -> Bools:
        """The nodes to which a path leads from one of `start`, those themselves too."""
        found = np.zeros(self.nodes, dtype=np.bool_)
        found[start] = True
        frontier = start
        while frontier.size:
            heads = self.heads[self.leaving(frontier)]
            frontier = np.unique(heads[~found[heads]])
            found[frontier] = True
        return found

    def levels(self) -> Ints:
        """0 for nodes that no edge leaves, else one more than the greatest level below; -1 above a circle."""
        turned, level = self.turned, np.full(self.nodes, -1)
        left = np.bincount(self.tails, minlength=self.nodes)
        frontier, number = np.flatnonzero(left == 0), 0
        while frontier.size:
            level[frontier] = number
            above, edges = np.unique(turned.heads[turned.leaving(frontier)], return_counts=True)
            left[above] -= edges
            frontier, number = above[left[above] == 0], number + 1
        return level

    def components(self) -> Ints:
        """A number for each node, the same for two that reach each other.

        Nodes get priorities by lot. The greatest that reaches a node is its colour: what the node of that priority
        is reached by, within the colour, is its component. The others, which are fewer each time, get new colours.
        """
        above = self.levels() < 0  # on a circle, or above one
        if not above.any():
            return np.arange(self.nodes)
        found, turned = np.full(self.nodes, -1), self.turned
        on_circles = above & (turned.levels() < 0)  # or between two of them
        found[~on_circles] = np.flatnonzero(~on_circles)
        active = np.flatnonzero(on_circles)
        priority = np.random.default_rng(SEED).permutation(self.nodes)
        while active.size:
            colour = self._coloured(active, found, priority)
            roots = active[colour[active] == priority[active]]
            found[roots] = frontier = roots
            while frontier.size:
                edges = turned.leaving(frontier)
                inner, outer = turned.tails[edges], turned.heads[edges]
                fresh = (found[outer] < 0) & (colour[outer] == colour[inner])
                found[outer[fresh]] = found[inner[fresh]]
                frontier = np.unique(outer[fresh])
            active = active[found[active] < 0]
        return found

    def _coloured(self, active: Ints, found: Ints, priority: Ints) -> Ints:
        colour = priority.copy()
        frontier = active
        while frontier.size:
            edges = self.leaving(frontier)
            tails, heads = self.tails[edges], self.heads[edges]
            better = (found[heads] < 0) & (colour[tails] > colour[heads])
            np.maximum.at(colour, heads[better], colour[tails[better]])
            frontier = np.unique(heads[better])
        return colour
