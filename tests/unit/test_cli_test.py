"""`foreset test`: what passes, what fails, and what a failure shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import foreset

from foreset.testing import run
from foreset.testing.replica import Delta

SPEC = """group: reach
sources:
  edge: {table: raw/edge, columns: {src: string, dst: string}}
  tax: {table: raw/tax, columns: {rate: int}}
views:
  closure:
    columns: {src: string, dst: string}
    rules: ["closure(X, Y) :- edge(X, Y)", "closure(X, Y) :- edge(X, Z), closure(Z, Y)"]
  share:
    columns: {part: bigint}
    rules: ["share(P) :- tax(R), P = div(100, R)"]
tests:
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def of(*tests: str, arguments: tuple[str, ...] = ()):
        (tmp_path / "reach.yaml").write_text(SPEC + "".join(f"  - {{name: t{n}, {t}}}\n" for n, t in enumerate(tests)))
        return foreset("test", "--specs", ".", *arguments)

    return of


def test_the_specs_of_this_project_pass() -> None:
    shown = foreset("test", "--specs", str(ROOT / "view_specs"))
    assert shown.code == 0
    assert " passed (" in shown.out.splitlines()[-1]


def test_a_failure_shows_place_and_rows(outcome) -> None:
    shown = outcome(
        "given: {edge: [[a, b], [b, c]]}, change: {edge: {delete: [[b, c]]}}, "
        "expect: {closure: {delete: [[b, c], [z, z]]}}"
    )
    assert shown.code == 3
    assert shown.out.splitlines()[:5] == [
        "FAIL  reach: t0",
        "      reach.yaml:13",
        "      deletions from closure:",
        '        - ("z", "z")  expected, but not there',
        '        + ("a", "c")  there, but not expected',
    ]
    assert shown.out.splitlines()[-1].startswith("1 test failed, 0 passed (")


@pytest.mark.parametrize(
    ("test", "passes"),
    [
        # a list left out is empty
        ("change: {edge: {insert: [[a, b]]}}, expect: {closure: {delete: []}}", False),
        ("change: {edge: {insert: [[a, b]]}}, expect: {closure: {insert: [[a, b]]}}", True),
        # views not named are not looked at
        ("change: {edge: {insert: [[a, b]]}}, expect: {share: {}}", True),
        # without a change, the effects are those of the first load
        ("given: {edge: [[a, b]]}, expect: {closure: {insert: [[a, b]]}}", True),
        # whole contents
        ("given: {edge: [[a, b]]}, change: {edge: {insert: [[b, c]]}}, state: {closure: [[a, b], [a, c], [b, c]]}",
         True),
        ("given: {edge: [[a, b]]}, change: {edge: {insert: [[b, c]]}}, state: {closure: [[a, b], [b, c]]}", False),
        # a row counts until its last copy goes
        ("given: {edge: [[a, b], [a, b]]}, change: {edge: {delete: [[a, b]]}}, expect: {closure: {}}", True),
        ("given: {edge: [[a, b], [a, b]]}, change: {edge: {delete: [[a, b], [a, b]]}}, expect: {closure: {}}", False),
        # deletions come first: a row replaced by itself is no change
        ("given: {edge: [[a, b]]}, change: {edge: {delete: [[a, b]], insert: [[a, b]]}}, expect: {closure: {}}", True),
        # duplicates in what is expected say nothing more
        ("change: {edge: {insert: [[a, b]]}}, expect: {closure: {insert: [[a, b], [a, b]]}}", True),
    ],
)  # fmt: skip
def test_what_is_compared(outcome, test: str, passes: bool) -> None:
    shown = outcome(test)
    assert (shown.code == 0) == passes, shown.out


def test_deleting_what_is_not_there_fails(outcome) -> None:
    shown = outcome("given: {edge: [[a, b]]}, change: {edge: {delete: [[a, b], [a, b]]}}, expect: {closure: {}}")
    assert shown.code == 3
    assert '      the change deletes from edge:\n        - ("a", "b")  not given\n' in shown.out


def test_a_rule_that_fails_on_the_data_fails_the_test(outcome) -> None:
    shown = outcome("change: {tax: {insert: [[0]]}}, expect: {share: {}}")
    assert shown.code == 3
    assert "share#1" in shown.out
    assert "R = 0" in shown.out


def test_selection(outcome) -> None:
    tests = ("given: {edge: [[a, b]]}, expect: {closure: {}}", "expect: {closure: {}}")
    assert outcome(*tests).code == 3
    assert outcome(*tests, arguments=("-k", "T1")).code == 0
    assert outcome(*tests, arguments=("reach", "-k", "reach: t1")).code == 0
    nothing = outcome(*tests, arguments=("-k", "t9"))
    assert (nothing.code, nothing.err.splitlines()[0]) == (2, "error: no test matches 't9'")
    assert outcome(*tests, arguments=("rech",)).code == 2


def test_json(outcome) -> None:
    shown = outcome("given: {edge: [[a, b]]}, expect: {closure: {}}", arguments=("--json",))
    (found,) = shown.data
    assert shown.code == 3
    assert (found["group"], found["test"], found["file"], found["line"], found["passed"]) == (
        "reach", "t0", "reach.yaml", 13, False)  # fmt: skip
    assert found["differences"] == [
        {"view": "closure", "what": "inserted", "missing": [], "unexpected": [["a", "b"]]}
    ]  # fmt: skip


def test_no_tests_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "reach.yaml").write_text(SPEC.removesuffix("tests:\n"))
    shown = foreset("test", "--specs", str(tmp_path))
    assert (shown.code, shown.out) == (0, "there are no tests: write some under `tests:` of a spec\n")


def test_a_strategy_that_differs_is_our_fault_and_fails(outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = run.Replica.refresh

    def forgetful(replica, changes, chooser=None):
        deltas, done = honest(replica, changes, chooser)
        forget = any(step.choice.strategy == "dred" for step in done.values())
        return ({name: Delta() for name in deltas} if forget else deltas), done

    monkeypatch.setattr(run.Replica, "refresh", forgetful)
    shown = outcome(
        "given: {edge: [[a, b]]}, change: {edge: {delete: [[a, b]]}}, expect: {closure: {delete: [[a, b]]}}"
    )
    assert shown.code == 3
    assert "strategies `insert`, `counting`, `dred`, `stdel` differ from full evaluation: a bug in" in shown.out
    assert "strategy `dredc`" not in shown.out
