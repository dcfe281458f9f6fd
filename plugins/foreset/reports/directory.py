"""A run directory as a report reads it: whatever is there, of a run that may have stopped anywhere."""

from __future__ import annotations

import datetime
import functools
from collections.abc import KeysView, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.plan.frozen import RefreshPlan
from foreset.plan.marks import QUALITY, VERIFY, Mark
from foreset.records import versioned
from foreset.records.checks import QualityRecord, Verification
from foreset.records.codec import Misread, from_plain
from foreset.records.events import KINDS, Logged, NotVerified
from foreset.store import events, files
from foreset.store.epochs import RunRecord, read_record
from foreset.store.layout import Layout, join
from foreset.understand import Understood, understand_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Directory:
    """What one run left behind."""

    run_id: str
    record: RunRecord  # the refresh before it, and the versions of the sources
    plan: RefreshPlan | None = None
    written: Program | None = None  # as people wrote it
    program: Program | None = None  # in normal form
    layering: Layering | None = None
    events: Sequence[Logged] = ()
    not_verified: Verification | None = None  # what recomputation said where it said no
    _marks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def refresh_id(self) -> str:
        """The refresh that it belongs to; `~2` and so on are directories of the same one."""
        return self.record.refresh_id

    @property
    def prev_seq(self) -> int:
        """The refresh that it started from."""
        return self.record.prev_seq

    def mark(self, mark: Mark[R]) -> R | None:
        """What a finished stage noted; None while it is not finished, and where a crash has torn the note."""
        facts = self._marks.get(mark.name)
        return _told(mark.kind, facts) if facts else None

    @property
    def finished(self) -> KeysView[str]:
        """The marks that are there."""
        return self._marks.keys()

    @property
    def verification(self) -> Verification | None:
        """What recomputation said: the mark, or the event of one that failed."""
        return self.mark(VERIFY) or self.not_verified

    @property
    def warnings(self) -> tuple[str, ...]:
        """What strata warned of."""
        return tuple(str(one) for facts in self._marks.values() for one in facts.get("warnings", ()))

    @property
    def seconds(self) -> dict[str, float | None]:
        """How long each finished stage took, by its mark."""
        return {name: facts.get("seconds") for name, facts in self._marks.items()}

    def all(self, kind: str) -> list[Logged]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if event.kind == kind]

    def last(self, kind: str) -> Logged | None:
        """The newest event of one kind."""
        found = self.all(kind)
        return found[-1] if found else None


def read(layout: Layout, run_id: str) -> Directory | None:
    """The directory of that name; None when there is no such run."""
    try:
        folder = layout.run(run_id)
    except ValueError:  # no run can have this id
        return None
    if (record := _record(layout, run_id)) is None:
        return None
    plan, spec = _plan(folder)
    told = events.read(folder)
    logged = [event for one in told if (event := _told(Logged, one)) is not None]
    refused = [one for one in told if one.get("kind") == KINDS[NotVerified]]
    return Directory(
        run_id, record, plan, spec.written, spec.program, spec.layering, logged,
        _told(Verification, refused[-1]) if refused else None, _marks(folder),
    )  # fmt: skip


def newest_of(layout: Layout, refresh_id: str) -> Directory | None:
    """The newest directory of a refresh: it starts over in `~2` when another one has committed in between."""
    found, generation = read(layout, refresh_id), 2
    while found is not None:
        later = read(layout, f"{refresh_id}~{generation}")
        if later is None:
            return found
        found, generation = later, generation + 1
    return None


def quality_of(layout: Layout, found: Directory) -> QualityRecord | None:
    """What the quality phase noted: its mark, or what it left behind when it failed."""
    left = _parsed(files.read_text(join(layout.run(found.run_id), "quality.json")) or "")
    return found.mark(QUALITY) or (_told(QualityRecord, left) if left else None)


def moment(text: object) -> datetime.datetime | None:
    """A time as events and the manifest write it; None for anything else."""
    try:
        found = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found.astimezone(datetime.UTC) if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _plan(folder: str) -> tuple[RefreshPlan | None, Understood]:
    text = files.read_once(join(folder, "plan.json"))
    if text is None:
        return None, NOTHING
    plan = RefreshPlan.from_json(text)
    return plan, _understood(plan.spec_text, plan.spec_file, tuple(plan.suites.items()))


NOTHING = Understood("", "", "", ())


@functools.lru_cache(maxsize=64)  # nights share a spec
def _understood(text: str, file: str, suites: tuple[tuple[str, str], ...]) -> Understood:
    found = understand_text(text, file, dict(suites))
    return NOTHING if found.errors else found  # an old plan in words that are not understood any more


def _marks(folder: str) -> dict[str, dict[str, Any]]:
    marks = join(folder, "marks")
    names = [file.path for file in files.list_files(marks) if file.path.endswith(".json") and "/" not in file.path]
    found = {name.removesuffix(".json"): files.read_text(join(marks, name)) for name in names}
    return {name: _parsed(text) for name, text in found.items() if text is not None}


def _record(layout: Layout, run_id: str) -> RunRecord | None:
    try:
        return read_record(layout, run_id)
    except ValueError:  # torn by a crash
        return RunRecord(run_id, layout.group, 0, {})


def _told(kind: type[R], facts: Mapping[str, object]) -> R | None:
    """A record of another release may lack or add things; None for what is damaged."""
    with suppress(Misread):
        return from_plain(kind, facts, "a record of this refresh")
    return None


def _parsed(text: str) -> dict[str, Any]:
    """A record; an empty one for anything else, such as a file that a crash has torn."""
    try:
        return versioned.from_text(text, "a record of this refresh")
    except ValueError:
        return {}
