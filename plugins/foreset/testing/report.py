"""Outcomes of tests as text: what a person needs to mend the rule or the test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreset.ir.asked import in_plain_words
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.testing.compare import ASKING, Difference
from foreset.testing.run import Outcome

MOST = 20  # rows of one difference that are shown


def place(outcome: Outcome, file: str) -> str:
    """Where the test stands: `file:line`."""
    return f"{file}:{outcome.test.span.line}" if outcome.test.span else file


def failure(outcome: Outcome) -> Iterator[str]:
    """The lines below a failed test."""
    if outcome.error:
        yield from outcome.error.splitlines()
    for difference in outcome.differences:
        yield from _rows(difference)
    alike: dict[tuple[Difference, ...], list[str]] = {}
    for strategy, wrong in (outcome.faults or {}).items():
        alike.setdefault(wrong, []).append(f"`{strategy}`")
    why = "a bug in Foreset, please report it"
    if outcome.own:
        named = ", ".join(f"`{name}`" for name in outcome.own)
        why = f"`remove` or `merge` of {named} is wrong: computing the group again gives another result"
    for wrong, strategies in alike.items():
        differ = "strategies {} differ" if len(strategies) > 1 else "strategy {} differs"
        what = f"{differ.format(', '.join(strategies))} from full evaluation"
        if strategies == [f"`{ASKING}`"]:
            what = "a domain is not asked everything that the rules need"
        yield f"{what}: {why}"
        for difference in wrong:
            yield from _rows(difference)


def summary(outcomes: Sequence[Outcome], seconds: float) -> str:
    """One line: `6 tests passed (0.12 s)`."""
    failed = sum(not outcome.passed for outcome in outcomes)
    passed = len(outcomes) - failed
    if not failed:
        return f"{_tests(passed)} passed ({seconds:.2f} s)"
    return f"{_tests(failed)} failed, {passed} passed ({seconds:.2f} s)"


def _tests(number: int) -> str:
    return f"{number:,} test{'' if number == 1 else 's'}"


def _rows(difference: Difference) -> Iterator[str]:
    yield in_plain_words(_TITLES[difference.what].format(view=difference.view))
    reason = "not given" if difference.what == "to delete" else "expected, but not there"
    yield from _listed("-", difference.missing, reason)
    yield from _listed("+", difference.unexpected, "there, but not expected")


_TITLES = {
    "inserted": "insertions into {view}:",
    "deleted": "deletions from {view}:",
    "contents": "contents of {view}:",
    "asking": "arguments of `{view}`:",
    "to delete": "the change deletes from {view}:",
}


def _listed(sign: str, rows: tuple[Row, ...], why: str) -> Iterator[str]:
    shown = [f"({', '.join(map(print_value, row))})" for row in rows[:MOST]]
    width = max((len(row) for row in shown), default=0)
    for row in shown:
        yield f"  {sign} {row:<{width}}  {why}"
    if len(rows) > MOST:
        yield f"  {sign} and {len(rows) - MOST:,} more"
