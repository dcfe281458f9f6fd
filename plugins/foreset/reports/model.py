"""What a report knows of one refresh and of a group: plain facts, whatever they were read from."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from foreset.explain.graph import Graph
from foreset.records.captures import CaptureSummary
from foreset.records.checks import ExpectationOutcome

Moment = datetime.datetime


class State(StrEnum):
    """How far a refresh came."""

    COMMITTED = "committed"
    UNCHANGED = "unchanged"  # no source had changed: nothing to publish
    TRIAL = "dry-run"
    FAILED = "failed"
    FENCED = "fenced"  # another refresh came first
    RUNNING = "running"
    SILENT = "silent"  # opened, not closed, and without a sign of life
    UNOPENED = "not opened"


ENDED = frozenset({State.COMMITTED, State.UNCHANGED, State.TRIAL, State.FAILED, State.FENCED})


@dataclass(frozen=True, slots=True)
class SourceLine(CaptureSummary):
    """What a refresh took in of one source; its `way` is "" when it was not captured (yet)."""

    name: str = ""
    table: str = ""
    before: int | None = None  # version read by the refresh before; None: never read before
    after: int | None = None

    @property
    def whole(self) -> bool:
        """Whether it was read from end to end, so that nobody knows what came and went."""
        return self.way == "Reload"


@dataclass(frozen=True, slots=True)
class ViewLine:
    """What a refresh did to one view."""

    name: str
    stratum: int
    done: bool = False  # its differential was computed
    inserted: int = 0
    deleted: int = 0
    rows: int | None = None  # after the refresh
    strategy: str = ""
    reason: str = ""
    engine: str = ""
    engine_reason: str = ""
    rounds: int = 0
    seconds: float | None = None
    rows_read: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verification:
    """What recomputation said."""

    mode: str
    verdict: str  # passed | failed | not checked
    rows: int = 0
    checked: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # view -> kind -> rows
    bounds: Mapping[str, float] = field(default_factory=dict)  # kind -> error rate that is excluded
    confidence: float = 0.95
    mismatches: Sequence[str] = ()
    seconds: float | None = None
    of: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # view -> kind -> rows there are; old records: {}

    def of_kind(self, kind: str) -> int:
        """How many rows of a kind were checked, over all views."""
        return sum(kinds.get(kind, 0) for kinds in self.checked.values())

    def total(self, kind: str) -> int | None:
        """How many rows of a kind there are; None in records of earlier releases."""
        return sum(kinds.get(kind, 0) for kinds in self.of.values()) if self.of else None


@dataclass(frozen=True, slots=True)
class Expectation(ExpectationOutcome):
    """One expectation of one view, and how it fared."""

    view: str = ""

    @property
    def name(self) -> str:
        """The kind of expectation."""
        return self.expectation


@dataclass(frozen=True, slots=True)
class Quality:
    """What the expectations said."""

    status: str  # passed | warned | failed | nothing to check
    expectations: Sequence[Expectation] = ()
    seconds: float | None = None
    docs: str | None = None  # Data Docs, a folder inside the run directory

    @property
    def broken(self) -> tuple[Expectation, ...]:
        """Those that do not hold, critical ones first."""
        return tuple(sorted((e for e in self.expectations if not e.success), key=lambda e: e.severity != "critical"))

    @property
    def lingering(self) -> tuple[Expectation, ...]:
        """Those that nothing new breaks, and that rows which came before still do."""
        return tuple(e for e in self.expectations if e.success and e.known)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a phase failed."""

    phase: str
    error: str  # its class: SourceError, VerificationFailed ...
    message: str
    hint: str = ""
    at: Moment | None = None
    next: str = ""  # the command to run next


@dataclass(frozen=True, slots=True)
class Step:
    """A phase of the refresh, for the list of what was done."""

    name: str  # capture | stratum-2 | verify | quality | commit | publish
    state: str  # done | failed | open
    seconds: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """A committed refresh, as far as others speak of it."""

    seq: int
    at: Moment | None
    refresh_id: str = ""


@dataclass(frozen=True, slots=True)
class OnHold:
    """That no refresh of the group may begin, since a rollback."""

    since: Moment | None
    contents_of: int
    why: str = ""
    release: str = ""  # the command that ends it


@dataclass(frozen=True, slots=True)
class Run:
    """One refresh."""

    group: str
    refresh_id: str
    state: State
    newest: Published | None = None  # what readers see now
    before: Published | None = None  # what they saw when this refresh began
    after: Published | None = None  # what replaced this refresh, if it was published and replaced
    seq: int | None = None  # of this refresh, once committed
    committed_at: Moment | None = None
    opened_at: Moment | None = None
    ended_at: Moment | None = None
    attempts: int = 1
    mode: str = ""
    note: str = ""
    description: str = ""
    owner: str = ""
    schedule: str | None = None
    timezone: str = "UTC"
    rolled_back_to: int | None = None
    engine_version: str = ""
    spec_hash: str = ""
    run_id: str = ""  # its directory
    sources: Sequence[SourceLine] = ()
    views: Sequence[ViewLine] = ()
    steps: Sequence[Step] = ()
    verification: Verification | None = None
    quality: Quality | None = None
    warnings: Sequence[str] = ()  # of domains that failed, and whose last answers were kept
    failures: Sequence[Failure] = ()  # of all attempts, oldest first
    silent_for: float | None = None
    scheduler: str = ""  # what Airflow says of its run; "" outside Airflow
    on_hold: OnHold | None = None  # the group, now
    at_work: Sequence[str] = ()  # the views on which the phase that failed was at work, or that it refused
    graph: Graph | None = None  # who reads whom, as its spec says; None where that is gone

    @property
    def failure(self) -> Failure | None:
        """The last failure: the reason, where the refresh ended by it."""
        return self.failures[-1] if self.failures else None

    @property
    def unverified(self) -> bool:
        """Whether it was published without a look at whether it is right; a rollback brings back what was looked at."""
        checked = self.verification is not None and self.verification.verdict != "not checked"
        return self.state is State.COMMITTED and self.rolled_back_to is None and not checked

    @property
    def inserted(self) -> int:
        """Rows that came, over all views."""
        return sum(view.inserted for view in self.views)

    @property
    def deleted(self) -> int:
        """Rows that went, over all views."""
        return sum(view.deleted for view in self.views)

    @property
    def seconds(self) -> float:
        """Time at work: the sum over its phases."""
        return sum(step.seconds or 0.0 for step in self.steps)

    @property
    def when(self) -> Moment | None:
        """The time by which it stands in the history."""
        return self.opened_at or self.committed_at


@dataclass(frozen=True, slots=True)
class History:
    """A group: what readers see, and its last refreshes, newest first."""

    group: str
    newest: Published | None
    runs: Sequence[Run]
    more: int = 0  # older refreshes that are not in `runs`
    description: str = ""
    owner: str = ""
