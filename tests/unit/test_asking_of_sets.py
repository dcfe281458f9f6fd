"""What a domain is asked where its argument is an aggregate of the same rule: the values of the rule as written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.refresh_cases import load_program
from tests.roads import FEED

import foreset
from foreset.analyse.needs import needs_of
from foreset.analyse.scopes import with_groups
from foreset.domains import registry
from foreset.errors import VerificationFailed
from foreset.ir.rules import Atom, DomainCall, Rule
from foreset.ir.terms import Row
from foreset.oracle.unasked import unasked
from foreset.plan.translate import MAINTAINING
from foreset.rewrite.givers import Givers
from foreset.rewrite.pipeline import prepare
from foreset.testing.replica import Delta, Replica
from foreset.testing.report import failure
from foreset.testing.run import chooser, run_tests

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


def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of what is asked decides anew by what its sets group, under a head that shows the argument only."""
    asked = Givers.asked

    def forgetful(self: Givers, call: DomainCall, head: Atom) -> Rule:
        part = asked(self, call, head)
        return with_groups(replace(part, sets=tuple(replace(one, groups=()) for one in part.sets)))

    monkeypatch.setattr(Givers, "asked", forgetful)


def test_arguments_that_nobody_asked_for_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Delta(frozenset((n, n * 10) for n in range(20)))
    for sound in (True, False):
        if not sound:
            planted(monkeypatch)
        replica = replica_of(SHORT)
        replica.refresh({"n": Delta(LOAD), "d:g": answers})
        lacking = dict(unasked(replica.program, replica.contents, needs_of(replica.program.views)))
        assert lacking == ({} if sound else {"d~g~asks": {(1,), (2,), (3,)}})


@pytest.mark.parametrize("sound", [True, False])
def test_verification_finds_a_wrong_asking(sound: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._registered, "ten", foreset.PythonDomain({"g": lambda n: [n * 10]}))
    spec = SPEC.format(rule=SHORT).replace("provider: files", "provider: ten").replace("  top:", "  # top:")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/g.yaml").write_text(f"# sound: {sound}\n{spec}")  # specs that were read are remembered
    names, numbers = zip(*sorted(LOAD), strict=True)
    table = pa.table({"k": names, "x": pa.array(numbers, pa.int32())})
    write_deltalake(tmp_path / "wh/s/n", table, configuration=FEED)
    wh = foreset.open(tmp_path / "wh", tmp_path / "specs", "nowhere")
    if sound:
        done = wh.refresh("g")
        assert done.verification["verdict"] == "passed"
        shown = sum(sum(kinds.values()) for kinds in done.verification["checked"].values())
        assert done.verification["rows"] >= shown + 3  # what was asked is looked at too, and not shown
        return
    planted(monkeypatch)
    with pytest.raises(VerificationFailed, match=r"`d:g` was not asked \(2,\), though a rule needs the answer"):
        wh.refresh("g")


TEST = """
tests:
  - name: two of a, one of b
    given: {n: [[a, 1], [a, 2], [b, 5]], "d:g": [[1, 10], [2, 20], [3, 30]]}
    state: {v: [[a, 20], [b, 10]]}
"""


def test_unit_tests_find_a_wrong_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    for sound in (True, False):
        if not sound:
            planted(monkeypatch)
        written = load_program(SPEC.format(rule=SHORT) + TEST, "g.yaml")
        found = prepare(written)
        assert found.program is not None
        assert found.layering is not None
        (outcome,) = run_tests(written, found.program, found.layering)
        assert outcome.passed is sound
        if not sound:
            assert list(failure(outcome))[-4:] == [
                "a domain is not asked everything that the rules need: a bug in Foreset, please report it",
                "arguments of `d:g`:",
                "  - (1)  expected, but not there",
                "  - (2)  expected, but not there",
            ]
