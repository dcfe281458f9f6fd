"""Sources by key: what is fetched key by key, and what is indexed once, are the same rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING
from foreset.verify.codes import Codes
from foreset.verify.facts import SourceFacts
from foreset.verify.looks import Looks

ROWS = [(1, "a"), (1, "b"), (2, "a"), (2, "a"), (None, "c"), (3, None)]
TABLE = pa.table({"n": pa.array([r[0] for r in ROWS], pa.int64()), "s": pa.array([r[1] for r in ROWS], pa.string())})


@pytest.mark.parametrize(("looks", "most"), [(0, 100), (100, 100), (0, 2)])
def test_a_source_taken_whole_answers_as_queries_do(looks: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NULL meets no key, copies count once, a key without rows has none; too many rows are asked for one by one."""
    monkeypatch.setattr("foreset.verify.looks.FEW_LOOKS", looks)
    monkeypatch.setattr("foreset.verify.facts.WHOLE_VALUES", most)
    source = SourceFacts({"r": (Column("n", BIGINT), Column("s", STRING))}, lambda _: TABLE)
    codes = Codes()
    look = Looks(source, codes, {"r": (BIGINT, STRING)})
    found = {}
    for key in (1, 2, 3, 4):
        places, rows = look.meet("r", (0,), codes.rows([(key,)], [BIGINT]))
        assert not places.any()
        found[key] = sorted(codes.tuples(rows), key=repr)
    assert found == {1: [(1, "a"), (1, "b")], 2: [(2, "a")], 3: [(3, None)], 4: []}
    assert (source.rows_read["r"] == len(set(ROWS))) is (looks == 0 and most == 100)
