"""Variables of the rule inside of sets: NULLs, what can fail, names that are simply two, and recursion."""

from __future__ import annotations

import pytest
from tests.refresh_cases import load_program

from foreset.errors import EvaluationError
from foreset.ir.terms import Row
from foreset.plan.translate import MAINTAINING
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Replica
from foreset.testing.run import chooser

SPEC = """\
group: g
sources:
  o: {{table: s/o, columns: {{id: int, k: string, a: int}}}}
  p: {{table: s/p, columns: {{k: string, x: int}}}}
views:
  v:
    columns: {{id: int, n: bigint}}
    rules: {rules}
"""
ROWS = frozenset({(1, "x", 0), (2, "x", 5), (3, "x", 10), (4, "x", None), (5, "y", 10), (6, None, 10), (7, None, 20)})


def replica_of(*rules: str) -> Replica:
    found = prepare(load_program(SPEC.format(rules=list(rules)), "g.yaml"))
    assert found.program is not None, list(found.report)
    assert found.layering is not None
    return Replica(found.program, found.layering)


def rows_of(*rules: str, o: frozenset[Row] = ROWS, p: frozenset[Row] = frozenset()) -> set[Row]:
    replica = replica_of(*rules)
    replica.refresh({"o": Delta(o), "p": Delta(p)}, chooser("recompute"))
    return set(replica.contents["v"])


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("v(I, N) :- o(I, K, A), N = count{J | o(J, K, B), B > A}", {(1, 2), (2, 1)}),
        ("v(I, N) :- o(I, _, A), N = count{J | o(J, _, B), B > A}", {(1, 5), (2, 4), (3, 1), (5, 1), (6, 1)}),
        ("v(I, N) :- o(I, K, A), N = count{J | o(J, K, _), not o(J, _, A)}", {(1, 3), (2, 3), (3, 3)}),
        ("v(I, N) :- o(I, K, A), N = count{J | o(J, K, B), coalesce(B, 7) > A}", {(1, 3), (2, 2)}),
        ("v(I, N) :- o(I, K, A), N = count{B - A | o(_, K, B)}", {(1, 4), (2, 4), (3, 4), (5, 1)}),
        ("v(I, N) :- o(I, K, A), setof(J, o(J, K, B), B > A, S), count(S, N)", {(1, 1), (2, 1)}),
        ("v(I, N) :- o(I, K, A), setof(J, B^o(J, K, B), B > A, S), count(S, N)", {(1, 2), (2, 1)}),
        # D has its value from A: it groups, as every variable of the body of a `setof` does.
        (
            "v(I, N) :- o(I, K, A), setof((J, B), o(J, K, B), D = div(B - A, 5), S), count(S, N)",
            {(1, 1), (2, 1), (3, 1), (5, 1)},
        ),
    ],
)
def test_what_null_and_the_forms_mean(rule: str, rows: set[Row]) -> None:
    """A NULL outside finds no group, whatever stands inside."""
    assert rows_of(rule) == rows


def test_what_can_fail_waits_for_the_conditions_outside() -> None:
    """By the law of evaluation: `A != 0` does not depend on the division."""
    assert rows_of("v(I, N) :- o(I, K, A), A != 0, N = count{J | o(J, K, B), B / A >= 1}") == {(2, 2), (3, 1), (5, 1)}
    assert rows_of("v(I, N) :- o(I, K, A), not p(K, A), N = count{J | o(J, K, B), B / A >= 1}",
                   p=frozenset({("x", 0)})) == {(2, 2), (3, 1), (5, 1)}  # fmt: skip
    with pytest.raises(EvaluationError):
        rows_of("v(I, N) :- o(I, K, A), N = count{J | o(J, K, B), B / A >= 1}")


def test_what_can_fail_outside_stays_outside() -> None:
    """`10 / A` is evaluated where `N > 2` holds, which the set must not forget."""
    rule = "v(I, N) :- o(I, K, A), N = count{J | o(J, K, B), B != A}, N > 2, 10 / A > 1"
    assert rows_of(rule) == set()
    with pytest.raises(EvaluationError):
        rows_of(rule.replace("N > 2", "N > 1"))


def test_among_what_can_fail_the_written_order_counts() -> None:
    rule = "v(1, N) :- N = count{{J | o(J, _, A), {}}}"
    first, second = "100 / (A + 1) > 1", "1 / (A - 10) < 1"
    found = []
    for order in ((first, second), (second, first)):
        with pytest.raises(EvaluationError) as failed:
            rows_of(rule.format(", ".join(order)), o=frozenset({(1, "x", -1), (2, "y", 10)}))
        found.append("A = -1" in str(failed.value))
    assert found == [True, False]


def test_names_that_are_simply_two() -> None:
    """`J` of the literal outside is not the `J` that is gathered."""
    assert rows_of("v(J, N) :- o(J, K, A), o(_, K, J), N = count{J | o(J, K, B), B > A}",
                   o=frozenset({(2, "x", 1), (3, "x", 2), (4, "x", 3)})) == {(2, 2), (3, 1)}  # fmt: skip


def test_sets_that_take_from_sets() -> None:
    """How many are above the mean, and what those have beyond their number; K is local, as only braces name it."""
    rule = (
        "v(int(N), D) :- M = avg{A | o(_, K, A)}, N = count{J | o(J, K, B), B > M}, "
        "D = sum{B - int(N), B | o(_, K, B), B > M}"
    )
    assert rows_of(rule) == {(4, 22)}
    assert rows_of(f"{rule}, p(K, _)", p=frozenset({("x", 0), ("y", 0)})) == {(1, 9)}


def test_recursion_outside_gives_no_values() -> None:
    found = prepare(load_program(SPEC.format(rules=["v(I, 0) :- o(I, _, _)",
                                 "v(I, N) :- v(I, M), N = count{J | o(J, _, B), B > M}"]), "g.yaml"))  # fmt: skip
    assert [fault.code for fault in found.report.errors] == ["FS506"]
    assert rows_of("v(I, 0) :- o(I, _, _)", "v(I, N) :- v(I, _), o(I, K, A), N = count{J | o(J, K, B), B > A}") == {
        *((i, 0) for i in range(1, 8)), (1, 2), (2, 1)}  # fmt: skip


@pytest.mark.parametrize("strategy", MAINTAINING)
def test_differentials(strategy: str) -> None:
    replica = replica_of("v(I, N) :- o(I, K, A), not p(K, A), N = count{J | o(J, K, B), B > A}")
    replica.refresh({"o": Delta(ROWS)}, chooser("recompute"))
    came, _ = replica.refresh({"p": Delta(frozenset({("x", 0)}))}, chooser(strategy))
    assert came["v"] == Delta(minus=frozenset({(1, 2)}))
    came, _ = replica.refresh({"o": Delta(frozenset({(8, "x", 20)}), frozenset({(3, "x", 10)}))}, chooser(strategy))
    assert came["v"] == Delta()
    came, _ = replica.refresh({"o": Delta(frozenset({(9, "x", 7)}))}, chooser(strategy))
    assert came["v"] == Delta(frozenset({(2, 2), (9, 1)}), frozenset({(2, 1)}))
