"""Where the nodes of a graph stand in a picture: columns by level, few crossings, short ways.

A read that passes a column goes through a *bend* there; all readers of one node share its bends, so that a
source with many readers leaves as one line. The order in the columns is found by sweeps to the mean place of
neighbours; the heights are then those of least squares that keep the order and the gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foreset.explain.graph import Graph, Node

SWEEPS = 12
Spot = tuple[str, bool, int]  # what is read, whether by `not`, and the column of the bend; a node has column -1


@dataclass(frozen=True, slots=True)
class Box:
    """A node in the picture; `x` and `y` are its left upper corner."""

    node: Node
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Trunk:
    """All ways from one node to those who read it in one manner, as curves from point to point."""

    read: str
    negated: bool
    by: tuple[str, ...]
    curves: tuple[tuple[float, float, float, float], ...]  # x1, y1, x2, y2
    ends: tuple[tuple[float, float], ...]  # where arrows point
    beside: tuple[tuple[float, float, float], ...]  # x, y1, y2: to views of the same column


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of boxes and of the gaps between them."""

    width: float
    height: float
    between: float = 60.0  # columns
    gap: float = 12.0  # boxes
    bend: float = 10.0  # a bend and what stands beside it


@dataclass(frozen=True, slots=True)
class Placed:
    """The picture without its ink."""

    boxes: tuple[Box, ...]
    trunks: tuple[Trunk, ...]
    width: float
    height: float


def place(graph: Graph, sizes: Sizes) -> Placed:
    """Places for all nodes and lines of `graph`."""
    routes = [_route(graph, read, negated=negated) for read, negated in _bundles(graph)]
    links = [link for route in routes for link in route.links]
    order = _ordered(_columns(graph, routes), links, {node.name: node.part for node in graph.nodes})
    heights = _heights(order, links, sizes)
    step = sizes.width + sizes.between
    nodes = {node.name: node for node in graph.nodes}
    at = {spot: x * step for x, column in enumerate(order) for spot in column}
    boxes = tuple(
        Box(nodes[spot[0]], at[spot], heights[spot] - sizes.height / 2)
        for column in order
        for spot in column
        if _is_node(spot)
    )
    trunks = tuple(_trunk(route, at, heights, sizes) for route in routes)
    margin = sizes.between / 2 if any(trunk.beside for trunk in trunks) else 0
    width = len(order) * step - sizes.between + margin
    return Placed(boxes, trunks, width, max((box.y + sizes.height for box in boxes), default=0))


# ---------------------------------------------------------------- columns
@dataclass(frozen=True, slots=True)
class _Route:
    """The way of one bundle: from what is read along its bends, with a branch to each reader."""

    read: str
    negated: bool
    by: tuple[str, ...]
    bends: tuple[Spot, ...]
    links: tuple[tuple[Spot, Spot], ...]
    beside: tuple[str, ...]  # readers in the same column


def _route(graph: Graph, read: str, *, negated: bool) -> _Route:
    level = {node.name: node.level for node in graph.nodes}
    by = tuple(e.by for e in graph.edges if e.read == read != e.by and e.negated is negated)
    ahead = [name for name in by if level[name] > level[read]]
    last = max((level[name] for name in ahead), default=0)
    bends = tuple((read, negated, x) for x in range(level[read] + 1, last))
    way = (_spot(read), *bends)
    branches = tuple((way[level[name] - level[read] - 1], _spot(name)) for name in ahead)
    beside = tuple(name for name in by if level[name] == level[read])
    return _Route(read, negated, by, bends, (*zip(way, bends, strict=False), *branches), beside)


def _bundles(graph: Graph) -> list[tuple[str, bool]]:
    """Who is read, and whether by `not`; a view that reads itself is marked, not drawn."""
    return list(dict.fromkeys((edge.read, edge.negated) for edge in graph.edges if edge.read != edge.by))


def _columns(graph: Graph, routes: Iterable[_Route]) -> list[list[Spot]]:
    """The spots of each column, as they come."""
    columns: list[list[Spot]] = [[] for _ in range(max((node.level for node in graph.nodes), default=0) + 1)]
    for node in graph.nodes:
        columns[node.level].append(_spot(node.name))
    for route in routes:
        for bend in route.bends:
            columns[bend[2]].append(bend)
    return [column for column in columns if column]


def _spot(name: str) -> Spot:
    return name, False, -1


def _is_node(spot: Spot) -> bool:
    return spot[2] < 0


# ---------------------------------------------------------------- the order in columns
def _ordered(
    columns: Sequence[Sequence[Spot]], links: Iterable[tuple[Spot, Spot]], parts: Mapping[str, int]
) -> list[list[Spot]]:
    """The columns in the best order that the sweeps come by; views of one part stay together."""
    before, after = _neighbours(links)
    order = [list(column) for column in columns]
    best, least = [list(column) for column in order], _crossings(order, before)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = before if down else after
        for x in range(1, len(order)) if down else range(len(order) - 2, -1, -1):
            places = {spot: i for i, spot in enumerate(order[x - 1 if down else x + 1])}
            order[x] = _sorted(order[x], near, places, parts)
        found = _crossings(order, before)
        if found < least:
            best, least = [list(column) for column in order], found
    return best


def _neighbours(links: Iterable[tuple[Spot, Spot]]) -> tuple[dict[Spot, list[Spot]], dict[Spot, list[Spot]]]:
    before: dict[Spot, list[Spot]] = {}
    after: dict[Spot, list[Spot]] = {}
    for left, right in links:
        after.setdefault(left, []).append(right)
        before.setdefault(right, []).append(left)
    return before, after


def _sorted(
    column: Sequence[Spot], near: Mapping[Spot, Sequence[Spot]], places: Mapping[Spot, int], parts: Mapping[str, int]
) -> list[Spot]:
    def mean(spot: Spot, own: int) -> float:
        found = [places[one] for one in near.get(spot, ()) if one in places]
        return sum(found) / len(found) if found else float(own)

    means = {spot: mean(spot, i) for i, spot in enumerate(column)}
    together: dict[object, list[float]] = {}
    for spot in column:
        together.setdefault(_part(spot, parts), []).append(means[spot])
    of_part = {part: sum(found) / len(found) for part, found in together.items()}
    first = {part: i for i, part in reversed(list(enumerate(_part(spot, parts) for spot in column)))}
    return sorted(column, key=lambda s: (of_part[_part(s, parts)], first[_part(s, parts)], means[s]))


def _part(spot: Spot, parts: Mapping[str, int]) -> object:
    return parts[spot[0]] or spot if _is_node(spot) else spot


def _crossings(order: Sequence[Sequence[Spot]], before: Mapping[Spot, Sequence[Spot]]) -> int:
    """How often lines cross between neighbouring columns."""
    count = 0
    for left, right in pairwise(order):
        places = {spot: i for i, spot in enumerate(left)}
        seen: list[int] = []
        for spot in right:
            ends = [places[one] for one in before.get(spot, ()) if one in places]
            count += sum(other > end for end in ends for other in seen)
            seen += ends
    return count


# ---------------------------------------------------------------- heights
def _heights(order: Sequence[Sequence[Spot]], links: Sequence[tuple[Spot, Spot]], sizes: Sizes) -> dict[Spot, float]:
    """The height of the middle of each spot; the least is such that all boxes are at or below 0."""
    before, after = _neighbours(links)
    heights: dict[Spot, float] = {}
    for column in order:
        heights |= zip(column, _spread([0.0] * len(column), column, sizes), strict=True)
    for sweep in range(SWEEPS):
        near = before if sweep % 2 == 0 else after
        for column in order if sweep % 2 == 0 else reversed(order):
            wanted = [_mean(spot, near, heights) for spot in column]
            heights |= zip(column, _spread(wanted, column, sizes), strict=True)
    top = min(height - _half(spot, sizes) for spot, height in heights.items())
    return {spot: round(height - top, 1) for spot, height in heights.items()}


def _mean(spot: Spot, near: Mapping[Spot, Sequence[Spot]], heights: Mapping[Spot, float]) -> float:
    found = [heights[one] for one in near.get(spot, ())]
    return sum(found) / len(found) if found else heights[spot]


def _half(spot: Spot, sizes: Sizes) -> float:
    return (sizes.height if _is_node(spot) else sizes.bend) / 2


def _spread(wanted: Sequence[float], column: Sequence[Spot], sizes: Sizes) -> list[float]:
    """The heights nearest to `wanted`, by least squares, that keep the order and the gaps of a column.

    With the gaps taken off, this is isotonic regression: neighbours that would overlap are moved as one.
    """
    offsets = [0.0]
    for upper, lower in pairwise(column):
        offsets.append(offsets[-1] + _half(upper, sizes) + _half(lower, sizes) + sizes.gap)
    blocks: list[tuple[float, int]] = []  # mean, count
    for height, offset in zip(wanted, offsets, strict=True):
        mean, count = height - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


# ---------------------------------------------------------------- lines
def _trunk(route: _Route, at: Mapping[Spot, float], heights: Mapping[Spot, float], sizes: Sizes) -> Trunk:
    curves = [(at[a] + sizes.width, heights[a], at[b], heights[b]) for a, b in route.links]
    through = [(at[bend], heights[bend], at[bend] + sizes.width, heights[bend]) for bend in route.bends]
    ends = tuple((at[b], heights[b]) for _, b in route.links if _is_node(b))
    own = _spot(route.read)
    beside = tuple((at[own] + sizes.width, heights[own], heights[_spot(name)]) for name in route.beside)
    return Trunk(route.read, route.negated, route.by, (*curves, *through), ends, beside)
