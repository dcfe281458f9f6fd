"""`Spread` for whoever gives and takes rows as Arrow: what both helper relations say before and after, as bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from foreset.bitsets.change import Tables, changes
from foreset.ir.steps import Ref, Spread
from foreset.ir.versions import Version

P = TypeVar("P")


def spread(
    step: Spread,
    read: Callable[[Ref], pa.Table],
    take: Callable[[pa.Table], P],
    check: Callable[[int], None] = lambda _: None,
) -> tuple[list[P], list[P]]:
    """What came to the relation and what went; `check` is told how many rows have moved so far."""
    old, new = (
        Tables(*(read(Ref(name, version)) for name in (step.base, step.needs)))
        for version in (Version.OLD, Version.FULL)
    )
    plus, minus, moved = list[P](), list[P](), 0
    for portion in changes(old, new, step.key):
        moved += portion.rows.num_rows
        check(moved)
        (plus if portion.came else minus).append(take(portion.rows))
    return plus, minus
