"""Arithmetic that DuckDB does in our stead: every digit, every NULL and every failure as the reference has it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from random import Random

import duckdb
import pytest

from foreset.backends.duckdb.terms import Writer
from foreset.backends.duckdb.types import from_duck
from foreset.ir.functions import type_of
from foreset.ir.terms import Call, Const, Row, Term, Value, Var
from foreset.ir.types import BIGINT, DOUBLE, INT, SMALLINT, STRING, Type, decimal, integral_range
from foreset.store.arrow_values import to_arrow
from foreset.values.errors import Failure
from foreset.values.terms import read_term
from foreset.verify.exact_terms import ExactTerms, Unsaid

TYPES: dict[str, Type] = {
    "a": INT, "b": BIGINT, "c": SMALLINT, "d": decimal(15, 2), "e": decimal(9, 4), "f": decimal(30, 10),
    "g": decimal(38, 6), "x": DOUBLE, "s": STRING,
}  # fmt: skip
ROWS, TERMS = 40, 600


def random_value(rng: Random, kind: Type, *, small: bool) -> Value:
    if rng.random() < 0.1:
        return None
    if kind.is_integral:
        low, high = (-100, 100) if small else integral_range(kind)
        return rng.choice([0, 1, -1, low, high, rng.randrange(low, high) if small else rng.randrange(-1000, 1000)])
    if kind.name == "decimal":
        digits = rng.choice([1, 3] if small else [1, 3, kind.precision])
        return Decimal(rng.randrange(10**digits)).scaleb(-kind.scale) * rng.choice([1, -1])
    return rng.choice([0.5, -3.0]) if kind == DOUBLE else rng.choice(["a", ""])


def random_term(rng: Random, depth: int) -> Term:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.75:
            return Var(rng.choice("aabbccddeeffgxs"))
        return Const(rng.randrange(-3, 100), INT) if rng.random() < 0.5 else Const(Decimal("1.05"), decimal(3, 2))
    if rng.random() < 0.7:
        return Call(rng.choice("+-*/"), (random_term(rng, depth - 1), random_term(rng, depth - 1)))
    function = rng.choice(["decimal", "bigint", "int"])
    inner = random_term(rng, depth - 1)
    digits = rng.choice([(18, 4), (20, 6), (6, 1), (38, 0)])
    return Call(function, (inner, *(Const(n, INT) for n in digits)) if function == "decimal" else (inner,))


def fails(read: Callable[[Row], Value], row: Row) -> bool:
    try:
        read(row)
    except Failure:
        return True
    return False


def by_verification(term: Term, *, quick: bool) -> str | None:
    try:
        return ExactTerms(TYPES, {name: name for name in TYPES}, quick, "TRY_CAST").text(term)
    except Unsaid:
        return None


WRITERS: dict[str, Callable[[Term], str | None]] = {
    "backend": Writer(TYPES, lambda name: name, "TRY_CAST").term,
    "wide": partial(by_verification, quick=False),
    "quick": partial(by_verification, quick=True),
}


@pytest.mark.parametrize("small", [False, True], ids=["any", "small"])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("seed", range(2))
def test_terms_are_exact(seed: int, writer: str, small: bool) -> None:
    """What is written for DuckDB gives the reference's value, and NULL where the reference fails; quick terms stop
    where 64 bits are too narrow, and give no other value."""
    stops, quick = 0, writer == "quick"
    rng, written, failures, names = Random(seed), 0, 0, sorted(TYPES)
    slots = {name: i for i, name in enumerate(names)}
    kinds = [TYPES[name] for name in names]
    rows: list[Row] = [tuple(random_value(rng, kind, small=small) for kind in kinds) for _ in range(ROWS)]
    with duckdb.connect() as connection:
        connection.register("t", to_arrow(rows, kinds, names))
        for _ in range(TERMS):
            term = random_term(rng, rng.randrange(1, 4))
            kind = type_of(term, TYPES)
            text = WRITERS[writer](term) if kind is not None else None
            if text is None or kind is None:
                continue
            written += 1
            read = read_term(term, slots, TYPES)
            try:
                found = from_duck(connection.execute(f"SELECT {text} FROM t").fetchall(), [kind])
            except duckdb.Error:  # more digits somewhere than there may be
                stops += 1
                assert quick or any(fails(read, row) for row in rows), term
                continue
            for row, (value,) in zip(rows, found, strict=True):
                try:
                    true = read(row)
                except Failure:
                    true, failures = None, failures + 1
                assert value == true, (term, row)
                assert type(value) is type(true)
    print(f"{written} terms, {stops} stopped, {failures} failures")
    assert written > TERMS / 6
    assert stops < (1 if small else written / 3 if quick else written / 10)
    assert failures > 100 or quick or small
