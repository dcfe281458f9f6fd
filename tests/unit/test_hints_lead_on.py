"""What a hint says works: the rule that follows it is accepted, and holds what was meant."""

from __future__ import annotations

import json

import pytest

from foreset.spec.load import load_text
from foreset.testing.run import run_tests
from foreset.understand import Understood, understand

SPEC = """group: spec
sources:
  t: {{table: s/t, columns: {{v: string, d: string, n: int}}}}
  p: {{table: s/p, columns: {{x: int, y: int}}}}
views:
  v:
    columns: {{v: string, n: {kind}}}
    rules: {rules}
tests:
  - name: as meant
    given: {{t: [[a, q, 1], [a, r, 2], [b, q, 3], [null, q, 4]], p: [[1, 10], [3, 30]]}}
    state: {{v: {rows}}}
"""


def spec(rules: list[str], rows: str = "[]", kind: str = "bigint") -> Understood:
    return understand(load_text(SPEC.format(rules=json.dumps(rules), rows=rows, kind=kind)))


@pytest.mark.parametrize(
    ("wrong", "hint", "right", "rows"),
    [
        ("v(V, count(D)) :- t(V, D, _)", "`count{D | t(V, D, _)}`", "v(V, count{D | t(V, D, _)}) :- t(V, _, _)",
         "[[a, 2], [b, 1]]"),
        ("v(V, N) :- t(V, _, A), N = sum(A)", "`sum{A | t(V, _, A)}`", "v(V, N) :- N = sum{A | t(V, _, A)}",
         "[[a, 3], [b, 3], [null, 4]]"),
        ("v(V, N) :- t(V, _, N), NOT p(N, _)", "`not p(X)`", "v(V, N) :- t(V, _, N), not p(N, _)",
         "[[a, 2], [null, 4]]"),
        ("v(V, N) :- t(V, _, N), V IS NULL", "`is_null(V)`", "v(V, N) :- t(V, _, N), is_null(V)", "[[null, 4]]"),
        ("v(V, N) :- t(V, _, N), V IS NOT NULL, N > 2", "`not is_null(V)`",
         "v(V, N) :- t(V, _, N), not is_null(V), N > 2",
         "[[b, 3]]"),
        ("v(V, N) :- t(V, _, N), p.x = N", "`p(x=X)`", "v(V, N) :- t(V, _, N), p(x=N)", "[[a, 1], [b, 3]]"),
        ("v(V, N) :- t(V, _, N) AND N == 2", "write a comma", "v(V, N) :- t(V, _, N), N = 2", "[[a, 2]]"),
        ("v(V, N) :- t(V, _, M), N = bigint(K) + 1", "give `K` a value by", "v(V, N) :- t(V, _, M), N = bigint(M) + 1",
         "[[a, 2], [a, 3], [b, 4], [null, 5]]"),
    ],
)  # fmt: skip
def test_the_rule_that_the_hint_says_works(wrong: str, hint: str, right: str, rows: str) -> None:
    told = spec([wrong]).errors
    assert told
    assert any(hint in fault.hint for fault in told), told
    found = spec([right], rows)
    assert not found.errors, found.errors
    assert found.written is not None
    assert found.program is not None
    assert found.layering is not None
    (outcome,) = run_tests(found.written, found.program, found.layering)
    assert outcome.passed, (outcome.error, outcome.differences)


def test_a_set_is_shown_sorted_without_a_function() -> None:
    (fault,) = spec(["v(V, S) :- setof(D, N^t(V, D, N), A), S = array_sort(A)"], kind="array<string>").errors
    assert fault.hint == "the value of a set is a sorted array already"
    found = spec(
        ["v(V, S) :- setof(D, N^t(V, D, N), A), S = A"], "[[a, [q, r]], [b, [q]], [null, [q]]]", "array<string>"
    )
    assert found.written is not None
    assert found.program is not None
    assert found.layering is not None
    (outcome,) = run_tests(found.written, found.program, found.layering)
    assert outcome.passed, (outcome.error, outcome.differences)
