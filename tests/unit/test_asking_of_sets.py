"""What a domain is asked where its argument is an aggregate of the same rule: the values of the rule as written."""

from __future__ import annotations

import pytest
from tests.refresh_cases import load_program

from foreset.ir.terms import Row
from foreset.plan.translate import MAINTAINING
from foreset.reference.replica import Delta, Replica
from foreset.rewrite.pipeline import prepare
from foreset.testing.run import chooser

SPEC = """\
group: g
sources:
  n: {{table: s/n, columns: {{k: string, x: int}}}}
  top: {{table: s/top, columns: {{k: string, least: int}}}}
domains:
  d: {{provider: files, functions: {{g: {{args: {{n: bigint}}, results: {{r: bigint}}}}}}}}
views:
  v:
    columns: {{k: string, r: bigint}}
    rules: ["{rule}"]
"""
SHORT = "v(K, R) :- N = count{X | n(K, X)}, in(R, d:g(N))"
LONG = "v(K, R) :- setof(X, n(K, X), Z), count(Z, N), in(R, d:g(N))"
TWO = "v(K, R) :- in(R, d:g(N + M)), N = count{X | n(K, X)}, M = max{X | n(K, X)}"
OUTER = "v(K, R) :- top(K, L), N = count{X | n(K, X), X >= L}, in(R, d:g(N))"
LOAD = frozenset({("a", 1), ("a", 2), ("b", 5), ("c", 7), ("c", 8), ("c", 9)})
LEAST = frozenset({("a", 2), ("b", 0), ("c", 8)})


def replica_of(rule: str) -> Replica:
    found = prepare(load_program(SPEC.format(rule=rule), "g.yaml"))
    assert found.program is not None, list(found.report)
    assert found.layering is not None
    return Replica(found.program, found.layering)


def wanted(rule: str, rows: frozenset[Row]) -> dict[str, int]:
    """The argument of each group, counted by hand."""
    least = dict(LEAST)
    groups = {k: [x for each, x in rows if each == k and (rule is not OUTER or x >= least[k])] for k, _ in rows}
    more = {k: max(group) if rule is TWO else 0 for k, group in groups.items() if group}
    return {k: len(groups[k]) + more[k] for k in more}


@pytest.mark.parametrize("strategy", [*MAINTAINING, "recompute", "auto"])
@pytest.mark.parametrize("rule", [SHORT, LONG, TWO, OUTER], ids=["short", "long", "two", "outer"])
def test_each_group_asks_for_its_own(rule: str, strategy: str) -> None:
    replica = replica_of(rule)
    answers = Delta(frozenset((n, n * 10) for n in range(20)))
    replica.refresh({"n": Delta(LOAD), "top": Delta(LEAST), "d:g": answers}, chooser("auto"))
    rows = LOAD
    for change in (Delta(frozenset({("a", 3), ("b", 6)}), frozenset({("c", 9)})), Delta(minus=frozenset({("a", 1)}))):
        args = wanted(rule, rows)
        assert replica.contents["d~g~asks"] == {(n,) for n in args.values()}
        assert replica.contents["v"] == {(k, n * 10) for k, n in args.items()}
        replica.refresh({"n": change}, chooser(strategy))
        rows = (rows - change.minus) | change.plus
    args = wanted(rule, rows)
    assert replica.contents["d~g~asks"] == {(n,) for n in args.values()}
    assert replica.contents["v"] == {(k, n * 10) for k, n in args.items()}
