"""What verification and quality noted of a staged result, and the manifest keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreset.records.codec import LEFT_OUT

Counts = Mapping[str, Mapping[str, int]]  # view -> kind -> rows


@dataclass(frozen=True, slots=True)
class Verification:
    """What recomputation said; of one that was not wanted it is known that it was not made."""

    mode: str = ""
    verdict: str = ""  # passed | failed | not checked
    rows: int = 0
    checked: Counts | None = field(default=None, metadata=LEFT_OUT)
    of: Counts | None = field(default=None, metadata=LEFT_OUT)  # how many there are; earlier releases did not say it
    error_rate_below: Mapping[str, float] | None = field(default=None, metadata=LEFT_OUT)  # kind -> what is excluded
    confidence: float | None = field(default=None, metadata=LEFT_OUT)
    mismatches: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    seconds: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """How one expectation of a view fared."""

    expectation: str = ""  # its name: `expect_column_values_to_be_between`
    text: str = ""
    severity: str = ""  # critical | warning
    on: str = ""  # changes: the rows that came; all: the whole new state
    success: bool = False
    rows: int | None = None  # that were looked at
    unexpected: int | None = None
    examples: tuple[tuple[object, ...], ...] = ()
    columns: tuple[str, ...] = ()
    origin: str = ""
    note: str = ""
    observed: str = ""  # what was found instead, where rows cannot be named
    error: str = ""  # why it could not be checked
    id: str = ""  # the same words on the same columns have the same
    known: int | None = None  # rows of the whole view that break it, where only the rows that come are checked


@dataclass(frozen=True, slots=True)
class QualityRecord:
    """What the expectations said."""

    status: str = ""  # passed | warned | failed | nothing to check
    seconds: float | None = None
    checked: int = 0
    failed: int = 0
    warned: int = 0
    known: int = 0  # rows that came before and still break one
    views: Mapping[str, tuple[ExpectationOutcome, ...]] = field(default_factory=dict)
    docs: str | None = None  # Data Docs, a folder inside the run directory
