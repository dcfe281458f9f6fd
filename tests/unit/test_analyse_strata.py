"""Strata against definitions, on random graphs; and the proof that recursion ends."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_analyse_cases import prepared

from foreset.analyse.graph import components, path
from foreset.analyse.strata import layering
from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Rule
from foreset.ir.terms import Var
from foreset.ir.types import STRING

NAMES = [f"v{i}" for i in range(8)]
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "source"]), unique=True).map(tuple))


@given(GRAPHS)
def test_components_are_those_of_networkx_in_order(graph: dict[str, tuple[str, ...]]) -> None:
    known = nx.DiGraph([(a, b) for a, reads in graph.items() for b in reads if b in graph])
    known.add_nodes_from(graph)
    found = components(graph)
    assert {frozenset(part) for part in found} == {frozenset(part) for part in nx.strongly_connected_components(known)}
    done: set[str] = set()
    for part in found:
        done |= set(part)
        assert all(read in done for name in part for read in graph[name] if read in graph)


@given(GRAPHS, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_paths_are_shortest(graph: dict[str, tuple[str, ...]], start: str, goal: str) -> None:
    if start not in graph or goal not in graph:
        return
    known = nx.DiGraph([(a, b) for a, reads in graph.items() for b in reads if b in graph])
    known.add_nodes_from(graph)
    found = path(graph, start, goal, graph.keys())
    if not nx.has_path(known, start, goal):
        assert found == ()
    else:
        assert len(found) == nx.shortest_path_length(known, start, goal) + 1
        assert all(b in graph[a] for a, b in pairwise(found))


def view(name: str, reads: tuple[str, ...]) -> View:
    rules = tuple(Rule(Atom(name, (Var("X"),)), (Atom(read, (Var("X"),)),)) for read in reads)
    return View(name, (Column("a", STRING),), rules)


@given(GRAPHS)
def test_strata_come_after_what_they_read(graph: dict[str, tuple[str, ...]]) -> None:
    layers = layering(tuple(view(name, reads) for name, reads in graph.items()))
    assert sorted(name for stratum in layers.strata for name in stratum.names) == sorted(graph)
    for number, stratum in enumerate(layers.strata, 1):
        assert stratum.number == number
        below = [layers.of(read) for read in stratum.reads if read in graph]
        assert stratum.depends_on == tuple(sorted({lower.number for lower in below}))
        assert all(lower.number < number for lower in below)
        assert stratum.level == 1 + max((lower.level for lower in below), default=0)


def test_a_long_chain_needs_no_deep_stack() -> None:
    graph = {f"v{i}": (f"v{i + 1}",) for i in range(20_000)} | {"v20000": ()}
    assert len(components(graph)) == 20_001


SPEC = """group: g
sources:
  e: {{table: raw/e, columns: {{a: string, b: string, n: int}}}}
views:
  v:
    columns: {{a: string, n: bigint}}
    rules:
      - v(X, N) :- e(X, _, N)
      - {}
"""
ENDING = (
    "v(X, N + 1) :- v(X, N)",
    "v(X, 1 + N) :- v(X, N)",
    "v(X, N - 1) :- v(X, N)",
    "v(Y, N) :- v(X, M), e(X, Y, N), N > M",
    "v(Y, N) :- v(X, M), e(X, Y, N), M > N",
    "v(Y, N) :- v(Y, M), e(Y, Y, K), K > M, N = K",
    "v(Y, N) :- v(Y, M), e(Y, Y, K), K >= M, N = K + 2",
    "v(Y, N) :- v(X, M), e(X, Y, N), N = M + 1",
    "v(Y, N) :- v(X, M), e(X, Y, N), M = N - 1",
    "v(Y, N) :- v(X, M), e(Y, _, N), X < Y",
    "v(Y, N + 1) :- v(X, N), v(Y, N)",
)
PERHAPS_CYCLIC = (
    "v(Y, N) :- v(X, N), e(X, Y, _)",
    "v(Y, N) :- v(X, M), e(X, Y, N), N >= M",
    "v(Y, N) :- v(X, M), e(X, Y, N), N != M",
    "v(X, N + 0) :- v(X, N)",
    "v(X, N * 2) :- v(X, N)",
    "v(X, bigint(N + 0.5)) :- v(X, N)",
    "v(Y, N + 1) :- v(X, N), v(Y, M), e(X, Y, M)",
    "v(X, 5) :- v(X, _)",
    "v(Y, N) :- v(X, M), e(X, Y, N), M + 1 > N",
)


@pytest.mark.parametrize("rule", ENDING)
def test_recursion_that_moves_one_way_is_not_cyclic(rule: str) -> None:
    layers = prepared(SPEC.format(rule)).layering
    assert layers is not None
    assert layers.strata[0].recursive
    assert not layers.strata[0].cyclic


@pytest.mark.parametrize("rule", PERHAPS_CYCLIC)
def test_what_may_go_round_is_cyclic(rule: str) -> None:
    layers = prepared(SPEC.format(rule)).layering
    assert layers is not None
    assert layers.strata[0].cyclic
