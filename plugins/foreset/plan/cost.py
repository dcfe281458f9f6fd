"""What ways of doing a stratum cost in this warehouse: a way is a strategy in an engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

DUCKDB, SPARK = "in process", "spark"  # as records and people say it
BEYOND = 4  # times the largest change seen: so far a line through past costs is believed
BELOW = 10  # the smallest change seen, divided by this: likewise
STEADY, PATIENCE = 3, 30  # nights for which a cost stands; then those until what was twice as dear is tried again


@dataclass(frozen=True, slots=True)
class Line:
    """What a way cost here: `fixed + per_row * size` seconds, as far as sizes have been seen."""

    fixed: float
    per_row: float
    smallest: int
    largest: int
    nights: int = 0  # since it was gone last

    def expected(self, size: int) -> float | None:
        """Seconds for a change; None for one much larger or smaller than any before."""
        if not self.smallest / BELOW <= size <= BEYOND * self.largest:
            return None
        if size <= self.largest:
            return self.at(size)
        steep = math.sqrt(size / max(self.largest, 1))  # a level line may be that of one size, seen often
        return max(self.at(size), steep * self.at(self.largest))

    def at(self, size: int) -> float:
        """Seconds by the line, wherever it was seen."""
        return self.fixed + self.per_row * size

    @property
    def belief(self) -> float:
        """The part of an old cost that is still believed, so that a way which was dear once has another try some day.

        What is k times as dear is tried again after some (k - 1) * PATIENCE nights: on average that costs one part in
        PATIENCE, however dear it is.
        """
        return PATIENCE / (PATIENCE + max(0, self.nights - STEADY))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds in an engine; `hoped` is less where nobody has tried it for long."""

    seconds: float
    hoped: float
    engine: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What this stratum cost before, in seconds, as far as this warehouse has seen."""

    lines: Mapping[tuple[str, str], Line] = field(default_factory=dict)  # by strategy and engine
    others: Mapping[tuple[bool, str], Line] = field(default_factory=dict)  # of all strata: built or not, by engine

    def estimate(self, strategy: str, engines: Iterable[str], size: int) -> Estimate | None:
        """In the best of some engines; None where the past does not tell."""
        found = []
        for engine in engines:
            line = self.lines.get((strategy, engine))
            seconds = line.expected(size) if line else None
            if line is not None and seconds is not None:
                found.append(Estimate(seconds, seconds * line.belief, engine))
        return min(found, key=lambda one: one.hoped, default=None)

    def of_others(self, strategy: str, engine: str, size: int) -> float | None:
        """Seconds that all strata together speak for."""
        line = self.others.get((strategy == "recompute", engine))
        return line.at(size) if line else None
