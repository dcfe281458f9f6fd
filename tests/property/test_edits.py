"""Edits of views of rows on random data: each night is the least fixpoint of P' and P♭, whatever the sources do.

The oracle knows no rules: it derives by hand, leaves out what was taken out, and adds what was put in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from tests.refresh_cases import load_program

from foreset.inverses.check import proven
from foreset.ir.edits import Edit
from foreset.ir.terms import Row
from foreset.plan.translate import MAINTAINING
from foreset.rewrite.edit_views import with_edits
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Replica
from foreset.testing.run import chooser

LONG = bool(os.environ.get("FORESET_LONG"))
SEEDS = range(60 if LONG else 12)
NIGHTS = 10
NODES = range(4)
SPEC = """\
group: g
sources:
  e: {table: raw/e, columns: {a: int, b: int}}
views:
  t:
    columns: {a: int, b: int}
    rules:
      - t(X, Y) :- e(X, Y)
      - t(X, Z) :- t(X, Y), e(Y, Z)
  u:
    columns: {a: int}
    rules:
      - u(X) :- t(X, Y), not t(Y, X), X != 3
  n:
    columns: {a: int, n: bigint}
    rules:
      - n(X, N) :- N = count{Y | t(X, Y)}
  w:
    columns: {a: int, all: array<int>}
    rules:
      - w(X, S) :- S = collect{Y | t(X, Y)}
"""
Rows = frozenset[Row]
Test = Callable[[Row], bool]


def random_edit(rng: Random, number: int) -> tuple[Edit, str, Test]:
    """An edit, its view, and the same region as Python."""
    view = rng.choice(("t", "t", "u", "n", "w"))
    kind = "delete" if view == "w" else rng.choice(("delete", "delete", "insert"))  # no region has a set
    x, y = rng.choice(NODES), rng.choice(NODES)
    if kind == "insert" or rng.random() < 0.5:
        text, test = (f"a = {x}", lambda r: r[0] == x) if view in ("u", "w") else (
            f"A = {x}, {'n' if view == 'n' else 'b'} = {y}", lambda r: r[0] == x and r[1] == y)  # fmt: skip
    elif view in ("u", "w"):
        text, test = f"a >= {x}, a != {y}", lambda r: r[0] >= x and r[0] != y
    else:
        other = "n" if view == "n" else "b"
        text, test = rng.choice((
            (f"{other} <= {y}, a > {x}", lambda r: r[1] <= y and r[0] > x),
            (f"a = {other}", lambda r: r[0] == r[1]),
            (f"a < {other}, a != {x}", lambda r: r[0] < r[1] and r[0] != x),
            (f"a >= {other}", lambda r: r[0] >= r[1]),
            (f"a > {other}, a != {x}", lambda r: r[0] > r[1] and r[0] != x),
        ))  # fmt: skip
    return Edit(number, view, kind, text), view, test


def truth(edges: Rows, edits: list[tuple[Edit, str, Test]]) -> dict[str, Rows]:
    """The views, by hand."""

    def corrected(view: str, derived: set[Row]) -> set[Row]:
        kept, added = set(derived), set[Row]()
        for edit, of, test in edits:
            if of != view:
                continue
            if edit.kind == "delete":
                kept, added = {r for r in kept if not test(r)}, {r for r in added if not test(r)}
            else:
                added |= {r for r in product(NODES, repeat=1 if view == "u" else 2) if test(r)}
        return kept | added

    t: set[Row] = set()
    while True:
        more = corrected("t", set(edges) | {(x, z) for x, y in t for w, z in edges if y == w})
        if more <= t:
            break
        t |= more
    u = corrected("u", {(x,) for x, y in t if (y, x) not in t and x != 3})
    n = corrected("n", {(x, len({b for a, b in t if a == x})) for x in {a for a, _ in t}})
    w = corrected("w", {(x, tuple(sorted(b for a, b in t if a == x))) for x in {a for a, _ in t}})
    return {"t": frozenset(t), "u": frozenset(u), "n": frozenset(n), "w": frozenset(w)}


@pytest.mark.parametrize("seed", SEEDS)
def test_edits_outlast_random_nights(seed: int) -> None:
    """Ten nights of random changes: after each, contents and differentials are those of the corrected program."""
    rng = Random(seed)
    edits = [random_edit(rng, number) for number in range(1, rng.randint(2, 6))]
    program = with_edits(load_program(SPEC, "g.yaml"), [edit for edit, _, _ in edits], frozenset())
    prepared = proven(prepare(program))
    assert prepared.program is not None, list(prepared.report)
    assert prepared.layering is not None
    replica = Replica(prepared.program, prepared.layering)
    edges: Rows = frozenset()
    before = {name: frozenset[Row]() for name in "tunw"}
    for night in range(NIGHTS):
        came = {(rng.choice(NODES), rng.choice(NODES)) for _ in range(rng.randint(0, 3))} - edges
        went = frozenset(row for row in edges if rng.random() < 0.25)
        strategy = rng.choice((*MAINTAINING, "auto", "recompute"))
        deltas, _ = replica.refresh({"e": Delta(frozenset(came), went)}, chooser(strategy) if night else None)
        edges = (edges | came) - went
        now = truth(edges, edits)
        for name, rows in now.items():
            assert replica.contents[name] == rows, (seed, night, strategy, name, edits)
            assert deltas[name] == Delta(rows - before[name], before[name] - rows), (seed, night, strategy, name)
        before = now
