"""What the work on one stratum noted: where the differentials of its views lie, how many rows, how and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreset.records.codec import LEFT_OUT

LAID = ".laid"  # how the names of folders end


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Rows that were staged: a folder of parquet files in the run directory, None for no rows."""

    path: str | None = None
    rows: int = 0

    @property
    def laid(self) -> bool:
        """Whether they lie as their table is to have them (store/laid.py): the name of the folder says it."""
        return self.path is not None and self.path.endswith(LAID)


@dataclass(frozen=True, slots=True)
class StagedView:
    """The differential of a view."""

    plus: StagedFile = StagedFile()
    minus: StagedFile = StagedFile()

    @property
    def changed(self) -> int:
        """Rows that came and went."""
        return self.plus.rows + self.minus.rows


@dataclass(frozen=True, slots=True)
class Asked:
    """What one function of a domain was asked, and how its answers came."""

    arguments: int
    fresh: int
    cached: int
    kept: int
    held: int
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What a strategy cost in an engine, so many refreshes ago."""

    strategy: str
    engine: str
    size: int
    seconds: float
    nights: int


@dataclass(frozen=True, slots=True)
class StratumSummary:
    """The work on a stratum, as the manifest keeps it."""

    number: int = 0
    views: tuple[str, ...] = ()
    changed: int = 0  # rows that came and went in what it reads
    strategy: str = ""
    reason: str = ""
    seconds: float = 0.0
    rounds: int = 0
    rows_read: Mapping[str, int] = field(default_factory=dict)
    instead_of: str | None = field(default=None, metadata=LEFT_OUT)
    engine: str | None = field(default=None, metadata=LEFT_OUT)
    engine_reason: str | None = field(default=None, metadata=LEFT_OUT)
    moved_from: str | None = field(default=None, metadata=LEFT_OUT)  # the engine in which it was begun
    below: int | None = field(default=None, metadata=LEFT_OUT)  # rows in all that it reads
    earlier: tuple[Seen, ...] | None = field(default=None, metadata=LEFT_OUT)  # ways that were not gone for long


@dataclass(frozen=True, slots=True)
class StratumRecord:
    """A stratum that is up to date, or that was found to need nothing."""

    strategy: str
    reason: str = ""
    seconds: float = 0.0
    views: Mapping[str, StagedView] = field(default_factory=dict)
    rows: int = 0  # that came and went, over all views
    rounds: int = 0
    counted: tuple[str, ...] = ()  # views whose derivation counters are kept
    counters: Mapping[str, StagedFile] | None = field(default=None, metadata=LEFT_OUT)  # how they change
    rows_read: Mapping[str, int] = field(default_factory=dict)
    forgotten: bool | None = field(default=None, metadata=LEFT_OUT)  # what was counted before is void
    engine: str = ""  # empty where nothing ran
    engine_reason: str = ""
    warnings: tuple[str, ...] | None = field(default=None, metadata=LEFT_OUT)
    asked: Mapping[str, Asked] | None = field(default=None, metadata=LEFT_OUT)  # by `domain:function`
    instead_of: str | None = field(default=None, metadata=LEFT_OUT)  # the strategy that turned out too much
    moved_from: str | None = field(default=None, metadata=LEFT_OUT)  # the engine that did

    @property
    def skipped(self) -> bool:
        """Whether no change reached it."""
        return self.strategy == "skip"

    def summary(
        self,
        number: int,
        views: tuple[str, ...],
        changed: int,
        below: int | None = None,
        earlier: tuple[Seen, ...] = (),
    ) -> StratumSummary:
        """What the manifest keeps of it."""
        return StratumSummary(
            number, views, changed, self.strategy, self.reason, self.seconds, self.rounds, self.rows_read,
            self.instead_of, self.engine, self.engine_reason, self.moved_from, below, earlier or None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChoiceRecord:
    """The strategy that whoever came first has chosen for a stratum."""

    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """One version of a relation, between two parts of a stratum."""

    relation: str
    version: str
    path: str | None
    rows: int

    @property
    def file(self) -> StagedFile:
        """Where its rows are."""
        return StagedFile(self.path, self.rows)


@dataclass(frozen=True, slots=True)
class Handover:
    """What the deletion part of a stratum hands over to its insertion part."""

    versions: tuple[StagedVersion, ...]
    counters: Mapping[str, StagedFile]
    rows_read: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DeletionRecord:
    """The deletion part of a stratum."""

    strategy: str
    reason: str
    part: str = "delete"
    seconds: float = 0.0
    rounds: int = 0
    rows: int = 0
    note: str | None = field(default=None, metadata=LEFT_OUT)  # why there was nothing to do
    given_up: str | None = field(default=None, metadata=LEFT_OUT)  # why the strategy turned out too much
    saved: Handover | None = field(default=None, metadata=LEFT_OUT)
    circles: int | None = field(default=None, metadata=LEFT_OUT)  # keys that lie on a circle of the data
