"""How much is done in process before Spark takes over."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from foreset.errors import ForesetError

ROW = 64  # bytes of a row in memory, say
PASSES = 20  # times the memory that may go through it: beyond, an estimate was wrong, or a join explodes
SPILLED = 2  # times the memory that may be taken from files: what is too much spills


class OutOfBounds(ForesetError):
    """The stratum is not for this reader, or not any longer; the text says why."""


@dataclass(slots=True)
class Budget:
    """What may be done in process, and what has been."""

    rows: int = 200_000_000  # made by queries
    python: int = 1_000_000  # of those, seen by functions in Python
    loaded: int = 40_000_000  # taken from files into memory
    made: int = 0
    seen: int = 0
    taken: int = 0

    @classmethod
    def within(cls, memory: int) -> Budget:
        """What so many bytes are good for."""
        return cls(rows=PASSES * memory // ROW, loaded=SPILLED * memory // ROW)

    @classmethod
    def unbounded(cls) -> Budget:
        """For work that has to be done in process, however long it takes."""
        return cls(sys.maxsize // 2, sys.maxsize // 2, sys.maxsize // 2)

    def make(self, rows: int) -> None:
        """Note rows made; too many end it."""
        self.made += rows
        if self.made > self.rows:
            raise OutOfBounds(f"it touches more than {self.rows:,} rows")

    def see(self, rows: int) -> None:
        """Note rows for Python."""
        self.seen += rows
        if self.seen > self.python:
            raise OutOfBounds(f"its functions see more than {self.python:,} rows")

    def take(self, rows: int) -> None:
        """Note rows to be loaded."""
        self.taken += rows
        if self.taken > self.loaded:
            raise OutOfBounds(f"it would take more than {self.loaded:,} rows into memory")
