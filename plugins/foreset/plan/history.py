"""What a stratum cost before, from the manifest's own record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foreset.plan.choose import Cost, Line
from foreset.records.strata import StratumSummary

REMEMBERED = 20  # refreshes that still say something about the next one


def cost_of(views: Sequence[str], history: Iterable[Sequence[StratumSummary]]) -> Cost:
    """Costs of the stratum with these views; `history` has the records of each refresh, oldest first."""
    mine = [record for records in list(history)[-REMEMBERED:] for record in records if record.views == tuple(views)]
    recomputed = [record.seconds for record in mine if record.strategy == "recompute"]
    points: dict[str, list[tuple[int, float]]] = {}
    for record in mine:
        if not record.changed:
            continue
        if record.instead_of:  # it would have taken longer than the recompute: twice, say
            points.setdefault(record.instead_of, []).append((record.changed, 2 * record.seconds))
        elif record.strategy not in ("recompute", "skip"):
            points.setdefault(record.strategy, []).append((record.changed, record.seconds))
    lines = {strategy: line_through(found) for strategy, found in points.items()}
    return Cost(lines, recomputed[-1] if recomputed else None)


def line_through(points: Sequence[tuple[int, float]]) -> Line:
    """The line of least squares; large changes weigh most in its slope, as they should, and it never falls."""
    sizes, seconds = [size for size, _ in points], [took for _, took in points]
    middle, mean = sum(sizes) / len(sizes), sum(seconds) / len(seconds)
    spread = sum((size - middle) ** 2 for size in sizes)
    slope = sum((size - middle) * (took - mean) for size, took in points) / spread if spread else 0.0
    slope = max(slope, 0.0)
    if slope * middle > mean:  # it would cost less than nothing to begin: then all of it is for the rows
        slope = sum(size * took for size, took in points) / sum(size * size for size in sizes)
        return Line(0.0, slope, max(sizes))
    return Line(mean - slope * middle, slope, max(sizes))
