"""When a deletion has taken so much that a recompute is cheaper than to bring rows back."""

from __future__ import annotations

from dataclasses import dataclass


class Overdeleted(Exception):
    """The deletion takes too much; nothing was staged yet."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Up to `rows` may go in any case, and up to `share` of a view's rows."""

    share: float
    rows: int

    def check(self, relation: str, deleted: int | None, old: int | None) -> None:
        """Raise where more has gone than that; None is not known."""
        if deleted and old and deleted > max(self.share * old, self.rows):
            raise Overdeleted(f"a deletion first took {deleted:,} of the {old:,} rows of {relation}, and was given up")


# Rows cost Spark little beside rounds. In process rows are all there is, and a recompute makes a million a second.
OF_SPARK, OF_PROCESS = Patience(0.1, 100_000), Patience(0.05, 20_000)
