"""Sources by key: what is fetched key by key, and what is indexed once, are the same rows."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING
from foreset.verify.fact_cache import FactCache, Whole
from foreset.verify.facts import SourceFacts
from foreset.verify.value_numbering import Codes

ROWS = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (None, "c"), (3, None)]
TABLE = pa.table({"n": pa.array([r[0] for r in ROWS], pa.int64()), "s": pa.array([r[1] for r in ROWS], pa.string())})


@pytest.mark.parametrize(("part", "most"), [(0.0, 100), (math.inf, 100), (0.0, 2)])
def test_a_source_taken_whole_answers_as_queries_do(part: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NULL meets no key, copies count once, a key without rows has none; too many rows are asked for one by one."""
    monkeypatch.setattr("foreset.verify.fact_cache.PART", part)
    monkeypatch.setattr("foreset.verify.facts.WHOLE_VALUES", most)
    source = SourceFacts({"r": (Column("n", BIGINT), Column("s", STRING))}, lambda _: TABLE)
    codes = Codes()
    look = FactCache(source, codes, {"r": (BIGINT, STRING)})
    for _ in range(2):  # after some looks all rows are taken, or never
        found = {}
        for key in (1, 2, 3, 4):
            places, rows = look.meet("r", (0,), codes.rows([(key,)], [BIGINT]))
            assert not places.any()
            found[key] = sorted(codes.tuples(rows), key=repr)
        assert found == {1: [(1, "a"), (1, "b")], 2: [(2, "a")], 3: [(3, None)], 4: []}
    by_key = len(set(ROWS)) - 1  # no key asks for NULL
    assert (source.rows_read["r"] > by_key) is (part == 0 and most == 100)


@pytest.mark.parametrize("seed", range(20))
def test_an_index_by_some_columns_finds_what_all_of_them_ask_for(seed: int) -> None:
    """Whatever columns tell rows apart: the same rows as by comparing every row with every key."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(1, 1 + most, 400) for most in rng.choice([1, 2, 5, 40, 400], 4)])
    whole, codes = Whole(rows), Codes()
    for known in [(), (2,), (0, 1), (1, 3), (0, 2, 3), (0, 1, 2, 3)]:
        keys = np.concatenate([rows[:30, list(known)], rng.integers(1, 400, (10, len(known)))])
        places, found = whole.meet(known, keys, codes)
        met = sorted(zip(places.tolist(), map(tuple, found.tolist()), strict=True))
        same = (rows[None, :, list(known)] == keys[:, None, :]).all(axis=2)
        assert met == sorted((place, tuple(rows[row].tolist())) for place, row in np.argwhere(same).tolist())
