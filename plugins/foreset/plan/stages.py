"""The stages of a refresh in their order, as data.

The command line walks through them in one process; a task of Airflow, and a job in `spark_jobs/`, does one of them.
The graph of a DAG, the stage at which a refresh failed and the steps of its report follow from the same list.
A new stage is an entry here, and its function in `refresh/runner.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import assert_never


class Status(StrEnum):
    """How a refresh ends; what leaves a stage as an exception ends it as failed."""

    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    DRY_RUN = "dry-run"
    HELD = "held"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Ending:
    """What can end a refresh without the stages that follow, in words, and what it is then."""

    because: str
    status: Status


ON_HOLD = Ending("the group is on hold", Status.HELD)
COMMITTED_BEFORE = Ending("this refresh was committed before", Status.COMMITTED)
NOTHING_MOVED = Ending("no source had changed", Status.UNCHANGED)
NOTHING_NEW = Ending("no source had changed, and no domain had new answers", Status.UNCHANGED)
TRIAL = Ending("it was only tried", Status.DRY_RUN)


class Retry(Enum):
    """What a later try of a stage does; a task that somebody has cleared is one too."""

    ANEW = auto()  # reads nothing that the try before has left
    GO_ON = auto()  # opens the run again, which fences the try before, and goes on from its marks
    AFTER_COMMIT = auto()  # the same, and has work left when the refresh is committed
    NEVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    name: str  # of its task and its job
    doing: str  # to stand after `while`, where it fails
    ends: tuple[Ending, ...] = ()  # what may end the refresh when it is through
    retry: Retry = Retry.GO_ON
    spark: bool = True  # it starts Spark where a change is too big for its process


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame(_Stage):
    """Around a refresh whose stages are tasks: it works on no run and leaves no mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening(_Stage):
    """Makes the run that all others work on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once(_Stage):
    """Leaves one mark, of its name."""

    title: str  # what it does, in the list of steps


@dataclass(frozen=True, slots=True, kw_only=True)
class EachSource(_Stage):
    """Done for all sources in one task; leaves a mark for each."""

    title: str
    doing_one: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EachStratum(_Stage):
    """A task and a mark for each stratum, after those that it reads. It ends the refresh when all are through.

    A task that runs a strategy of several phases in Spark leaves one more mark before the last phase: a retry goes on
    from there.
    """

    title_one: str
    doing_one: str


Stage = Frame | Opening | Once | EachSource | EachStratum
Working = Once | EachSource | EachStratum  # on an open run

SESSION = Frame(name="session", doing="looking for Spark", retry=Retry.ANEW, spark=False)
OPEN = Opening(
    name="open", doing="looking up its sources and their newest versions", ends=(ON_HOLD, COMMITTED_BEFORE),
    retry=Retry.ANEW,
)  # fmt: skip
CAPTURE = EachSource(
    name="capture", title="Find what changed in the sources", doing="finding what changed in the sources",
    doing_one="finding what changed in source {}", ends=(NOTHING_MOVED,),
)  # fmt: skip
STRATA = EachStratum(
    name="stratum", title_one="Maintain {}", doing="maintaining the views",
    doing_one="maintaining the views of step {}", ends=(NOTHING_NEW,),
)  # fmt: skip
VERIFY = Once(name="verify", title="Recompute a sample from the sources", doing="recomputing a sample")
QUALITY = Once(name="quality", title="Check the expectations", doing="checking expectations", ends=(TRIAL,))
COMMIT = Once(name="commit", title="Publish all views at once", doing="publishing")
PUBLISH = Once(
    name="publish",
    title="Update exports, and announce the new rows",
    doing="updating exports",
    retry=Retry.AFTER_COMMIT,
    spark=False,
)
CLOSE = Frame(name="close", doing="closing its run", retry=Retry.NEVER, spark=False)

STAGES: tuple[Stage, ...] = (SESSION, OPEN, CAPTURE, STRATA, VERIFY, QUALITY, COMMIT, PUBLISH, CLOSE)
WORKING: tuple[Working, ...] = tuple(stage for stage in STAGES if isinstance(stage, Working))
TO_COMMIT = WORKING[: WORKING.index(COMMIT) + 1]  # the steps that lead to what readers see
EARLY = frozenset(end.status for stage in STAGES for end in stage.ends) - {Status.COMMITTED}


def named(name: str) -> Stage | None:
    """The stage of that name, or the one that leaves a mark of that name: `stratum-3` is one of the strata."""
    base = name.partition("-")[0]
    return next((stage for stage in STAGES if stage.name == base), None)


def marks_of(stage: Working, sources: Iterable[str], strata: Iterable[int]) -> tuple[str, ...]:
    """The marks that a stage leaves in a refresh of these sources and strata; all of them, once it is through."""
    match stage:
        case Once():
            return (stage.name,)
        case EachSource():
            return tuple(mark(stage, source) for source in sources)
        case EachStratum():
            return tuple(mark(stage, number) for number in strata)
        case _:
            assert_never(stage)


def mark(stage: EachSource | EachStratum, of: object) -> str:
    """The mark that a stage leaves for one source or stratum."""
    return f"{stage.name}-{of}"


def name_of(stage: Stage, stratum: int = 0) -> str:
    """A stage, or what it does for one stratum, as reports call it."""
    return mark(stage, stratum) if isinstance(stage, EachStratum) else stage.name


def endings_before(stage: Working) -> tuple[Ending, ...]:
    """What may have ended the refresh before its open run came to this stage."""
    return tuple(ending for earlier in WORKING[: WORKING.index(stage)] for ending in earlier.ends)
