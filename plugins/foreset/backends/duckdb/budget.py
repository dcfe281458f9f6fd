"""How much is done in process before Spark takes over."""

from __future__ import annotations

from dataclasses import dataclass

from foreset.errors import ForesetError


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
