"""Who reads whom among the views of a program, and which of them read each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from foreset.ir.program import View, is_hidden
from foreset.ir.rules import atoms

Graph = Mapping[str, tuple[str, ...]]


def dependencies(views: Iterable[View]) -> dict[str, tuple[str, ...]]:
    """For each view the relations that its rules read, in the order of the text, each once."""
    given = tuple(views)
    known = {view.name for view in given}
    return {
        view.name: tuple(
            dict.fromkeys(
                atom.relation
                for rule in view.rules
                for atom, _ in atoms(rule)
                if atom.relation in known or not (view.constrained and is_hidden(atom.relation))  # a call
            )
        )
        for view in given
    }


def components(graph: Graph) -> list[tuple[str, ...]]:
    """The strongly connected parts, each after those that it reads (Tarjan, without recursion).

    What a node reads but the graph does not define is no part of it. The names within a
    part keep the order of the graph.
    """
    place = {name: i for i, name in enumerate(graph)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[tuple[str, ...]] = []
    for root in graph:
        work = [] if root in index else [(root, 0)]
        while work:
            node, step = work.pop()
            if step == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            else:
                low[node] = min(low[node], low[graph[node][step - 1]])
            step = _next(node, step, graph, index, on_stack, low)
            if step < len(graph[node]):
                work += [(node, step + 1), (graph[node][step], 0)]
            elif low[node] == index[node]:
                part = [stack.pop()]
                while part[-1] != node:
                    part.append(stack.pop())
                on_stack.difference_update(part)
                found.append(tuple(sorted(part, key=place.__getitem__)))
    return found


def circles(graph: Graph) -> dict[str, frozenset[str]]:
    """For each node those that it reads and that read it, by way of others too; none for most."""
    parts = components(graph)
    return {name: frozenset(part if len(part) > 1 or name in graph[name] else ()) for part in parts for name in part}


def _next(
    node: str, step: int, graph: Graph, index: Mapping[str, int], on_stack: Collection[str], low: dict[str, int]
) -> int:
    """The position of the next neighbour to visit; on the way, note the visited ones on the stack."""
    neighbours = graph[node]
    while step < len(neighbours) and (neighbours[step] in index or neighbours[step] not in graph):
        if neighbours[step] in on_stack:
            low[node] = min(low[node], index[neighbours[step]])
        step += 1
    return step


def path(graph: Graph, start: str, goal: str, within: Collection[str]) -> tuple[str, ...]:
    """A shortest way from `start` to `goal` along readings inside `within`; empty when there is none."""
    before: dict[str, str] = {}
    reached: Sequence[str] = (start,)
    seen = {start}
    while reached and goal not in seen:
        ahead = [(a, b) for a in reached for b in graph[a] if b in within and b not in seen]
        for a, b in ahead:
            before.setdefault(b, a)
        reached = tuple(dict.fromkeys(b for _, b in ahead))
        seen.update(reached)
    if goal not in seen:
        return ()
    steps = [goal]
    while steps[-1] != start:
        steps.append(before[steps[-1]])
    return tuple(reversed(steps))
