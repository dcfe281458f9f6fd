"""A run directory as a report reads it: whatever is there, of a run that may have stopped anywhere."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.plan.frozen import RefreshPlan
from foreset.records import versioned
from foreset.store import events, files
from foreset.store.layout import Layout, join
from foreset.understand import Understood, understand_text

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Directory:
    """What one run left behind."""

    run_id: str
    record: Facts  # run.json: the refresh before it, and the versions of the sources
    plan: RefreshPlan | None = None
    written: Program | None = None  # as people wrote it
    program: Program | None = None  # in normal form
    layering: Layering | None = None
    marks: Mapping[str, Facts] = field(default_factory=dict)
    events: Sequence[Facts] = ()

    @property
    def refresh_id(self) -> str:
        """The refresh that it belongs to; `~2` and so on are directories of the same one."""
        return str(self.record.get("refresh_id", self.run_id))

    @property
    def prev_seq(self) -> int:
        """The refresh that it started from."""
        return int(self.record.get("prev_seq", 0))

    def all(self, kind: str) -> list[Facts]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if event["kind"] == kind]

    def last(self, kind: str) -> Facts | None:
        """The newest event of one kind."""
        found = self.all(kind)
        return found[-1] if found else None


def read(layout: Layout, run_id: str) -> Directory | None:
    """The directory of that name; None when there is no such run."""
    try:
        folder = layout.run(run_id)
    except ValueError:  # no run can have this id
        return None
    record = files.read_once(join(folder, "run.json"))
    if record is None:
        return None
    plan, spec = _plan(folder)
    told = [event for event in events.read(folder) if isinstance(event.get("kind"), str)]
    return Directory(run_id, parsed(record), plan, spec.written, spec.program, spec.layering, _marks(folder), told)


def newest_of(layout: Layout, refresh_id: str) -> Directory | None:
    """The newest directory of a refresh: it starts over in `~2` when another one has committed in between."""
    found, generation = read(layout, refresh_id), 2
    while found is not None:
        later = read(layout, f"{refresh_id}~{generation}")
        if later is None:
            return found
        found, generation = later, generation + 1
    return None


def quality_facts(layout: Layout, found: Directory) -> Facts | None:
    """What the quality phase noted: its mark, or what it left behind when it failed."""
    return found.marks.get("quality") or parsed(files.read_text(join(layout.run(found.run_id), "quality.json")) or "")


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


def _marks(folder: str) -> dict[str, Facts]:
    marks = join(folder, "marks")
    names = [file.path for file in files.list_files(marks) if file.path.endswith(".json") and "/" not in file.path]
    found = {name.removesuffix(".json"): files.read_text(join(marks, name)) for name in names}
    return {name: parsed(text) for name, text in found.items() if text is not None}


def parsed(text: str) -> Facts:
    """A record; an empty one for anything else, such as a file that a crash has torn."""
    try:
        return versioned.from_text(text, "a record of this refresh")
    except ValueError:
        return {}
