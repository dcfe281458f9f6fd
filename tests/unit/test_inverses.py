"""A false `remove` or `merge` of an own aggregate is found before a night finds it: soon, and the same each time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import foreset
from foreset.spec import registered
from foreset.spec.load import load_text
from foreset.understand import understand

PLAIN = """group: spec
sources:
  n: {{table: s/n, columns: {{k: string}}}}
{aggregates}views:
  v:
    columns: {{k: string}}
    rules: ["v(K) :- n(K)"]
"""
ONE = "aggregates:\n  f: {{takes: {takes}, state: {state}, zero: {zero}, add: '{add}'{more}}}\n"
IN_PYTHON = """group: spec
sources:
  n: {table: s/n, columns: {k: string, x: int}}
views:
  v:
    columns: {k: string, r: bigint}
    rules: ["v(K, R) :- setof(X, n(K, X), S), f(S, R)"]
"""


def faults(*expressions: str) -> list[tuple[str, str]]:
    """Codes and messages about the aggregate; the view that uses it does not matter here."""
    one = ONE.format(
        **dict(zip(("takes", "state", "zero", "add"), expressions, strict=False)),
        more="".join(f", {part}: '{term}'" for part, term in zip(("remove", "merge"), expressions[4:], strict=False)),
    )
    loaded = load_text(PLAIN.format(aggregates=one))
    return [(fault.code, fault.message) for fault in understand(loaded).diagnostics]


UNDO = "aggregate `f`: `remove` does not undo `add`: with "
FALSE = [
    (("int", "int", "0", "least(A + 1, 3)", "A - 1"), f"{UNDO}A = 3, X = 0 it gives 2 (A after 3 times X = 0)"),
    (("int", "int", "0", "A + X % 1000", "A - X"), f"{UNDO}A = 0, X = 1000 it gives -1000"),
    (("int", "int", "0", "least(A + 1, 1000)", "A - 1"), f"{UNDO}A = 1000, X = "),
    (("int", "bigint", "0", "A + div(X, 1000000)", "A"), f"{UNDO}A = 0, X = 1000000 it gives 1"),
    (("string", "int", "0", "A + length(X)", "A - length(trim(X))"), f"{UNDO}A = "),
    (("date", "bigint", "0", "A + day(X)", "A - least(day(X), 30)"), f"{UNDO}A = 31, X = date("),
    (("boolean", "int", "0", "greatest(A, int(X))", "A"), f"{UNDO}A = 0, X = true it gives 1"),
    (('"decimal(10,2)"', '"decimal(20,1)"', "0", "decimal(A + X, 20, 1)", "decimal(A - X, 20, 1)"), f"{UNDO}A = 0.0, "),
    (("int", "bigint", "0", "A + X", "A - X", "A + B + div(A, 1000000)"), "aggregate `f`: `merge` of "),
    (("int", "bigint", "0", "A + X", "A - X", "greatest(A + B, -1000000)"), "aggregate `f`: `merge` of 0 and -1000001"),
]
TRUE = [
    ("int", "int", "0", "A + X", "A - X", "A + B"),
    ("[int, int]", "bigint", "0", "A + X1 * X2", "A - X1 * X2", "A + B"),
    ("int", "int", "0", "A + X % 1000", "A - X % 1000"),
    ("int", "int", "0", "abs(A) + abs(X)", "A - abs(X)"),
    ("int", "int", "0", "(A + 1000 + X % 1000) % 1000", "(A + 1000 - X % 1000) % 1000"),
    ('"decimal(10,2)"', '"decimal(20,2)"', "0", "decimal(A + X, 20, 2)", "decimal(A - X, 20, 2)"),
    ("boolean", "int", "0", "A + int(X)", "A - int(X)", "A + B"),
    ("string", "int", "0", "A + length(X)", "A - length(X)", "A + B"),
    ("timestamp", "bigint", "0", "A + second(X)", "A - second(X)"),
    ("array<int>", "int", "0", "A + 1", "A - 1"),
]  # fmt: skip


@pytest.mark.parametrize(("expressions", "message"), FALSE, ids=lambda value: str(value)[:60])
def test_a_false_one_is_refused_with_a_counterexample(expressions: tuple[str, ...], message: str) -> None:
    ((code, found),) = faults(*expressions)
    assert code == "FS310"
    assert found.startswith(message)
    assert faults(*expressions) == [(code, found)]


@pytest.mark.parametrize("expressions", TRUE, ids=str)
def test_a_true_one_is_taken_soon(expressions: tuple[str, ...]) -> None:
    faults(*TRUE[0])  # loads the solver
    started = time.process_time()
    assert faults(*expressions) == []
    spent = time.process_time() - started
    print(f"{spent:.2f} s")
    assert spent < 3  # the aim is below one


def test_what_breaks_where_no_adds_are_known_to_lead_is_a_warning() -> None:
    ((code, found),) = faults("int", "int", "0", "least(A + 1, 100000)", "A - 1")
    assert (code, found) == ("FS641", f"{UNDO}A = 100000, X = 0 it gives 99999")


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_registered", {})


SATURATING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "at 3": (lambda a, _: min(a + 1, 3), lambda a, _: a - 1),
    "at 500": (lambda a, _: min(a + 1, 500), lambda a, _: a - 1),
    "of large values": (lambda a, x: a + x % 10**6, lambda a, x: a - x),
    "in another order": (lambda a, x: a * 2 + x if a > 10**6 else a + x, lambda a, x: a - x),
}


@pytest.mark.usefixtures("offered")
@pytest.mark.parametrize("name", SATURATING)
def test_python_is_tried_on_large_states_too(name: str) -> None:
    add, remove = SATURATING[name]
    foreset.register_aggregate("f", foreset.PythonAggregate("int", "bigint", 0, add, remove))
    found = [fault for fault in understand(load_text(IN_PYTHON)).diagnostics if fault.severity == "error"]
    assert [fault.code for fault in found] == ["FS310"], found


@pytest.mark.usefixtures("offered")
def test_slow_functions_do_not_hold_up_the_check() -> None:
    def add(a: int, x: int) -> int:
        sum(range(20_000))
        return a + x

    foreset.register_aggregate("f", foreset.PythonAggregate("int", "bigint", 0, add, lambda a, x: a - x))
    started = time.process_time()
    assert not understand(load_text(IN_PYTHON)).errors
    assert time.process_time() - started < 8  # the long runs alone would take more
