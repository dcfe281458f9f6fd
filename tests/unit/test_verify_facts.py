"""Sources by key: what is fetched key by key, and what is indexed once, are the same rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING
from foreset.verify import facts
from foreset.verify.facts import SourceFacts

ROWS = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (None, "c"), (3, None)]
TABLE = pa.table({"n": pa.array([r[0] for r in ROWS], pa.int64()), "s": pa.array([r[1] for r in ROWS], pa.string())})


@pytest.mark.parametrize("after", [0, 1, 100])
def test_an_index_answers_as_queries_do(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NULL meets no key, copies count once, and a key without rows has none."""
    monkeypatch.setattr(facts, "INDEX_AFTER", after)
    source = SourceFacts({"r": (Column("n", BIGINT), Column("s", STRING))}, lambda _: TABLE)
    found = {key: source.rows("r", (0,), [(key,)])[(key,)] for key in (1, 2, 3, 4, None)}
    assert {key: sorted(rows, key=repr) for key, rows in found.items()} == {
        1: [(1, "a"), (1, "b")], 2: [(2, "a")], 3: [(3, None)], 4: [], None: [],
    }  # fmt: skip
    assert bool(source._indexed) is (after < 5)
