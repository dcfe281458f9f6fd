"""What happens in a refresh, as it happens: for whoever listens, for the log of a task, and for `events.jsonl`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foreset.records.codec import LEFT_OUT, to_plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from foreset.records.checks import Verification


@dataclass(frozen=True, slots=True)
class StratumBegun:
    """A stratum is at work, by the strategy that was chosen."""

    stratum: int
    views: tuple[str, ...]  # those that users know
    strategy: str


@dataclass(frozen=True, slots=True)
class EngineChosen:
    """Where a stratum runs; told again where it moves."""

    engine: str
    reason: str
    stratum: int


@dataclass(frozen=True, slots=True)
class PhaseBegun:
    """A phase of a strategy begins."""

    phase: str
    stratum: int | None = field(default=None, metadata=LEFT_OUT)  # None where rows are recomputed to compare them


@dataclass(frozen=True, slots=True)
class PhaseDone:
    """A phase of a strategy is through."""

    phase: str
    overdeleted: int
    rederived: int
    stratum: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class RoundBegun:
    """A recursion takes one more round."""

    round: int
    rows: Mapping[str, int | None]  # relation -> rows that the round before has found, as far as they were counted
    stratum: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True)
class EntriesFound:
    """How many entries a view that is kept by constraints has so far."""

    stratum: int
    entries: int


@dataclass(frozen=True, slots=True)
class Warned:
    """What is published all the same, and should be known."""

    stratum: int
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A mark was left, with its record."""

    phase: str
    record: DataclassInstance


@dataclass(frozen=True, slots=True)
class NotVerified:
    """Recomputation gives other rows than those that were staged."""

    verification: Verification
    differing: tuple[str, ...]  # the views


@dataclass(frozen=True, slots=True)
class Failed:
    """A stage has failed."""

    phase: str
    error: str  # its class: SourceError, VerificationFailed ...
    next: str  # the command to run next
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Logged:
    """A line of `events.jsonl` as reports read it: of any kind, and perhaps of another release."""

    kind: str
    at: str = ""
    phase: str = ""
    epoch: int | None = None  # of `opened`
    outcome: str = ""  # of `closed`
    error: str = ""  # of `failed`, as the next three
    message: str = ""
    hint: str = ""
    next: str = ""
    differing: tuple[str, ...] = ()  # of `verification`


OfMachine = PhaseBegun | PhaseDone | RoundBegun
OfStratum = OfMachine | StratumBegun | EngineChosen
Event = OfStratum | EntriesFound | Warned | Finished | NotVerified | Failed
Listener = Callable[[Event], None]
KINDS: Mapping[type[Event], str] = {
    StratumBegun: "stratum", EngineChosen: "engine", PhaseBegun: "phase", PhaseDone: "work", RoundBegun: "round",
    EntriesFound: "entries", Warned: "warning", Finished: "finished", NotVerified: "verification", Failed: "failed",
}  # fmt: skip


def facts_of(event: Event) -> dict[str, Any]:
    """What an event says, as JSON holds it."""
    match event:
        case Finished(phase, record):
            return {"phase": phase, **to_plain(record)}
        case NotVerified(verification, differing):
            return {**to_plain(verification), "differing": list(differing)}
        case _:
            return to_plain(event)


def told(event: Event) -> dict[str, Any]:
    """An event with its kind, as `listen` of `wh.refresh` gets it."""
    return {"event": KINDS[type(event)], **facts_of(event)}
