"""Rows of whole numbers that are all different, told without a query."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from foreset.verify import distinct
from foreset.verify.distinct import all_differ

FAR = (1 << 62) - 1
KINDS = (pa.int32(), pa.int8())


@pytest.mark.parametrize("sparse", [distinct.SPARSE, 0])
def test_it_agrees_with_a_set_of_rows(sparse: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the array of what was seen, and by sorting."""
    monkeypatch.setattr(distinct, "SPARSE", sparse)
    rng, seen = Random(7), set[bool]()
    for _ in range(300):
        rows = [(rng.randrange(-3, 40), rng.randrange(5)) for _ in range(rng.randrange(2, 12))]
        columns = [pa.chunked_array([pa.array([row[i] for row in rows], kind)]) for i, kind in enumerate(KINDS)]
        expected = len(set(rows)) == len(rows)
        assert all_differ(columns) is expected
        seen.add(expected)
    assert seen == {True, False}


def test_the_ends_of_a_type_do_not_run_over() -> None:
    narrow = pa.chunked_array([pa.array([-128, 127, 0], pa.int8())])
    assert all_differ([narrow]) is True
    assert all_differ([narrow, narrow]) is True
    wide = pa.chunked_array([pa.array([-FAR - 1, FAR], pa.int64())])
    assert all_differ([wide]) is None


def test_null_is_for_the_query() -> None:
    assert all_differ([pa.chunked_array([pa.array([1, None, None], pa.int32())])]) is None
    assert all_differ([]) is None
    assert all_differ([pa.chunked_array([], pa.int32())]) is True
