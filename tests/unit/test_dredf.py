"""`dredf`: exact on graphs with and without circles, and without over-deletion where there are none."""

from __future__ import annotations

import random

import pytest
from tests.refresh_cases import always, in_normal_form, load_program

from foreset.machine.cycle_nodes import on_circles
from foreset.maintain.shield import shield_of
from foreset.oracle.naive import evaluate
from foreset.plan.translate import refusal
from foreset.testing.replica import Delta, Replica

SPEC = """group: g
sources:
  edge: {{table: t/edge, columns: {{src: bigint, dst: bigint}}}}
  shut: {{table: t/shut, columns: {{node: bigint}}}}
views:
  v:
    columns: {{a: bigint, b: bigint}}
    rules:
      - {base}
      - {step}
"""
RIGHT = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- edge(X, Z), v(Z, Y)")
LEFT = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- v(X, Z), edge(Z, Y)")
SHUT = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- edge(X, Z), not shut(Z), v(Z, Y)")
SAME = SPEC.format(base="v(X, Y) :- edge(P, X), edge(P, Y)", step="v(X, Y) :- edge(P, X), v(P, Q), edge(Q, Y)")
DOUBLED = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- v(X, Z), v(Z, Y)")
APART = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- edge(X, _), v(Z, Y), shut(Z)")
GROWING = SPEC.format(base="v(X, Y) :- edge(X, Y)", step="v(X, Y) :- v(X, Z), Z < 5, Y = Z + 1")
SHAPES = {"right": RIGHT, "left": LEFT, "negation": SHUT, "same generation": SAME, "growing": GROWING}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layered", [True, False], ids=["layered", "circles"])
def test_exact_night_by_night(shape: str, layered: bool) -> None:
    program, layering = in_normal_form(load_program(SHAPES[shape], shape))
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    ran: dict[str, int] = {}
    for seed in range(20):
        rng = random.Random(seed)
        replica, now = Replica(program, layering), {"edge": set(), "shut": set()}
        for night in range(4):
            deltas = {}
            for name, width in (("edge", 2), ("shut", 1)):
                rows = {row(rng, width, layered=layered) for _ in range(14 if night == 0 else 3)}
                gone = set(rng.sample(sorted(now[name]), min(len(now[name]), 2)))
                deltas[name] = Delta(frozenset(rows - now[name]), frozenset(gone - rows))
                now[name] = (now[name] - gone) | rows
            replica.refresh(deltas, always("dredf", ran))
            truth = evaluate(layering.strata, {name: frozenset(rows) for name, rows in now.items()}, kinds, 1000)
            assert set(replica.contents["v"]) == set(truth["v"]), (seed, night)
    assert ran["dredf"] > 40


def row(rng: random.Random, width: int, *, layered: bool) -> tuple[int, ...]:
    if width == 1:
        return (rng.randrange(8),)
    a, b = rng.randrange(8), rng.randrange(8)
    return (min(a, b), max(a, b) + 1) if layered else (a, b)


def test_nothing_is_over_deleted_without_circles() -> None:
    program, layering = in_normal_form(load_program(RIGHT, "right"))
    rng = random.Random(1)
    edges = {(10 * i + j, 10 * (i + 1) + rng.randrange(10)) for i in range(6) for j in range(10) for _ in range(3)}
    work = {}
    for strategy in ("dred", "dredf"):
        replica = Replica(program, layering)
        replica.refresh({"edge": Delta(frozenset(edges))}, always("dred"))
        _, done = replica.refresh({"edge": Delta(frozenset(), frozenset(sorted(edges)[70:72]))}, always(strategy))
        work[strategy] = done[1].work
    assert work["dredf"].rederived == 0
    assert work["dred"].rederived > 10 * work["dredf"].overdeleted > 0


def test_keys() -> None:
    """The key is what moves and is bound below; rows that only a product would link have none."""

    def key(text: str) -> tuple[int, ...] | None:
        _, layering = in_normal_form(load_program(text, "spec"))
        shield = shield_of(layering.strata[0])
        return shield and shield.key

    assert (key(RIGHT), key(LEFT), key(SAME), key(GROWING)) == ((0,), (1,), (0,), ())
    assert key(DOUBLED) is None
    assert key(APART) is None


def test_where_there_is_no_key_it_is_refused_with_the_reason() -> None:
    _, layering = in_normal_form(load_program(DOUBLED, "spec"))
    assert "other relations bind" in refusal(layering.strata[0], "dredf")


def test_circles() -> None:
    edges = [(1, 2), (2, 3), (3, 2), (4, 4), (3, 5), (5, 6), (None, 7)]
    assert on_circles(edges) == {(2,), (3,), (4,)}
    assert on_circles([(1, "a", 2, "b"), (2, "b", 1, "a"), (1, "b", 2, "a")]) == {(1, "a"), (2, "b")}
    assert on_circles([]) == set()
