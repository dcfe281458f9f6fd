"""Small charts of a group's history as plain geometry; the template draws them as inline SVG.

Every number in a chart also stands in the table below it, so the charts are decoration to a
screen reader and to nobody else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from foreset.reports import words
from foreset.reports.headline import headline
from foreset.reports.model import Run

WIDE, LEAST, MOST = 900.0, 13.0, 34.0  # of the drawing, and of the place for one refresh
HALF = 46.0  # height of each half of the chart of changes
TALL = 60.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: where it stands, and what it says when pointed at."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars over time, oldest at the left."""

    width: float
    height: float
    base: float  # y of the zero line
    bars: Sequence[Bar]
    top: str  # what the full height stands for
    bottom: str = ""


def changes(runs: Sequence[Run]) -> Chart:
    """Rows that came (up) and went (down), on a logarithmic scale: a first load must not hide a night."""
    most = max([1, *(max(run.inserted, run.deleted) for run in runs)])
    bars = []
    for x, w, run in _placed(runs):
        came, went = (_log(count, most) * HALF for count in (run.inserted, run.deleted))
        title = f"{name(run)}: {words.signed(run.inserted, '+')} and {words.signed(run.deleted, '−')} rows"
        bars += [Bar(x, HALF - came, w, came, "plus", title), Bar(x, HALF, w, went, "minus", title)]
    return Chart(_width(runs), 2 * HALF, HALF, bars, f"+{words.number(most)}", f"−{words.number(most)}")


def seconds(runs: Sequence[Run]) -> Chart:
    """Time at work."""
    most = max([0.1, *(run.seconds for run in runs)])
    bars = [
        Bar(x, TALL - height, w, height, "time", f"{name(run)}: {words.duration(run.seconds)}")
        for x, w, run in _placed(runs)
        for height in (run.seconds / most * TALL,)
    ]
    return Chart(_width(runs), TALL, TALL, bars, words.duration(most))


def outcomes(runs: Sequence[Run]) -> Chart:
    """A sign for each refresh: its shape says the outcome, its colour repeats it."""
    bars = [Bar(x, 0, w, 0, sign(run), f"{name(run)}: {outcome(run)}") for x, w, run in _placed(runs)]
    return Chart(_width(runs), 16.0, 16.0, bars, "")


def name(run: Run) -> str:
    """A refresh in the words of the table."""
    return f"refresh {run.seq}" if run.seq is not None else f"run of {words.moment(run.when)}"


def outcome(run: Run) -> str:
    """How a refresh ended, in two words."""
    if run.rolled_back_to is not None:
        return "rolled back"
    if run.state == "committed" and run.quality and run.quality.broken:
        return f"published, {words.counted(len(run.quality.broken), 'warning')}"
    return {
        "committed": "published",
        "unchanged": "nothing new",
        "dry-run": "tried out",
        "failed": "failed",
        "fenced": "gave way",
        "running": "at work",
        "silent": "stopped silently",
        "not opened": "not begun",
    }[run.state]


def sign(run: Run) -> str:
    """The tone of a refresh by itself, whatever came after it."""
    if run.state in ("committed", "unchanged"):
        warned = bool(run.quality and run.quality.broken) or run.rolled_back_to is not None
        return "caution" if warned or run.unverified else "good"
    if run.state in ("failed", "silent"):
        return "bad"
    return "wait" if run.state == "running" else headline(run).tone


def _placed(runs: Sequence[Run]) -> list[tuple[float, float, Run]]:
    """Each refresh with the left edge and the width of its bar."""
    slot = _slot(runs)
    return [(slot * (i + 0.18), slot * 0.64, run) for i, run in enumerate(runs)]


def _slot(runs: Sequence[Run]) -> float:
    return min(MOST, max(LEAST, WIDE / max(1, len(runs))))


def _width(runs: Sequence[Run]) -> float:
    return max(1, len(runs)) * _slot(runs)


def _log(count: int, most: int) -> float:
    return math.log1p(count) / math.log1p(most)
