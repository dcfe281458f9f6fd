"""`spread`: which recursions it admits, and that the bits say what plain sets say."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.backends.sets.linear_fixpoint import spread_out
from foreset.backends.sets.rows import Memory
from foreset.bitsets.change import Tables, changes
from foreset.bitsets.graph import Graph
from foreset.ir.steps import Ref, Spread
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.maintain.spread import spread
from foreset.plan.translate import refusal

SPEC = """group: g
sources:
  e: {{table: t/e, columns: {{a: {kind}, b: {kind}}}}}
  s: {{table: t/s, columns: {{a: {kind}}}}}
  n: {{table: t/n, columns: {{a: bigint}}}}
views:
  v:
    columns: {{{columns}}}
    rules: [{rules}]
"""
TWO = ("c0", "c1")
BASE = "v(X, Y) :- e(X, Y)"
RIGHT, LEFT = "v(X, Y) :- e(X, Z), v(Z, Y)", "v(X, Y) :- v(X, Z), e(Z, Y)"


def stratum(*rules: str, columns: Iterable[str] = TWO, kind: str = "int", wide: str = "") -> Stratum:
    shown = ", ".join(f"{name}: {wide or kind}" for name in columns)
    text = SPEC.format(kind=kind, columns=shown, rules=", ".join(f"'{rule}'" for rule in rules))
    return in_normal_form(load_program(text, "spec"))[1].strata[0]


ADMITTED = {
    "right": (stratum(BASE, RIGHT), (0,)),
    "left": (stratum(BASE, LEFT), (1,)),
    "doubled": (stratum(BASE, "v(X, Y) :- v(Z, Y), v(X, Z)"), (0,)),
    "mirrored": (stratum(BASE, "v(X, Y) :- v(Y, X)", "v(X, Y) :- v(X, Z), v(Z, Y)"), (0,)),
    "nothing carried": (stratum("v(X) :- s(X)", "v(X) :- e(X, Z), v(Z)", columns=("c0",)), (0,)),
    "two carried": (stratum("v(X, Y, Y) :- e(X, Y)", "v(X, P, Q) :- v(Z, P, Q), e(Z, X)", columns="abc"), (0,)),
    "a wider view": (stratum(BASE, RIGHT, wide="bigint"), (0,)),
    "a constant": (stratum(BASE, "v(X, Y) :- e(X, 1), v(1, Y)"), (0,)),
    "conditions": (stratum(BASE, "v(X, Y) :- e(X, Z), not s(Z), X < Z, v(Z, Y)"), (0,)),
    "two steps": (stratum(BASE, RIGHT, "v(X, Y) :- e(U, X), e(U, Z), v(Z, Y)"), (0,)),
}
REFUSED = {
    "both directions": (stratum(BASE, RIGHT, LEFT), "do not bind"),
    "only mirrored": (stratum(BASE, "v(X, Y) :- v(Y, X)"), "do not bind"),
    "mirrored by another": (stratum(BASE, "v(X, Y) :- v(Y, X), s(X)", "v(X, Y) :- v(X, Z), v(Z, Y)"), "itself twice"),
    "no recursion": (stratum(BASE), "one recursive view"),
    "read twice": (stratum(BASE, "v(X, Y) :- v(X, Z), v(Z, Y), s(Z)"), "itself twice"),
    "multiplied": (stratum(BASE, "v(X, Y) :- e(X, _), s(Z), v(Z, Y)"), "do not join"),
    "named below": (stratum(BASE, "v(X, Y) :- e(X, Z), v(Z, Y), s(Y)"), "do not bind|do not join"),
    "can fail": (stratum(BASE, "v(X, Y) :- e(X, Z), 10 / Z > 1, v(Z, Y)"), "can fail"),
    "in a wider type": (stratum(BASE, "v(X, Y) :- e(X, Z), n(Z), v(Z, Y)"), "in a wider type"),
    "nothing moves": (stratum(BASE, "v(X, Y) :- s(3), v(X, Y)"), "no column moves"),
}


@pytest.mark.parametrize("shape", ADMITTED)
def test_admitted(shape: str) -> None:
    found, key = ADMITTED[shape]
    assert refusal(found, "spread") == ""
    (step,) = (step for step in spread(found).steps if isinstance(step, Spread))
    assert step.key == key


@pytest.mark.parametrize("shape", REFUSED)
def test_refused(shape: str) -> None:
    found, why = REFUSED[shape]
    assert any(part in refusal(found, "spread") for part in why.split("|"))


def test_what_a_key_begins_with_may_be_whom_it_needs() -> None:
    """Then one relation is derived, once for each state."""
    helpers = {shape: len(spread(found).helpers) for shape, (found, _) in ADMITTED.items()}
    assert helpers == {**dict.fromkeys(ADMITTED, 2), "right": 1, "doubled": 1, "mirrored": 1}


# ---------------------------------------------------------------- bits against sets
def tables(base: set[Row], needs: set[Row], widths: tuple[int, int], kind: pa.DataType) -> Tables:
    def table(found: set[Row], width: int) -> pa.Table:
        return pa.table({f"c{i}": pa.array([row[i] for row in found], kind) for i in range(width)})

    return Tables(*map(table, (base, needs), widths))


VALUES = {
    "numbers": (pa.int64(), list(range(12))),
    "texts": (pa.string(), [*"abcde", ""]),
    "decimals": (pa.decimal128(9, 2), [Decimal(i) / 4 for i in range(6)]),
    "times": (pa.timestamp("us"), [datetime(2026, 1, day) for day in range(1, 9)]),
    "doubles": (pa.float64(), [0.0, 1.5, float("inf"), -2.0]),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("memory", [1, 1 << 28], ids=["column by column", "at once"])
def test_random_relations(values: str, memory: int) -> None:
    kind, domain = VALUES[values]
    differed = 0
    for seed in range(40):
        rng = random.Random(seed)
        width = rng.choice((1, 2, 2, 3))
        key = tuple(sorted(rng.sample(range(width), rng.randint(1, min(2, width)))))
        widths = (width, 2 * len(key))
        old = [rows(rng, domain, one, many) for one, many in zip(widths, (15, 30), strict=True)]
        new = [
            {row for row in before if rng.random() < 0.9} | rows(rng, domain, one, 2)
            for before, one in zip(old, widths, strict=True)
        ]
        step, memories = Spread("v", "base", "needs", key), Memory({})
        for version, state in ((Version.OLD, old), (Version.FULL, new)):
            for name, found in zip(("base", "needs"), state, strict=True):
                memories.fill(Ref(name, version), found)
        before, after = (spread_out(step, memories, version) for version in (Version.OLD, Version.FULL))
        got: dict[bool, list[Row]] = {True: [], False: []}
        for portion in changes(tables(*old, widths, kind), tables(*new, widths, kind), key, memory):
            got[portion.came] += zip(*(column.to_pylist() for column in portion.rows.columns), strict=True)
        for found, wanted in ((got[True], after - before), (got[False], before - after)):
            assert len(found) == len(set(found))
            assert set(found) == wanted, seed
        differed += before != after
    assert differed > 20


def rows(rng: random.Random, domain: list[object], width: int, most: int) -> set[Row]:
    def value() -> object:
        return None if rng.random() < 0.05 else rng.choice(domain)

    return {tuple(value() for _ in range(width)) for _ in range(rng.randint(0, most))}


def test_more_values_than_bits_in_a_word() -> None:
    """A chain of 200 keys, each with a value of its own: the first edge goes, so 199 rows do."""
    base = {(i, i) for i in range(200)}
    needs = {(i, i + 1) for i in range(199)}
    before, after = (tables(base, one, (2, 2), pa.int64()) for one in (needs, needs - {(0, 1)}))
    (portion,) = changes(before, after, (0,))
    assert not portion.came
    assert sorted(portion.rows.column("c1").to_pylist()) == list(range(1, 200))
    assert set(portion.rows.column("c0").to_pylist()) == {0}
    assert not list(changes(after, after, (0,)))


def test_graphs() -> None:
    for seed in range(150):
        rng = random.Random(seed)
        nodes = rng.randint(1, 30)
        edges = {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(rng.randint(0, 2 * nodes))}
        tails, heads = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in (0, 1))
        graph, other = Graph(nodes, tails, heads), nx.DiGraph(list(edges))
        other.add_nodes_from(range(nodes))
        found = graph.components()
        parts = {frozenset(np.flatnonzero(found == number).tolist()) for number in set(found.tolist())}
        assert parts == set(map(frozenset, nx.strongly_connected_components(other))), seed
        start = rng.randrange(nodes)
        reached = set(np.flatnonzero(graph.reached(np.array([start]))).tolist())
        assert reached == nx.descendants(other, start) | {start}
        level = graph.levels()
        circles = {node for part in parts if len(part) > 1 for node in part} | {a for a, b in edges if a == b}
        above = {node for node in range(nodes) if (nx.descendants(other, node) | {node}) & circles}
        assert set(np.flatnonzero(level < 0).tolist()) == above
        assert all(level[a] > level[b] for a, b in edges if level[a] >= 0)
