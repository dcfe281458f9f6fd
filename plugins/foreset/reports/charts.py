"""Small charts of refreshes over time as plain geometry; the template draws them as inline SVG.

Oldest at the left, one place for each refresh, with dates below and round numbers at the side. Only what was
published is drawn as rows: a refresh that failed has a mark. Every number also stands in the table below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from foreset.reports import words
from foreset.reports.headline import headline
from foreset.reports.model import Run, State, ViewLine

WIDE, LEAST, MOST = 840.0, 13.0, 34.0  # of all places together, and of the place for one refresh
SIDE, BELOW, ABOVE = 62.0, 20.0, 7.0  # for numbers, for dates, and for half of the highest number
HALF, TALL = 52.0, 84.0  # height of each half of the chart of changes, and of the others
APART, LABEL = 58.0, 14.0  # two dates, two numbers
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 36000, 72000, 144000)


@dataclass(frozen=True, slots=True)
class Night:
    """A refresh with the numbers to draw, of the whole group or of one view."""

    run: Run
    plus: int
    minus: int
    seconds: float
    rows: int | None = None  # afterwards

    @property
    def published(self) -> bool:
        """Whether readers ever saw it."""
        return self.run.state is State.COMMITTED

    @property
    def lost(self) -> bool:
        """Whether it failed."""
        return self.run.state in (State.FAILED, State.SILENT)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar."""

    y: float
    height: float
    kind: str


@dataclass(frozen=True, slots=True)
class Place:
    """One refresh: where it stands, its bars, its sign, and what it says when pointed at."""

    x: float
    width: float
    title: str
    bars: Sequence[Bar] = ()
    sign: str = ""  # good | caution | bad | wait | past; empty for none

    @property
    def middle(self) -> float:
        """Where the sign stands."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Tick:
    """A number at the side, or a date below."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of `width` and `height` whose zero line is at `base`."""

    width: float
    height: float
    base: float
    places: Sequence[Place]
    scale: Sequence[Tick]
    dates: Sequence[Tick]


@dataclass(frozen=True, slots=True)
class Frame:
    """What a chart has whatever it draws."""

    height: float
    base: float
    scale: Sequence[Tick]


Draw = Callable[[Night], Sequence[Bar]]


def nights(runs: Sequence[Run]) -> list[Night]:
    """The refreshes of a group, given newest first, with what they did to all views."""
    return [Night(run, run.inserted, run.deleted, run.seconds) for run in reversed(runs)]


def nights_of(lines: Sequence[tuple[Run, ViewLine]]) -> list[Night]:
    """The refreshes of one view, given newest first."""
    return [
        Night(run, line.inserted, line.deleted, line.seconds or 0.0, line.rows if line.done else None)
        for run, line in reversed(lines)
    ]


def changes(found: Sequence[Night]) -> Chart:
    """Rows that came (up) and went (down), on a logarithmic scale: a first load must not hide a night."""
    shown = [night for night in found if night.published]
    top = _power(max([9, *(max(night.plus, night.minus) for night in shown)]))

    def high(count: int) -> float:
        return math.log1p(count) / math.log1p(top) * HALF

    base = ABOVE + HALF

    def draw(night: Night) -> tuple[Bar, ...]:
        up, down = high(night.plus), high(night.minus)
        return (Bar(base - up, up, "plus"), Bar(base, down, "minus")) if night.published else ()

    def say(night: Night) -> str:
        return words.both(night.plus, night.minus)

    marks = [mark for mark in _powers(top) if high(mark) >= LABEL]
    scale = (
        *(Tick(base - high(mark), f"+{words.short(mark)}") for mark in reversed(marks)),
        Tick(base, "0"),
        *(Tick(base + high(mark), f"−{words.short(mark)}") for mark in marks),
    )
    return _chart(found, Frame(base + HALF + ABOVE, base, scale), draw, say)


def seconds(found: Sequence[Night]) -> Chart:
    """Time at work; that of a refresh that failed is drawn hollow."""
    step, top = _round_time(max([0.05, *(night.seconds for night in found)]))
    base = ABOVE + TALL
    count = round(top / step)
    ticks = ((TALL * i / count, words.round_time(step * i) if i else "0") for i in range(count, -1, -1))
    frame = Frame(base + ABOVE, base, tuple(Tick(base - high, label) for high, label in ticks))

    def draw(night: Night) -> tuple[Bar, ...]:
        high = night.seconds / top * TALL
        return (Bar(base - high, high, "lost" if night.lost else "time"),) if night.seconds else ()

    return _chart(found, frame, draw, lambda night: words.duration(night.seconds))


def rows(found: Sequence[Night]) -> Chart:
    """Rows in a view after each refresh."""
    step, top = _round_count(max([1, *(night.rows or 0 for night in found if night.published)]))
    base = ABOVE + TALL
    count = top // step
    ticks = ((TALL * i / count, words.short(step * i)) for i in range(count, -1, -1))
    frame = Frame(base + ABOVE, base, tuple(Tick(base - high, label) for high, label in ticks))

    def draw(night: Night) -> tuple[Bar, ...]:
        high = (night.rows or 0) / top * TALL
        return (Bar(base - high, high, "rows"),) if night.published else ()

    return _chart(found, frame, draw, lambda night: words.counted(night.rows or 0, "row"))


def outcomes(found: Sequence[Night]) -> Chart:
    """A sign for each refresh: its shape says the outcome, its colour repeats it."""
    places = [
        Place(x, wide, f"{name(night.run)}: {outcome(night.run)}", sign=sign(night.run))
        for x, wide, night in _at(found)
    ]
    return Chart(_width(found), 16.0, 16.0, places, (), ())


def name(run: Run) -> str:
    """A refresh in the words of the table."""
    return f"refresh {run.seq}, {words.moment(run.when)}" if run.seq is not None else f"run of {words.moment(run.when)}"


def outcome(run: Run) -> str:
    """How a refresh ended, in two words."""
    if run.rolled_back_to is not None:
        return "rolled back"
    if run.state == "committed" and run.quality and run.quality.broken:
        return f"published, {words.counted(len(run.quality.broken), 'warning')}"
    return {
        "committed": "published",
        "unchanged": "nothing new",
        "dry-run": "dry run",
        "failed": "failed",
        "fenced": "another came first",
        "running": "running",
        "silent": "no sign of life",
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


# ---------------------------------------------------------------- places and dates
def _chart(found: Sequence[Night], frame: Frame, draw: Draw, say: Callable[[Night], str]) -> Chart:
    places = []
    for x, wide, night in _at(found):
        bars = draw(night)
        said = say(night) if bars or night.published else "nothing was published"
        title = f"{name(night.run)}: {outcome(night.run)}, {said}"
        places.append(Place(x, wide, title, bars, "bad" if night.lost else ""))
    return Chart(_width(found), frame.height + BELOW, frame.base, places, frame.scale, tuple(_dates(found)))


def _at(found: Sequence[Night]) -> list[tuple[float, float, Night]]:
    """Each refresh with the left edge and the width of its bar."""
    slot = _slot(found)
    return [(SIDE + slot * (i + 0.18), slot * 0.64, night) for i, night in enumerate(found)]


def _slot(found: Sequence[Night]) -> float:
    return min(MOST, max(LEAST, WIDE / max(1, len(found))))


def _width(found: Sequence[Night]) -> float:
    return SIDE + max(APART, len(found) * _slot(found)) + 24


def _dates(found: Sequence[Night]) -> Iterator[Tick]:
    """A date wherever there is room; the time instead where the day is the one before, the year where it is another."""
    last, free = None, 0.0
    for x, wide, night in _at(found):
        when = night.run.when
        if when is None or x + wide / 2 < free:
            continue
        if last is None or last.year != when.year:
            label = f"{when.day} {when:%b %Y}"
        else:
            label = f"{when.day} {when:%b}" if last.date() != when.date() else f"{when:%H:%M}"
        yield Tick(x + wide / 2, label)
        free = x + wide / 2 + (APART if len(label) < 9 else APART * 1.3)
        last = when


# ---------------------------------------------------------------- round numbers
def _power(most: int) -> int:
    """The power of ten at or above `most`."""
    power = 10
    while power < most:
        power *= 10
    return power


def _powers(top: int) -> Iterator[int]:
    """At most three powers of ten up to `top`, evenly apart."""
    digits = len(str(top)) - 1
    step = math.ceil(digits / 3)
    yield from (10**n for n in range(digits - step * ((digits - 1) // step), digits + 1, step))


def _round_time(most: float) -> tuple[float, float]:
    """A step that people count time in, and the multiple of it at or above `most`: at most three of them."""
    step = next((step for step in STEPS_S if most <= step * 3), math.ceil(most / 3))
    return step, step * math.ceil(most / step)


def _round_count(most: int) -> tuple[int, int]:
    """The same for counts."""
    power = 1
    while most > 30 * power:
        power *= 10
    step = next((power * n for n in (1, 2, 5, 10) if most <= 3 * power * n), power * 10)
    return step, step * math.ceil(most / step)
