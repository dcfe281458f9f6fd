"""Which columns a recursion hands on, when its other rules are asked by key, and how sets of what is carried spread."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.verify.binding_order import Asked, passage
from foreset.verify.flows import Flow, Sets
from foreset.verify.linear_recursion import LinearRecursion, named, parted, taken_apart
from foreset.verify.value_numbering import Codes, Grown, Numbered

SPEC = """\
group: g
sources:
  edge: {{table: raw/edge, columns: {{x: int, y: int}}}}
  wide: {{table: raw/wide, columns: {{x: bigint, y: double}}}}
  label: {{table: raw/label, columns: {{x: int, y: int}}}}
views:
  p:
    columns: {{{columns}}}
    rules:
{rules}
"""
PAIR, TRIPLE = "x: int, y: int", "x: int, y: int, z: int"
BASE, BASE3 = "p(X, Y) :- edge(X, Y)", "p(X, Y, Z) :- edge(X, Y), edge(Y, Z)"


def parts(columns: str, *rules: str) -> LinearRecursion | None:
    spec = SPEC.format(columns=columns, rules="\n".join(f'      - "{rule}"' for rule in rules))
    _, layering = in_normal_form(load_program(spec, "g"))
    view = layering.of("p").views[0]
    return taken_apart(view)


@pytest.mark.parametrize(
    ("columns", "rules", "carried"),
    [
        (PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y)"], (1,)),
        (PAIR, [BASE, "p(X, Y) :- p(X, Z), edge(Z, Y)"], (0,)),
        (PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y)", "p(X, Y) :- edge(Z, X), p(Z, Y)"], (1,)),
        (PAIR, [BASE, "p(X, Y) :- edge(X, _), p(3, Y)", "p(4, Y) :- p(3, Y)"], (1,)),
        (PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y), not edge(Z, X)"], (1,)),
        (TRIPLE, [BASE3, "p(X, Y, Z) :- edge(X, A), p(A, Y, Z)"], (1, 2)),
        (TRIPLE, [BASE3, "p(X, Y, Z) :- edge(X, A), p(A, Y, Z), edge(Y, A)"], (2,)),
        (TRIPLE, [BASE3, "p(X, Y, Z) :- edge(X, A), p(A, B, Z), edge(B, Y)"], (2,)),
    ],
)
def test_columns_that_are_handed_on(columns: str, rules: list[str], carried: tuple[int, ...]) -> None:
    found = parts(columns, *rules)
    assert found is not None
    assert found.carried == carried
    assert sorted(found.key + found.carried) == list(found.whole)
    assert (len(found.steps.rules), len(found.starts)) == (len(rules) - 1, 1)


@pytest.mark.parametrize(
    ("why", "columns", "rules"),
    [
        ("no recursion", PAIR, [BASE]),
        ("two atoms of itself", PAIR, [BASE, "p(X, Y) :- p(X, Z), p(Z, Y)"]),
        ("both directions", PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y)", "p(X, Y) :- p(X, Z), edge(Z, Y)"]),
        ("both columns change", PAIR, [BASE, "p(X, Y) :- edge(X, A), p(A, B), edge(B, Y)"]),
        ("columns change places", PAIR, [BASE, "p(X, Y) :- p(Y, X)"]),
        ("the rest reads it", PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y), edge(Y, _)"]),
        ("a condition on it", PAIR, [BASE, "p(X, Y) :- edge(X, Z), p(Z, Y), Y < 5"]),
        ("it stands twice in the head", TRIPLE, [BASE3, "p(X, Y, Y) :- edge(X, Z), p(Z, Y, _)"]),
        ("it is a constant", PAIR, [BASE, "p(X, 1) :- edge(X, Z), p(Z, 1)"]),
        ("the key below is computed", PAIR, [BASE, "p(X, Y) :- edge(X, A), Z = A + 1, p(Z, Y)"]),
        ("nothing binds the key below", PAIR, [BASE, "p(X, Y) :- edge(X, _), p(_, Y)"]),
        ("the key above comes from below", TRIPLE, [BASE3, "p(X, Y, Z) :- edge(X, A), p(Y, A, Z)"]),
        ("the key above is computed", PAIR, [BASE, "p(X, Y) :- edge(A, Z), X = A + 1, p(Z, Y)"]),
        ("a key of another type", "x: double, y: int", ["p(X, Y) :- edge(X, Y)", "p(X, Y) :- edge(X, Z), p(Z, Y)"]),
    ],
)
def test_columns_that_are_not(why: str, columns: str, rules: list[str]) -> None:
    assert parts(columns, *rules) is None, why


def test_rules_without_recursion_are_asked_by_key_where_that_finds_little() -> None:
    found = parts(PAIR, BASE, "p(X, Y) :- label(X, Y)", "p(X, Y) :- edge(X, Z), p(Z, Y)")
    assert found is not None
    kinds = found.kinds
    schemas = {"edge": kinds, "label": kinds, found.by_key: kinds, **found.schemas()}

    def by_row(labels: float | None) -> int:
        def fanout(relation: str, _: Asked) -> float | None:
            return labels if relation == "label" else 1e6  # edges are read by the steps in any case

        steps = [passage(rule, (0,), schemas, fanout) for rule in found.steps.rules]
        starts = [passage(named(rule, found.by_key), (0,), schemas, fanout) for rule in found.starts]
        key, row = parted(found, steps, starts, fanout)
        assert len(key.rules) + len(row.rules) == 2
        return len(row.rules)

    assert [by_row(labels) for labels in (3.0, 300.0, None)] == [0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_sets_spread_as_far_as_steps_lead(seed: int) -> None:
    """Bits against Python's sets, over random graphs with cycles; more room, steps and members come later."""
    rng, sets, along = Random(seed), Sets(), Grown(1)
    steps: dict[int, set[int]] = defaultdict(set)
    expected: dict[int, set[int]] = defaultdict(set)
    for size, members in ((5, 3), (9, 70), (30, 200)):
        sets.fit(size, members)
        old = Sets(sets.words.copy())
        before = {one: set(expected[one]) for one in range(size)}
        pairs = np.array([(rng.randrange(size), rng.randrange(size)) for _ in range(size)])
        along.add(pairs[:, 0], pairs[:, 1:])
        put = np.array([(rng.randrange(size), rng.randrange(members)) for _ in range(4)])
        sets.put(put[:, 0], put[:, 1])
        sets.spread(along, np.unique(np.concatenate([pairs[:, 0], put[:, 0]])))
        for one, other in pairs.tolist():
            steps[one].add(other)
        for one, member in put.tolist():
            expected[one].add(member)
        for _ in range(size):
            for one in range(size):
                for other in steps[one]:
                    expected[other] |= expected[one]
        for one in range(size):
            held = sets.has(np.full(members, one), np.arange(members))
            assert set(np.flatnonzero(held).tolist()) == expected[one]
        more = sorted(zip(*(part.tolist() for part in sets.beyond(old)), strict=True))
        assert more == sorted((one, m) for one in range(size) for m in expected[one] - before[one])


def test_numbered_rows_keep_their_numbers() -> None:
    rng, numbered = Random(3), Numbered(Codes(), 2)
    known: dict[tuple[int, int], int] = {}
    for _ in range(10):
        rows = np.array([(rng.randrange(6), rng.randrange(6)) for _ in range(7)])
        new = numbered.add(rows, most=20)
        assert len({tuple(row) for row in new.tolist()} - set(known)) == len(new)
        known |= {tuple(row): len(known) + i for i, row in enumerate(new.tolist())}
        assert numbered.numbers(rows).tolist() == [known.get(tuple(row), -1) for row in rows.tolist()]
    assert numbered.rows.tolist() == [list(row) for row in known]
    assert len(known) == 20


@pytest.mark.parametrize("seed", range(30))
def test_goals_steps_and_starts_may_come_in_any_order(seed: int) -> None:
    """Answers and questions against a search goal by goal; what was asked for is delivered late, and in parts."""
    rng = Random(seed)
    edges = {(rng.randrange(8), rng.randrange(8)) for _ in range(12)}
    starts = {(rng.randrange(8), rng.randrange(10, 14)) for _ in range(6)}
    found = parts(PAIR, BASE, "p(X, Y) :- edge(X, Z), p(Z, Y)")
    assert found is not None
    codes = Codes()
    flow = Flow(found, Numbered(codes, 1), codes)
    open_goals = [(rng.randrange(8), rng.randrange(10, 14)) for _ in range(10)]
    goals, late, answers, questions = set(open_goals), [], [], []
    while open_goals or late:
        if open_goals and (not late or rng.random() < 0.4):
            fresh, left = flow.take(np.array([open_goals.pop()]))
            assert not len(left)
        else:
            kind, rows = late.pop(rng.randrange(len(late)))
            fresh = flow.step(rows) if kind == "step" else np.empty((0, 1))
            if kind == "start":
                flow.start(rows)
        late += [("step", np.array([edge])) for edge in edges if edge[0] in fresh]
        keys = flow.new_keys()
        late += [("start", np.array([row])) for row in starts if row[0] in keys]
        if rng.random() < 0.3 or not (open_goals or late):
            questions += [tuple(row) for row in flow.questions().tolist()]
            answers += [tuple(row) for row in flow.answers().tolist()]
    asked = set(goals)
    while more := {(z, y) for x, y in asked for a, z in edges if a == x} - asked:
        asked |= more
    true = asked & starts
    while more := {(x, y) for x, y in asked for a, z in edges if a == x and (z, y) in true} - true:
        true |= more
    assert sorted(questions) == sorted(asked)
    assert set(answers) == goals & true
