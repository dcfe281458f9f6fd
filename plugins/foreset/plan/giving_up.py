"""When a strategy turns out to be too much work, and another one does it; when a recursion does not end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class GivenUp(Exception):
    """The strategy takes too much; nothing was staged yet."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Up to `rows` may go in any case, and up to `share` of a view's rows."""

    share: float
    rows: int

    def check(self, relation: str, deleted: int | None, old: int | None) -> None:
        """Raise where more has gone than that; None is not known."""
        if deleted and old and deleted > max(self.share * old, self.rows):
            raise GivenUp(f"a deletion would first remove {deleted:,} of the {old:,} rows of {relation}: too many")


MOST_SPREAD = 4_000_000  # rows of what a view spreads from and along, before and after: they are held in memory
MOST_MOVED = 10_000_000  # rows of its differential that Spark's driver holds


def check_spread(relation: str, rows: int | None) -> None:
    """Raise where the relations along which `relation` spreads are not small; None is not known."""
    if rows is None or rows > MOST_SPREAD:
        told = "an unknown number of" if rows is None else f"{rows:,}"
        raise GivenUp(f"{relation} would have to follow {told} rows; the limit is {MOST_SPREAD:,}")


def check_moved(relation: str, rows: int) -> None:
    """Raise where so many rows of `relation` moved that they should not go by way of the driver."""
    if rows > MOST_MOVED:
        raise GivenUp(f"more than {MOST_MOVED:,} rows of {relation} changed, too many for the driver")


# Rows cost Spark little beside rounds. In process rows are all there is, and a recompute makes a million a second.
OF_SPARK, IN_MEMORY = Patience(0.1, 100_000), Patience(0.05, 20_000)


def endless(views: Iterable[str], max_rounds: int) -> tuple[str, str]:
    """What to say when a recursion does not end."""
    fact = f"the recursion of {', '.join(views)} has not ended after {max_rounds} rounds"
    return fact, "limit the arithmetic in its rules, for example `N < 100`, or raise `max_rounds:` in the spec"
