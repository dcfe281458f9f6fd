"""What every phase of a refresh needs, and the marks that finished phases leave behind."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from foreset.errors import SpecError
from foreset.ir.edits import Edit
from foreset.ir.program import Program, Source, View
from foreset.ir.strata import Layering
from foreset.plan.fingerprint import fingerprints
from foreset.plan.frozen import RefreshPlan
from foreset.plan.history import Past
from foreset.plan.marks import Mark
from foreset.records import codec
from foreset.records.events import Finished, Listener
from foreset.records.strata import StratumSummary
from foreset.rewrite.pipeline import as_written
from foreset.store import files
from foreset.store.delta import Opened
from foreset.store.epochs import Run, heartbeat
from foreset.store.layout import Layout, is_local, join
from foreset.store.memory import Memory, memory_now
from foreset.store.rows import ManifestRow
from foreset.understand import Sound, understand_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pyspark.sql import SparkSession

    from foreset.backends.duckdb.sharing import Shared

R = TypeVar("R", bound="DataclassInstance")
BEAT_S = 5.0  # a rival waits for minutes


@dataclass(slots=True)
class Context:
    """An open run with its frozen plan, a session, and the refresh before it."""

    spark: SparkSession
    run: Run
    plan: RefreshPlan
    program: Program  # in normal form
    layering: Layering
    previous: ManifestRow | None
    listen: Listener = field(default=lambda _: None)
    history: Sequence[Sequence[StratumSummary]] = ()  # what strata cost in earlier refreshes
    opened: Opened = field(default_factory=Opened)  # tables of others and of the refresh before, as pinned
    memory: Memory = field(default_factory=memory_now)  # as it was when this process began with the run
    shared: Shared | None = None  # looks that strata share, while they are at work in one process
    _beaten: float = field(default_factory=time.monotonic)  # `open` has said that the run is alive
    _past: Past | None = None
    _marks: dict[str, Any] = field(default_factory=dict)  # the records of those that were read: no mark changes

    @property
    def layout(self) -> Layout:
        """Paths of the group."""
        return self.run.layout

    @property
    def past(self) -> Past:
        """What earlier refreshes cost."""
        if self._past is None:
            self._past = Past.of(self.history)
        return self._past

    @property
    def spill(self) -> str | None:
        """Where DuckDB may put what does not fit into memory."""
        return self.path("spill") if is_local(self.layout.root) else None

    def path(self, *parts: str) -> str:
        """A path in the run directory."""
        return join(self.run.directory, *parts)

    def _place(self, mark: str) -> str:
        return self.path("marks", f"{mark}.json")

    def mark(self, mark: Mark[R]) -> R | None:
        """What a finished phase noted; None while it is not finished."""
        if mark.name not in self._marks:
            text = files.read_text(self._place(mark.name))
            if text is None:
                return None
            self._marks[mark.name] = codec.from_text(mark.kind, text, f"the mark of `{mark.name}`")
        found: R = self._marks[mark.name]
        return found

    def finished(self, name: str) -> bool:
        """Whether the mark of that name is there."""
        return name in self._marks or files.read_text(self._place(name)) is not None

    def finish(self, mark: Mark[R], record: R) -> R:
        """Note that a phase is finished; the last act of each phase."""
        files.write_text(self._place(mark.name), codec.to_text(record))
        if time.monotonic() > self._beaten + BEAT_S:
            self._beaten = time.monotonic()
            heartbeat(self.run)
        self.listen(Finished(mark.name, record))
        return record

    def settle(self, mark: Mark[R], record: R) -> R:
        """Note a decision that is made once; returns what the first to decide has noted."""
        files.write_once(self._place(mark.name), codec.to_text(record))
        settled = self.settled(mark)
        assert settled is not None
        return settled

    def settled(self, mark: Mark[R]) -> R | None:
        """What `settle` noted; None before."""
        text = files.read_once(self._place(mark.name))
        return None if text is None else codec.from_text(mark.kind, text, f"the mark of `{mark.name}`")

    def judge(self) -> tuple[Program, Layering]:
        """What rows are held to: the rules as written."""
        return read_as_written(self.plan.spec_text, self.plan.spec_file, self.plan.suites, self.plan.edits)

    def source(self, name: str) -> Source:
        """The source of that name."""
        return next(source for source in self.program.sources if source.name == name)

    def view(self, name: str) -> View:
        """The view of that name."""
        return next(view for view in self.program.views if view.name == name)

    def users_of(self, source: str) -> tuple[str, ...]:
        """The views that read a source, for messages."""
        return tuple(name for s in self.layering.strata if source in s.reads for name in s.names)


def understood(plan: RefreshPlan) -> tuple[Program, Layering]:
    """The program of a frozen plan; it was sound when the plan was made."""
    return read_spec(plan.spec_text, plan.spec_file, plan.suites, plan.edits)


def read_spec(
    text: str,
    file: str,
    suites: Mapping[str, str] | None = None,
    edits: Iterable[Edit] = (),
    shapes: Iterable[Edit] = (),
) -> tuple[Program, Layering]:
    """A spec's program in normal form with its strata, and with its edits; raises `SpecError` with all faults.

    `shapes`: edits whose relations are there too, without their rows.
    """
    found = _sound(text, file, tuple((suites or {}).items()), tuple(edits), tuple(shapes))
    return found.program, found.layering


def read_fingerprints(text: str, file: str, suites: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The fingerprints of a spec's views, as they are without edits."""
    return _fingerprints(text, file, tuple((suites or {}).items()))


@functools.lru_cache(maxsize=16)
def _fingerprints(text: str, file: str, suites: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    found = _sound(text, file, suites, (), ())
    return fingerprints(found.program, found.layering)


def read_as_written(
    text: str, file: str, suites: Mapping[str, str] | None = None, edits: Iterable[Edit] = ()
) -> tuple[Program, Layering]:
    """What the rows of a spec are held to: its rules as they are written, before sets are rewritten."""
    return _as_written(text, file, tuple((suites or {}).items()), tuple(edits))


@functools.lru_cache(maxsize=16)
def _as_written(
    text: str, file: str, suites: tuple[tuple[str, str], ...], edits: tuple[Edit, ...]
) -> tuple[Program, Layering]:
    found = _sound(text, file, suites, edits, ())
    return as_written(found.written, found.program)


@functools.lru_cache(maxsize=16)  # a refresh asks several times, and whoever refreshes again mostly by the same spec
def _sound(
    text: str, file: str, suites: tuple[tuple[str, str], ...], edits: tuple[Edit, ...], shapes: tuple[Edit, ...]
) -> Sound:
    found = understand_text(text, file, dict(suites), edits, shapes)
    if found.sound is None:
        raise SpecError(found.errors)
    return found.sound


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Rounded to milliseconds."""
        return round(time.monotonic() - self._start, 3)
