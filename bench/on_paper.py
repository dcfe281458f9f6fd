"""What measured runs come to at another scale on other machines: a straight line through CPU seconds, and a division.

Both sides are carried alike: CPU seconds of all their processes, as a fixed part and a part for each scale factor,
fitted through the scales that were measured; then divided by the cores and by how well those are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.carried import Line, Side
from bench.core import FIRST

SCALE, CORES, USED = 1000.0, 100, 0.6  # TPC-H of 1 TB; the share of a cluster's cores that a stage keeps busy
ALONE = ("verify", "commit", "open", "publish")  # phases of one process, whatever the cluster has


@dataclass(frozen=True, slots=True)
class Trend:
    """What something comes to: `fixed` and `each` for a scale factor."""

    fixed: float
    each: float
    points: tuple[tuple[float, float], ...]

    def at(self, scale: float) -> float:
        """Carried to a scale."""
        return self.fixed + self.each * scale


@dataclass(frozen=True, slots=True)
class Carried:
    """One change at 1 TB on paper."""

    change: str
    own: Trend
    other: Trend
    read: Trend  # MB that Foreset reads
    alone: Trend  # seconds of phases in one process

    @property
    def seconds(self) -> tuple[float, float]:
        """Of Foreset, and of Spark's overwrite."""
        on_all = [trend.at(SCALE) / (CORES * USED) for trend in (self.own, self.other)]
        return on_all[0] + self.alone.at(SCALE), on_all[1]


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Least squares, each point weighed by its size so that small scales count as well; nothing falls below zero."""
    if len(points) == 1:
        ((scale, value),) = points
        return Trend(0.0, value / scale, tuple(points))
    weights = [1 / max(value, 1e-9) ** 2 for _, value in points]
    total = sum(weights)
    mean_x, mean_y = (sum(w * point[i] for w, point in zip(weights, points, strict=True)) / total for i in (0, 1))
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True)) / spread
    slope = max(0.0, slope)
    return Trend(max(0.0, mean_y - slope * mean_x), slope, tuple(points))


def carried(lines: Sequence[Line], engine: str = "spark") -> list[Carried]:
    """Every change that both sides brought to an end at two scales or more."""
    done = [line for line in lines if line.engine == engine and line.world.startswith("TPC-H") and line.ratio]
    found = []
    for change in dict.fromkeys(line.change for line in done):
        those = [line for line in done if line.change == change]
        if len(those) < 2:
            continue

        def along(what: Callable[[Line], float], those: Sequence[Line] = those) -> Trend:
            return trend([(float(line.world.removeprefix("TPC-H ")), what(line)) for line in those])

        found.append(
            Carried(change, along(lambda line: line.kept.cost.cpu_s), along(lambda line: line.built.cost.cpu_s),
                    along(lambda line: line.kept.cost.read_mb), along(_alone))
        )  # fmt: skip
    return found


def _alone(line: Line) -> float:
    phases = line.run.phases if line.run else {}
    return sum(phases.get(name, 0.0) for name in ALONE)


def per_row(line: Line, side: Side) -> tuple[float, float]:
    """Milliseconds and KB read for each changed row; for a first load, for each row of the views."""
    rows = max(1, line.rows if line.change == FIRST else line.came + line.gone)
    return 1000 * (side.seconds or 0.0) / rows, 1024 * side.cost.read_mb / rows
