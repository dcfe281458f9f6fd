"""How many rows of a view are known to break an expectation that is only checked on the rows that come.

Such an expectation says nothing of a row that broke it before. So the number is carried from refresh to refresh:
plus what came and breaks it, minus what went and broke it. It is exact: where the refresh before does not have
it, the whole state is counted once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from foreset.ir.expectations import KNOWN, Expectation, Scope
from foreset.quality.batches import Finding
from foreset.records.checks import ExpectationOutcome


@dataclass(slots=True)
class Tally:
    """Rows that break the expectations of one view, by the number of the expectation."""

    before: dict[int, int] = field(default_factory=dict)  # before this refresh, as far as it is known
    went: dict[int, int | None] = field(default_factory=dict)  # of the rows that go
    whole: dict[int, int | None] = field(default_factory=dict)  # of the new state, where it was counted as a whole

    def start(self, number: int, expectation: Expectation) -> None:
        """The whole state is looked at: what is found is all there is."""
        if _is_counted(expectation):
            self.before[number] = 0

    def plan(self, number: int, expectation: Expectation, earlier: ExpectationOutcome | None, went: int | None) -> str:
        """What has to be counted beside the rows that come: "went", "whole" or nothing.

        `went` is how many rows go; None where the view had no rows before that count.
        """
        if not _is_counted(expectation):
            return ""
        known = earlier.known if earlier and went is not None else 0
        if known is None:
            return "whole"
        self.before[number] = known
        return "went" if known and went else ""

    def note(self, what: str, numbers: Iterable[int], findings: Iterable[Finding]) -> None:
        """What was counted; None where it could not be."""
        counts = self.went if what == "went" else self.whole
        for number, finding in zip(numbers, findings, strict=True):
            counts[number] = None if finding.error else finding.unexpected

    def known(self, number: int, entry: ExpectationOutcome) -> int | None:
        """The rows of the new state that break it; None where that is not known."""
        if entry.error:
            return None
        if number in self.whole:
            return self.whole[number]
        went = self.went.get(number, 0)
        if number not in self.before or went is None:
            return None
        return self.before[number] + (entry.unexpected or 0) - went


def _is_counted(expectation: Expectation) -> bool:
    """Whether only the rows that come are checked, a row alone breaks it, and no share of rows may."""
    local = KNOWN[expectation.type].row_local and expectation.arguments.get("mostly") in (None, 1)
    return local and expectation.on is Scope.CHANGES
