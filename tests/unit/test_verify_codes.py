"""Numbers for values, and sets and lookups of rows of numbers: what Python's own sets and dicts say."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from foreset.ir.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, decimal
from foreset.ir.values import NAN
from foreset.verify.codes import Codes, Distinct, Grown, Indexed


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
    """Equal rows have one number, in every call, and others have others."""
    rng, codes = Random(width), Codes()
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(4):
        rows = np.array([[rng.randrange(4) for _ in range(width)] for _ in range(50)], dtype=np.int64).reshape(
            50, width
        )
        for row, packed in zip(rows.tolist(), codes.packed(rows).tolist(), strict=True):
            assert seen.setdefault(tuple(row), packed) == packed
    assert len(set(seen.values())) == len(seen)


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
