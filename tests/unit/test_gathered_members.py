"""Views of constraints inside of braces: a filter on what the other literals there give."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import foreset
from foreset.spec.load import load_text
from foreset.testing.run import run_tests
from foreset.understand import Understood, understand

SPEC = """group: c
sources:
  s: {table: s/s, columns: {k: string, n: int}}
  limit: {table: s/limit, columns: {k: string, n: int}}
views:
  adult:
    columns: {age: int}
    rules: ["adult(X) :- X >= 18", "adult(X) :- X = 3"]
  near:
    columns: {k: string, n: int}
    evaluate: at_refresh
    rules: ["near(K, X) :- limit(K, L), X <= L, X >= 0"]
  v:
    columns: {k: string, n: bigint}
    rules: ["RULE"]
tests:
  - name: it
    given: {s: [[a, 3], [a, 17], [a, 18], [b, 40], [c, 5]], limit: [[a, 17], [b, 50]]}
    change: {s: {delete: [[a, 18]], insert: [[c, 19]]}}
    state: {v: ROWS}
"""


def spec(rule: str, rows: str = "[]") -> Understood:
    return understand(load_text(SPEC.replace("RULE", rule.replace('"', '\\"')).replace("ROWS", rows), "c.yaml"))


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("v(K, N) :- N = count{X | s(K, X), adult(X)}", "[[a, 1], [b, 1], [c, 1]]"),
        ("v(K, N) :- N = count{X | s(K, X), not adult(X)}", "[[a, 1], [c, 1]]"),
        ("v(K, N) :- setof(X, s(K, X) & near(K, X), S), count(S, N)", "[[a, 2], [b, 1]]"),
        ("v(K, N) :- N = sum{X | s(K, X), near(K, X + 1), adult(X)}", "[[a, 3], [b, 40]]"),
        ("v(K, N) :- N = count{X | s(K, X), near(k=K)}", "[[a, 2], [b, 1]]"),
        ("v(K, N) :- N = count{X | s(K, X), near(K, _)}", "[[a, 2], [b, 1]]"),
        ("v(K, N) :- s(K, A), N = count{X | s(K, X), adult(X), X > A}", "[[c, 1]]"),
        ("v(K, N) :- s(K, A), adult(A), N = count{X | s(K, X), not adult(X)}", "[[a, 1], [c, 1]]"),
        ("v('all', N) :- N = max{Y | s(_, X), adult(X), Y = X * 2}, N > 2", "[[all, 80]]"),
    ],
)
def test_it_filters_inside_of_braces(rule: str, rows: str) -> None:
    found = spec(rule, rows)
    assert not found.errors, found.errors
    assert found.program is not None
    assert found.layering is not None
    assert found.written is not None
    (outcome,) = run_tests(found.written, found.program, found.layering)
    assert outcome.passed, (outcome.error, outcome.differences, outcome.faults)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("v('all', N) :- N = count{X | adult(X), X > 2}", "`adult` is a view of constraints, and no column of it has"),
        (
            "v(K, N) :- limit(K, A), N = count{X | s(K, X), near(K, A)}",
            "in the braces, `A` has no value except",
        ),
        ("v(K, N) :- setof(X, s(K, X) & near(K, R), S), count(S, N)", "in the braces, `R` has no value except"),
    ],
)
def test_what_has_no_value_inside_is_refused(rule: str, message: str) -> None:
    (fault,) = spec(rule).errors
    assert fault.code == "FS917"
    assert fault.message.startswith(message)


def test_a_set_whose_filter_is_asked_with_its_own_count_is_refused() -> None:
    (fault,) = spec("v(K, N) :- N = count{X | s(K, X), adult(X)}, adult(int(N))").errors
    assert (fault.code, fault.message[:50]) == ("FS905", "what `adult` is asked depends on its own answers: ")


def test_nights_of_refreshes(tmp_path: Path) -> None:
    text = SPEC.partition("tests:")[0].replace("RULE", "v(K, N) :- N = count{X | s(K, X), near(K, X)}")
    (tmp_path / "c.yaml").write_text(text)
    feed = {"delta.enableChangeDataFeed": "true"}
    tables = {name: tmp_path / "wh" / "s" / name for name in ("s", "limit")}

    def insert(name: str, *rows: tuple[str, int]) -> None:
        found = pa.table({"k": [k for k, _ in rows], "n": pa.array([n for _, n in rows], pa.int32())})
        write_deltalake(tables[name], found, mode="append", configuration=feed)

    warehouse = foreset.open(warehouse=str(tmp_path / "wh"), specs=str(tmp_path), spark="nowhere")

    def night() -> set[tuple[str, int]]:
        warehouse.refresh("c", verify=200)
        return {tuple(row.values()) for row in warehouse.read("c.v").to_pylist()}

    insert("s", ("a", 3), ("a", 17), ("b", 40))
    insert("limit", ("a", 10))
    assert night() == {("a", 1)}
    insert("limit", ("b", 50), ("a", 20))
    assert night() == {("a", 2), ("b", 1)}
    DeltaTable(tables["limit"]).delete("n = 20")
    insert("s", ("a", 4), ("a", 5))
    assert night() == {("a", 3), ("b", 1)}
    DeltaTable(tables["s"]).delete("k = 'b'")
    assert night() == {("a", 3)}
