"""What a stratum cost before, from the manifest's own record.

Each refresh is a point for the way that the stratum went: how much changed (of a recompute: how much it read), and how
long it took. A line goes through the points of a way. The newer ones weigh more; those that left the window are carried
along by the newest record, so that a way which was dear once is not forgotten, only believed less and less.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from foreset.plan.cost import DUCKDB, Cost, Line
from foreset.records.strata import Seen, StratumSummary

REMEMBERED = 20  # refreshes whose records are read
CARRIED = REMEMBERED // 2  # after so many nights without a way, the newest record tells of it
NEARLY = 2  # times another size: about the same
FADING = 0.85  # what the point of a night weighs beside that of the next one
LEAST_S = 0.02  # what takes less is noise
UNDONE = 2  # times the seconds of what was done instead: so long would it have taken, say

NO_WAYS = ("skip", "ask", "give", "constrain")  # where nothing is chosen

Records = Sequence[StratumSummary]
Views = tuple[str, ...]
Way = tuple[str, str]  # a strategy and an engine


@dataclass(frozen=True, slots=True)
class _Point:
    size: int
    seconds: float
    nights: int


@dataclass(frozen=True, slots=True)
class Past:
    """What all strata of a group cost before."""

    points: Mapping[Views, Mapping[Way, Sequence[_Point]]]
    others: Mapping[tuple[bool, str], Line]

    @classmethod
    def of(cls, history: Iterable[Records]) -> Past:
        """By the records of refreshes, oldest first."""
        points = _points(list(history)[-REMEMBERED:])
        return cls(points, _of_all(points))

    def cost(self, views: Sequence[str], rows: int = 0) -> Cost:
        """Costs of the stratum with these views, which reads so many rows now."""
        mine = self.points.get(tuple(views), {})
        lines = {way: _recomputed(found, rows) if _builds(way) else line_through(found) for way, found in mine.items()}
        return Cost(lines, self.others)

    def carried(self, views: Sequence[str]) -> tuple[Seen, ...]:
        """Of each way the newest point, the smallest and the largest, for the record of the refresh that comes after.

        Those that the next refreshes can read for themselves are left out.
        """
        return tuple(
            Seen(*way, point.size, point.seconds, point.nights + 1)
            for way, points in sorted(self.points.get(tuple(views), {}).items())
            for point in _marking(points)
            if point.nights + 1 >= CARRIED
        )


def _builds(way: Way) -> bool:
    return way[0] == "recompute"


def _marking(points: Sequence[_Point]) -> Iterable[_Point]:
    """The newest point, and the newest ones of about the smallest and the largest size."""
    newest = sorted(points, key=lambda point: point.nights)
    least, most = min(point.size for point in points), max(point.size for point in points)
    small = next(point for point in newest if point.size <= NEARLY * least)
    large = next(point for point in newest if NEARLY * point.size >= most)
    return dict.fromkeys((newest[0], small, large))


def _points(past: Sequence[Records]) -> dict[Views, dict[Way, list[_Point]]]:
    found: dict[Views, dict[Way, list[_Point]]] = {}
    for nights, records in enumerate(reversed(past)):
        for record in records:
            newest, mine = record.views not in found, found.setdefault(record.views, {})
            for way, size, seconds in _said_by(record):
                mine.setdefault(way, []).append(_Point(size, seconds, nights))
            for seen in (record.earlier or ()) if newest else ():
                if nights + seen.nights >= len(past):  # what is younger has a record of its own
                    point = _Point(seen.size, seen.seconds, nights + seen.nights)
                    mine.setdefault((seen.strategy, seen.engine), []).append(point)
    return found


def _said_by(record: StratumSummary) -> Iterable[tuple[Way, int, float]]:
    """The ways that a record tells of: the one that was gone, and those that turned out too much."""
    engine, building = record.engine or DUCKDB, record.strategy == "recompute"
    if building:
        yield (record.strategy, engine), record.below or 0, record.seconds
    elif record.changed and record.strategy not in NO_WAYS:
        yield (record.strategy, engine), record.changed, record.seconds
    if record.instead_of and record.changed:
        yield (record.instead_of, engine), record.changed, UNDONE * record.seconds
    if record.moved_from:
        size = (record.below or 0) if building else record.changed
        yield (record.strategy, record.moved_from), size, UNDONE * record.seconds


def _recomputed(points: Sequence[_Point], rows: int) -> Line:
    """What it would take now: it goes with the rows that are read."""
    now = [_Point(0, point.seconds * _ratio(rows, point.size), point.nights) for point in points]
    line = line_through(now)
    return Line(line.fixed, 0.0, 0, sys.maxsize, line.nights)


def _ratio(rows: int, before: int) -> float:
    return min(max(rows / before, 0.1), 10.0) if rows and before else 1.0


def line_through(points: Sequence[_Point]) -> Line:
    """The line of least squares, which never falls: by shares of the seconds, since a tenth of a second matters where
    a change takes one, and newer points weigh more."""
    weights = [FADING**point.nights / max(point.seconds, LEAST_S) ** 2 for point in points]
    total = sum(weights)
    sizes, seconds = [point.size for point in points], [point.seconds for point in points]
    middle = sum(w * size for w, size in zip(weights, sizes, strict=True)) / total
    mean = sum(w * took for w, took in zip(weights, seconds, strict=True)) / total
    spread = sum(w * (size - middle) ** 2 for w, size in zip(weights, sizes, strict=True))
    shared = sum(w * (s - middle) * (t - mean) for w, s, t in zip(weights, sizes, seconds, strict=True))
    slope = max(shared / spread, 0.0) if spread else 0.0
    nights = min(point.nights for point in points)
    if slope * middle > mean:  # it would cost less than nothing to begin: then all of it is for the rows
        squares = sum(w * size * size for w, size in zip(weights, sizes, strict=True))
        slope = sum(w * s * t for w, s, t in zip(weights, sizes, seconds, strict=True)) / squares
        return Line(0.0, slope, min(sizes), max(sizes), nights)
    return Line(mean - slope * middle, slope, min(sizes), max(sizes), nights)


def _of_all(points: Mapping[Views, Mapping[Way, Sequence[_Point]]]) -> dict[tuple[bool, str], Line]:
    """Lines through what all strata cost: for a stratum that was never tried in an engine in which others were."""
    found: dict[tuple[bool, str], list[_Point]] = {}
    for ways in points.values():
        for way, some in ways.items():
            found.setdefault((_builds(way), way[1]), []).extend(point for point in some if point.size)
    return {kind: line_through(some) for kind, some in found.items() if some}
