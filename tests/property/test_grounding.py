"""Random rules of constraints over rows, against every value of a window tried by hand.

Joins of rows come first and comparisons of their values are decided without a solver: both must change nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import product
from random import Random

import pytest
from tests.refresh_cases import load_program

from foreset.inverses.check import proven
from foreset.ir.terms import Row
from foreset.mediated.from_rules import instances
from foreset.oracle.naive import evaluate
from foreset.rewrite.pipeline import prepare

LONG = bool(os.environ.get("FORESET_LONG"))
SEEDS = range(200 if LONG else 12)
EACH = 5
WINDOW = range(-1, 7)
SPEC = """\
group: g
sources:
  p: {{table: raw/p, columns: {{a: int, b: "decimal(4,1)", c: string}}}}
  q: {{table: raw/q, columns: {{a: int, w: double}}}}
views:
  low: {{columns: {{x: int}}, rules: ["low(X) :- X <= {low}"]}}
  v:
    columns: {{x: int, y: int}}
    evaluate: at_refresh
    rules:
      - "v(X, Y) :- {body}"
  r:
    columns: {{n: int}}
    rules:
      - "r(N) :- q(N, _), v(N, _)"
"""
ATOMS = (
    "p(X, _, _)",
    "p(A, B, 'k')",
    "q(X, _)",
    "q(A, _)",
    "p(A, B, C), q(A, _)",
    "p(A, B, C), p(X, _, C)",
    "low(X)",
    "low(Y)",
)
COMPARISONS = (
    "X <= A + 2", "X >= A", "Y = X + 1", "Y != X", "2 * X <= B", "B > 1", "C != 'k'", "not (X >= 2, Y <= 3)", "A = 2",
    "not (A >= 1, X > A)", "Y < B",
)  # fmt: skip


def random_body(rng: Random) -> list[str]:
    body = [rng.choice(ATOMS) for _ in range(rng.randint(1, 2))]
    named = {name for name in "ABC" if any(name in atom.replace("'k'", "") for atom in body)}
    fitting = [one for one in COMPARISONS if {n for n in "ABC" if n in one.replace("'k'", "")} <= named]
    body += rng.sample(fitting, min(len(fitting), rng.randint(0, 3)))
    return [*body, "X >= -1", "X <= 6", "Y >= -1", "Y <= 6"]


def holds(literal: str, env: dict[str, object], data: dict[str, frozenset[Row]], low: int) -> list[dict[str, object]]:
    """The ways to satisfy a literal, from the ways so far."""
    if literal[0] in "pq" and "(" in literal[:2]:
        name, args = literal[0], [arg.strip() for arg in literal[2:-1].split(",")]
        found = []
        for row in data[name]:
            more = dict(env)
            fits = all(
                arg == "_" or (value is not None and value == ("k" if arg == "'k'" else more.setdefault(arg, value)))
                for arg, value in zip(args, row, strict=True)
            )
            found += [more] if fits else []
        return found
    if literal.startswith("low("):
        return [env] if env[literal[4]] <= low else []
    text = literal.replace("!=", "<>").replace(" = ", " == ").replace("<>", "!=")
    if text.startswith("not ("):
        text = f"not ({text[5:-1].replace(',', ' and')})"
    return [env] if eval(text, {}, env) else []


def by_hand(body: list[str], data: dict[str, frozenset[Row]], low: int) -> frozenset[Row]:
    flat = [one for part in body for one in (part.split("), ") if part[0] == "p" else [part])]
    flat = [one if one.endswith(")") or "(" not in one else f"{one})" for one in flat]
    atoms, rest = (
        [one for one in flat if one[0] in "pq" and "(" in one[:2]],
        [one for one in flat if one[0] not in "pq"],
    )
    counts = Counter(re.findall(r"[A-C]", ", ".join(flat).replace("'k'", "")))
    atoms = [re.sub(r"\b[A-C]\b", lambda m: m[0] if counts[m[0]] > 1 else "_", one) for one in atoms]  # NULL will do
    found = set()
    for x, y in product(WINDOW, repeat=2):
        ways: list[dict[str, object]] = [{"X": x, "Y": y}]
        for literal in (*atoms, *rest):
            ways = [more for env in ways for more in holds(literal, env, data, low)]
        if ways:
            found.add((x, y))
    return frozenset(found)


def random_data(rng: Random) -> dict[str, frozenset[Row]]:
    from decimal import Decimal

    numbers = (0, 1, 2, 3, None)
    rows = {
        (rng.choice(numbers), rng.choice((Decimal("1.5"), Decimal("4.0"), None)), rng.choice("kl")) for _ in range(5)
    }
    return {"p": frozenset(rows), "q": frozenset((rng.choice(numbers), 0.5) for _ in range(3))}


@pytest.mark.parametrize("seed", SEEDS)
def test_regions_over_rows_are_what_every_value_says(seed: int) -> None:
    rng = Random(seed)
    for _ in range(EACH):
        body, low, data = random_body(rng), rng.randint(0, 5), random_data(rng)
        prepared = proven(prepare(load_program(SPEC.format(low=low, body=", ".join(body)), "g.yaml")))
        program = prepared.program
        assert program is not None, list(prepared.report)
        assert prepared.layering is not None
        schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
        contents = evaluate(prepared.layering.strata, data, schemas, 100, program)
        view = next(view for view in program.views if view.name == "v")
        expected = by_hand(body, data, low)
        came = instances(contents["v"], view.columns, lambda _call, _args: []) if view.constrained else contents["v"]
        assert came == expected, (seed, body, data)
        asked = {n for n, _ in data["q"] if n in {x for x, _ in expected}}
        assert contents["r"] == {(n,) for n in asked}, (seed, body)
