"""Nothing of a spec gets into the texts that DuckDB is given: they consist of our own words, names and numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.duckdb_reader import DuckDBReader
from tests.refresh_cases import CASES, Reference, parse_case, read_case, run_strategy

from foreset.backends.duckdb.tables import Sql, Tables

OUR_NAMES = re.compile(r"(?:[acdhklmnoprtvwx]|asked|base|recursive|one|seq|name|[br][01])\d*|[lr]\d+_[tamvh]\d+")
OUR_WORDS = frozenset(
    re.findall(
        r"\w+",
        "select distinct from where and or not as is null union all join semi anti on true false limit group by having "
        "create temp table view insert into drop cast try_cast case when then else end sum min max count filter "
        "tinyint smallint integer bigint hugeint float double boolean varchar blob date timestamp decimal "
        "table_name duckdb_tables struct_pack k v except left coalesce must_be_read",
    )
)

HOSTILE = """\
# Names and texts that would be SQL, if anything made SQL of them.
refresh
group: hostile
sources:
  edge: {table: e, columns: {select: string, students: string}}
views:
  found:
    columns: {robert: string, b: string}
    rules:
      - found(X, Y) :- edge(X, Y), Y != "'; DROP TABLE t1; --", not lost(Y)
      - found("\\"); select 1", Y) :- edge("' or 1 = 1 --", Y)
  lost:
    columns: {a: string}
    rules:
      - lost(X) :- edge(X, "robert'); drop table students")
nights:
- edge: {insert: [["' or 1 = 1 --", b], [b, "robert'); drop table students"], [a, "'; DROP TABLE t1; --"], [a, b]]}
- edge: {delete: [[b, "robert'); drop table students"]], insert: [[c, d]]}
----
"""


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is run."""
    seen: list[str] = []
    run = Tables.run

    def noted(self: Tables, sql: Sql) -> object:
        seen.append(sql.text)
        return run(self, sql)

    monkeypatch.setattr(Tables, "run", noted)
    return seen


def strangers(text: str) -> set[str]:
    """Words that are not ours, and every quotation mark."""
    words = re.findall(r"""[A-Za-z_][A-Za-z_0-9]*|["'`\\]|--|/\*""", text)
    return {word for word in words if not OUR_NAMES.fullmatch(word) and word.lower() not in OUR_WORDS}


def test_hostile_names_and_constants(texts: list[str]) -> None:
    case = parse_case(HOSTILE, "hostile")
    for strategy in ("dred", "recompute"):
        expected = run_strategy(case, Reference(), strategy)[0]
        assert "found" in expected
        assert "drop" in expected.lower()
        assert run_strategy(case, DuckDBReader(large=0), strategy)[0] == expected
    assert len(texts) > 50
    assert not {word for text in texts for word in strangers(text)}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.case"))[::6], ids=lambda path: path.stem)
def test_no_word_of_a_case(path: Path, texts: list[str]) -> None:
    run_strategy(read_case(path), DuckDBReader(large=0), "auto")
    assert texts
    assert not {word for text in texts for word in strangers(text)}


def test_that_a_stranger_would_be_seen() -> None:
    assert strangers("SELECT c0 FROM edge") == {"edge"}
    assert strangers("SELECT c0 FROM t1 WHERE c1 = 'a'") == {"'", "a"} - {"a"}
