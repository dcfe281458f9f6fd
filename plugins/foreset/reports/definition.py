"""What a group's spec says, for its pages: as its newest refresh froze it, or as the file has it where none has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foreset.errors import ForesetError
from foreset.explain.graph import Graph, graph_of
from foreset.ir.program import Program
from foreset.orchestrate.specs import load_group
from foreset.reports import directory
from foreset.reports.model import History, Run, State
from foreset.spec.load import SUFFIXES, load_file
from foreset.store.layout import Layout

GOOD = (State.COMMITTED, State.UNCHANGED)
LOOKED_AT = 10  # directories: those of older refreshes may have been removed


@dataclass(frozen=True, slots=True)
class Definition:
    """A program as people wrote it, and the refresh that froze it; None for the file."""

    program: Program
    frozen: Run | None

    @property
    def graph(self) -> Graph:
        """Who reads whom."""
        return graph_of(self.program)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A group that reads a view of another one, and by which name."""

    group: str
    source: str


def definition(layout: Layout, history: History, specs: Path) -> Definition | None:
    """The spec by which readers see what they see; where nothing was ever published, that of the last attempt."""
    good = [run for run in history.runs if run.state in GOOD][:LOOKED_AT]
    for run in (*good, *(run for run in history.runs[:LOOKED_AT] if run.state not in GOOD)):
        found = directory.read(layout, run.run_id) if run.run_id else None
        if found is not None and found.written is not None:
            return Definition(found.written, run)
    group = load_group(specs, layout.group)
    return Definition(group.written, None) if group else None


def readers_elsewhere(specs: Path, group: str, view: str) -> Iterator[Elsewhere]:
    """The groups whose specs read `group.view`."""
    called = f"{group}.{view}"
    files = sorted(specs.iterdir()) if specs.is_dir() else ()
    for file in files:
        if file.suffix not in SUFFIXES or not _mentions(file, called):
            continue
        try:
            program = load_file(file).program
        except (ForesetError, OSError):  # another group's fault is not this one's
            continue
        if program is not None:
            yield from (Elsewhere(program.group, one.name) for one in program.sources if one.view == called)


def _mentions(file: Path, name: str) -> bool:
    try:
        return name in file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
