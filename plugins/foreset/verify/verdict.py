"""What a verification found, and how sure one may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from foreset.ir.asked import in_plain_words
from foreset.ir.hidden import in_words
from foreset.ir.program import is_hidden
from foreset.ir.terms import Row
from foreset.records.checks import Verification

CONFIDENCE = 0.95
SHOWN = 5
UNASKED = "unasked"  # the kind of a row that nobody asked a domain for


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A row on which the staged result and the recomputation differ."""

    view: str
    row: Row
    claimed: bool
    kind: str

    def __str__(self) -> str:
        if self.kind == UNASKED:
            return in_plain_words(f"`{self.view}` was not asked {self.row!r}, though a rule needs the answer")
        fact = "was computed, but no rule derives it" if self.claimed else "the rules give it, but it was not computed"
        return f"{in_words(self.view)}{self.row!r} {fact} ({self.kind} row)"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome over all views."""

    mode: str
    checked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # view -> kind -> rows
    mismatches: Sequence[Mismatch] = ()
    seconds: float = 0.0
    totals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # of what: view -> kind -> rows there are

    @property
    def ok(self) -> bool:
        """True when nothing differed."""
        return not self.mismatches

    @property
    def rows(self) -> int:
        """How many rows were checked."""
        return sum(sum(kinds.values()) for kinds in self.checked.values())

    def bound(self, kind: str) -> float | None:
        """The error rate that the checks of a kind exclude at 95 %; None where all were checked, or none."""
        checked = _sum(self.checked, kind)
        return None if 0 < _sum(self.totals, kind) <= checked else error_bound(checked)

    def record(self) -> Verification:
        """For the report, the manifest and `--json`."""
        kinds = ("changed", "unchanged", "absent")
        return Verification(
            mode=self.mode,
            verdict="passed" if self.ok else "failed",
            rows=self.rows,
            checked=_shown(self.checked),
            of=_shown(self.totals),
            error_rate_below={kind: bound for kind in kinds if (bound := self.bound(kind)) is not None},
            confidence=CONFIDENCE,
            mismatches=tuple(str(found) for found in self.mismatches[:SHOWN]),
            seconds=self.seconds,
        )


def _shown(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Of the views that users know."""
    return {view: dict(kinds) for view, kinds in counts.items() if not is_hidden(view)}


def _sum(counts: Mapping[str, Mapping[str, int]], kind: str) -> int:
    return sum(kinds.get(kind, 0) for kinds in _shown(counts).values())


def error_bound(checked: int) -> float | None:
    """The least error rate that is excluded at 95 % when none of `checked` random rows was wrong."""
    return None if checked <= 0 else round(1 - (1 - CONFIDENCE) ** (1 / checked), 6)
