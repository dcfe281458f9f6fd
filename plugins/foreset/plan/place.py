"""Where a stratum runs: in process when what it must touch is small, in Spark otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foreset.plan.choose import Size

DUCKDB, SPARK = "in process", "spark"  # as records and people say it
FEW_CHANGES = 5_000_000  # rows that came or went below a stratum that is maintained
FEW_ROWS = 20_000_000  # rows below a stratum that is built


RULE = f"in process up to {FEW_CHANGES:,} changed rows (built: from {FEW_ROWS:,} rows), else in Spark"


@dataclass(frozen=True, slots=True)
class Place:
    """`engine` and why."""

    engine: str
    reason: str


def place(strategy: str, sizes: Mapping[str, Size], forced: str = "auto") -> Place:
    """Where to begin; a stratum that grows beyond its bounds is moved to Spark while it runs."""
    if forced != "auto":
        return Place(DUCKDB if forced == "inproc" else SPARK, f"FORESET_ENGINE={forced}")
    changed = sum(size.changed for size in sizes.values())
    if strategy != "recompute":
        what, limit = "changed rows", FEW_CHANGES
    else:
        what, limit = "rows to build from", FEW_ROWS
        changed += sum(size.rows for size in sizes.values())
    if changed > limit:
        return Place(SPARK, f"{changed:,} {what}, more than {limit:,}")
    return Place(DUCKDB, f"{changed:,} {what}")
