"""What a refresh did to each source and view, for the picture: from the lines of its report."""

from __future__ import annotations

import re

from foreset.explain.picture import State as Did
from foreset.explain.picture import Tonight
from foreset.reports.model import Run, SourceLine, State, ViewLine

_VIEW = re.compile(r"[a-z][a-z0-9_]*")


def tonight(run: Run) -> dict[str, Tonight]:
    """What became of every source and view that the report names."""
    failed = failed_names(run)
    sources = {line.name: _source(line) for line in run.sources}
    quiet = run.state is State.UNCHANGED
    views = {line.name: Tonight(Did.SAME) if quiet else _view(line) for line in run.views}
    return {**sources, **views, **dict.fromkeys(failed, Tonight(Did.FAILED))}


def failed_names(run: Run) -> frozenset[str]:
    """The sources and views by which a refresh failed, as far as its phase, expectations and verification tell."""
    if run.state is not State.FAILED or run.failure is None:
        return frozenset()
    phase, _, rest = run.failure.phase.partition("-")
    match phase:
        case "capture":
            return frozenset({rest} & {line.name for line in run.sources})
        case "stratum" | "verify" if run.at_work:
            return frozenset(run.at_work)
        case "quality":
            broken = run.quality.broken if run.quality else ()
            return frozenset(one.view for one in broken if one.severity == "critical")
        case "verify":  # of records that do not name the views
            told = run.verification.mismatches if run.verification else ()
            names = {found[0] for one in told if (found := _VIEW.match(one))}
            return frozenset(names & {line.name for line in run.views})
        case _:
            return frozenset()


def _source(line: SourceLine) -> Tonight:
    if not line.way:
        return Tonight(Did.WAITING)
    if line.whole:
        return Tonight(Did.CHANGED, whole=True)
    return Tonight(Did.CHANGED if line.inserted or line.deleted else Did.SAME, line.inserted, line.deleted)


def _view(line: ViewLine) -> Tonight:
    if not line.done:
        return Tonight(Did.WAITING)
    return Tonight(Did.CHANGED if line.inserted or line.deleted else Did.SAME, line.inserted, line.deleted)
