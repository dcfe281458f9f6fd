"""Who reads whom in a program as people wrote it: sources and domains, views, and the marks of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from foreset.analyse.graph import components
from foreset.ir.program import Program, View
from foreset.ir.rules import atoms


class Kind(StrEnum):
    """What a node is."""

    SOURCE = "source"
    DOMAIN = "domain"  # an outside source that is asked
    VIEW = "view"


@dataclass(frozen=True, slots=True)
class Node:
    """A relation, or a domain as `name`; `level` is 0 for what is read only, and 1 + that of what a view reads."""

    name: str
    kind: Kind
    level: int = 0
    part: int = 0  # views with one number read each other
    recursive: bool = False
    aggregates: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """`by` reads `read`; `negated` where it does so by `not` only."""

    read: str
    by: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes in the order of the file, sources first, and who reads whom."""

    group: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def reads(self, name: str) -> tuple[str, ...]:
        """What `name` reads, itself left out."""
        return tuple(edge.read for edge in self.edges if edge.by == name != edge.read)

    def readers(self, name: str) -> tuple[str, ...]:
        """Who reads `name`, itself left out."""
        return tuple(edge.by for edge in self.edges if edge.read == name != edge.by)

    def below(self, name: str) -> frozenset[str]:
        """Everything on which `name` rests."""
        found: set[str] = set()
        todo = [name]
        while todo:
            fresh = [read for read in self.reads(todo.pop()) if read not in found]
            found.update(fresh)
            todo += fresh
        return frozenset(found - {name})

    def near(self, name: str) -> Graph:
        """Only `name`, what it reads and who reads it."""
        reads, readers = set(self.reads(name)), set(self.readers(name))
        level = {**dict.fromkeys(reads, 0), **dict.fromkeys(readers, 2), **dict.fromkeys(reads & readers, 1), name: 1}
        nodes = tuple(replace(node, level=level[node.name]) for node in self.nodes if node.name in level)
        edges = tuple(edge for edge in self.edges if name in (edge.read, edge.by))
        return Graph(self.group, nodes, edges)


def graph_of(program: Program) -> Graph:
    """The graph of a program in written form: what rewriting makes for itself is not in it."""
    reads = {view.name: _reads(view) for view in program.views}
    parts = components({name: tuple(read) for name, read in reads.items()})
    levels: dict[str, int] = {}
    for part in parts:
        below = [levels.get(read, 0) for name in part for read in reads[name] if read not in part]
        levels |= dict.fromkeys(part, 1 + max(below, default=0))
    place = {name: number for number, part in enumerate(parts, 1) for name in part}
    several = {name for part in parts if len(part) > 1 for name in part}
    views = [
        Node(
            view.name,
            Kind.VIEW,
            levels[view.name],
            place[view.name],
            view.name in several or view.name in reads[view.name],
            any(rule.sets for rule in view.rules),
            view.description,
        )
        for view in program.views
    ]
    sources = [Node(s.name, Kind.SOURCE, about=s.table or f"view {s.view}") for s in program.sources]
    asked = {read for read in _ordered(reads.values()) if read.endswith(ASKED)}
    domains = [Node(name, Kind.DOMAIN, about="asked at each refresh") for name in sorted(asked)]
    edges = [Edge(read, name, negated) for name, found in reads.items() for read, negated in found.items()]
    return Graph(program.group, (*sources, *domains, *views), tuple(edges))


ASKED = ":"  # ends the name of a domain: no relation has it


def _reads(view: View) -> dict[str, bool]:
    """What a view reads, each with whether it reads it by `not` only."""
    found: dict[str, bool] = {}
    for name, negated in _mentions(view):
        found[name] = negated and found.get(name, True)
    return found


def _mentions(view: View) -> Iterator[tuple[str, bool]]:
    for rule in view.rules:
        for atom, negated in atoms(rule):
            yield atom.relation, negated
        for call in rule.calls:
            yield call.domain + ASKED, call.negated


def _ordered(found: Iterable[Mapping[str, bool]]) -> Iterator[str]:
    for one in found:
        yield from one
