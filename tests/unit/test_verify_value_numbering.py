"""Numbers for values, and sets and lookups of rows of numbers: what Python's own sets and dicts say."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from foreset.ir.rules import Atom, Comparison, Rule
from foreset.ir.terms import Const, Value, Var
from foreset.ir.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Type, decimal
from foreset.ir.values import NAN
from foreset.verify.batches import Batch, Binder, told
from foreset.verify.value_numbering import Codes, Distinct, Grown, Indexed, told_apart


def test_one_number_for_equal_values_of_a_family() -> None:
    """Whole numbers of all widths are one family; a number, a truth value and a text never meet."""
    codes = Codes()
    whole = codes.column([1, 2, None, 1], INT)
    assert list(whole) == [whole[0], whole[1], 0, whole[0]]
    assert list(codes.column([2, 1], BIGINT)) == [whole[1], whole[0]]
    ones = [codes.column([value], kind)[0] for value, kind in ((1, INT), (True, BOOLEAN), (1.0, DOUBLE), ("1", STRING))]
    assert len(set(ones)) == 4
    nan = codes.column([NAN, NAN], DOUBLE)
    assert nan[0] == nan[1]
    assert math.isnan(codes.values(nan)[0])  # type: ignore[arg-type]
    assert codes.tuples(codes.rows([(1, "a"), (None, "b")], [INT, STRING])) == [(1, "a"), (None, "b")]


def test_widened_values_have_the_numbers_of_the_wider_type() -> None:
    codes = Codes()
    cents = codes.column([Decimal("0.10"), None], decimal(4, 2))
    assert list(codes.widened(cents, decimal(4, 2), DOUBLE)) == list(codes.column([0.1, None], DOUBLE))
    assert codes.widened(cents, decimal(4, 2), decimal(4, 2)) is cents


@pytest.mark.parametrize("width", [0, 1, 2, 3, 5])
def test_rows_are_packed_apart(width: int) -> None:
    """Equal rows have one number, in every call, and others have others; large numbers are packed in another way."""
    rng, codes = Random(width), Codes()
    numbers = [0, 1, 2, (1 << 21) - 1, 1 << 21, (1 << 31) - 1]
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(4):
        drawn = [[rng.choice(numbers[: rng.choice((3, 6))]) for _ in range(width)] for _ in range(50)]
        rows = np.array(drawn, dtype=np.int64).reshape(50, width)
        apart = told_apart(rows).tolist()
        assert len(set(zip(apart, map(tuple, rows.tolist()), strict=True))) == len(set(apart))
        assert len(set(apart)) == len(set(map(tuple, rows.tolist())))
        for row, packed in zip(rows.tolist(), codes.packed(rows).tolist(), strict=True):
            assert seen.setdefault(tuple(row), packed) == packed
    assert len(set(seen.values())) == len(seen)


def test_ranks_are_in_the_order_of_values() -> None:
    codes = Codes()
    words = ["b", None, "ab", "Z", "", "é", "b"]
    one, other = codes.column(words, STRING), codes.column(list(reversed(words)), STRING)
    left, right = codes.ranks(one, other)
    for mine, theirs, a, b in zip(left.tolist(), right.tolist(), words, reversed(words), strict=True):
        assert (mine == 0, theirs == 0) == (a is None, b is None)
        if a is not None and b is not None:
            assert (mine < theirs, mine == theirs) == (a < b, a == b)


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("values", "one", "other"),
    [
        ([1, 2, 10, None, -3], INT, BIGINT),
        (["a", "B", "", None, "ab"], STRING, STRING),
        ([Decimal("1.50"), Decimal("-2.00"), None], decimal(4, 2), decimal(4, 2)),
        ([True, False, None], BOOLEAN, BOOLEAN),
    ],
)
def test_comparisons_of_columns_are_those_of_the_reference(
    op: str, values: list[Value], one: Type, other: Type
) -> None:
    """Two variables, and a variable with a constant on either side."""
    codes = Codes()
    binder = Binder(codes, {})
    pairs = [(x, y) for x in values for y in values]
    batch = Batch(("X", "Y"), codes.rows(pairs, [one, other]))
    constant = Const(next(value for value in values if value is not None), one)
    rule = Rule(Atom("r", ()), (), types={"X": one, "Y": other})
    for left, right in ((Var("X"), Var("Y")), (Var("Y"), constant), (constant, Var("X"))):
        literal = Comparison(op, left, right)
        holds = told(literal, ("X", "Y"), rule)
        wanted = [pair for pair in pairs if holds(pair)[0]]
        assert codes.tuples(binder.holding(literal, batch, rule).rows) == wanted


def test_sets_and_lookups_that_grow() -> None:
    """Twenty additions of random rows, each followed by questions."""
    rng, codes = Random(5), Codes()
    known, grown = Distinct(), Grown(2)
    held: set[int] = set()
    by_key: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for _ in range(20):
        rows = np.array([[rng.randrange(9), rng.randrange(60)] for _ in range(rng.randrange(12))], dtype=np.int64)
        rows = rows.reshape(len(rows), 2)
        packed = codes.packed(rows)
        fresh = packed[known.add(packed)].tolist()
        assert sorted(fresh) == sorted(set(packed.tolist()) - held)
        held |= set(fresh)
        grown.add(rows[:, 0], rows)
        for row in rows.tolist():
            by_key[row[0]].append(tuple(row))
        asked = np.array([rng.randrange(12) for _ in range(5)], dtype=np.int64)
        for table in (grown, Indexed.of(grown.everything()[:, 0], grown.everything())):
            places, found = table.meet(asked)
            pairs = sorted((place, tuple(row)) for place, row in zip(places.tolist(), found.tolist(), strict=True))
            assert pairs == sorted((i, row) for i, key in enumerate(asked.tolist()) for row in by_key.get(key, ()))
        assert known.holds(np.array(sorted(held), dtype=np.int64)).all()
        assert not known.holds(np.array([-1], dtype=np.int64)).any()
    assert len(known) == len(held)
