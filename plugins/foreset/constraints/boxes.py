"""Ranges of values: where an entry can lie at all, variable by variable.

A box says perhaps less than its constraint, and never more. So two entries whose boxes do not meet have no row in
common, and nobody has to ask a solver about them. A variable with one value is *fixed*: entries are found by it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Point: TypeAlias = Any  # ticks, or a text
Range: TypeAlias = tuple[Point | None, Point | None]  # from and to; None: no end is known
ANY: Range = (None, None)
NOTHING: Range = (1, 0)


def narrowed(one: Range, other: Range) -> Range:
    """What both leave."""
    low = other[0] if one[0] is None or (other[0] is not None and other[0] > one[0]) else one[0]
    high = other[1] if one[1] is None or (other[1] is not None and other[1] < one[1]) else one[1]
    return low, high


def meet(one: Range, other: Range) -> bool:
    """Whether two ranges have a value in common."""
    return not (
        (one[0] is not None and other[1] is not None and one[0] > other[1])
        or (one[1] is not None and other[0] is not None and one[1] < other[0])
    )


def point_of(said: Range) -> Point | None:
    """The one value of a range; None where there are several."""
    return said[0] if said[0] is not None and said[0] == said[1] else None


def empty(said: Range) -> bool:
    """Whether no value is left."""
    return said[0] is not None and said[1] is not None and said[0] > said[1]
