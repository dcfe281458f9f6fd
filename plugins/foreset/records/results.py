"""What a stage of a refresh answers when it is done: a job prints it as JSON, a task of Airflow returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreset.records.checks import Verification
from foreset.records.codec import LEFT_OUT


@dataclass(frozen=True, slots=True)
class SparkFound:
    """Where the tasks find Spark, and what it answers."""

    spark: str
    answers: str


@dataclass(frozen=True, slots=True)
class RunOpened:
    """A run that is open, with its frozen plan."""

    status: str
    epoch: int
    seq: int
    run: str
    spec: str
    sources: Mapping[str, int]  # their pinned versions
    rebuild: Mapping[str, str]  # view -> why it is built anew


@dataclass(frozen=True, slots=True)
class Ended:
    """How a refresh ended; also the answer of a stage that had nothing to do since it had ended before."""

    status: str = ""
    seq: int | None = field(default=None, metadata=LEFT_OUT)  # what readers see
    because: str | None = field(default=None, metadata=LEFT_OUT)
    reason: str | None = field(default=None, metadata=LEFT_OUT)  # of a hold
    hint: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What a source gained and lost."""

    inserted: int
    deleted: int
    rows: int | None
    taken_whole: bool
    reason: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class SourcesCaptured:
    """All sources, taken in; `idle` are the strata that no change reaches."""

    status: str
    sources: Mapping[str, SourceChange]
    seq: int | None = field(default=None, metadata=LEFT_OUT)
    because: str | None = field(default=None, metadata=LEFT_OUT)
    idle: tuple[int, ...] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class ViewChange:
    """What a view gained and lost."""

    inserted: int
    deleted: int
    rows: int | None = field(default=None, metadata=LEFT_OUT)  # once it is published


@dataclass(frozen=True, slots=True)
class StratumMaintained:
    """A stratum that is up to date; an idle one needed nothing."""

    strategy: str
    reason: str
    rounds: int
    seconds: float
    rows_read: Mapping[str, int]
    views: Mapping[str, ViewChange]
    idle: bool


@dataclass(frozen=True, slots=True)
class ExpectationsChecked:
    """The verdict on expectations, without the rows that break them."""

    status: str
    checked: int
    failed: int
    warned: int
    seconds: float | None
    verdict: str
    seq: int | None = field(default=None, metadata=LEFT_OUT)
    because: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class Published:
    """What everybody sees now."""

    seq: int = 0
    views: Mapping[str, ViewChange] = field(default_factory=dict)
    exports: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Why a task of Airflow failed, and the exit code that `foreset refresh` would have ended with."""

    phase: str = ""
    error: str = ""
    message: str = ""
    hint: str = ""
    exit: int = 1
    next: str | None = field(default=None, metadata=LEFT_OUT)  # the command to run next


StageResult = (
    SparkFound | RunOpened | Ended | SourcesCaptured | StratumMaintained | Verification | ExpectationsChecked
    | Published
)  # fmt: skip


def state_of(result: StageResult) -> str:
    """What `result` says of the state of the refresh; empty where it says nothing."""
    match result:
        case RunOpened() | Ended() | SourcesCaptured() | ExpectationsChecked():
            return result.status
        case _:
            return ""
