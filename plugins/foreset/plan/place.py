"""Where a stratum runs: in process when what it must touch is small, in Spark otherwise; or where it is wanted.

A spec says it for a group or a view (`engine:`), a deployment for all others (FORESET_ENGINE).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.program import ENGINES
from foreset.plan.choose import Size

DUCKDB, SPARK = "in process", "spark"  # as records and people say it
FEW_CHANGES = 5_000_000  # rows that came or went below a stratum that is maintained
FEW_ROWS = 20_000_000  # rows below a stratum that is built
VARIABLE = "FORESET_ENGINE"
EARLIER = {"inproc": "duckdb"}  # words of earlier releases


RULE = f"in process up to {FEW_CHANGES:,} changed rows (built: from {FEW_ROWS:,} rows), else in Spark"


@dataclass(frozen=True, slots=True)
class Place:
    """`engine` and why."""

    engine: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wish:
    """The engine that is wanted, one of ENGINES, and who wants it."""

    engine: str = "auto"
    because: str = ""

    @property
    def place(self) -> Place | None:
        """Where work has to be; None where it is free."""
        match self.engine:
            case "spark":
                return Place(SPARK, self.because)
            case "duckdb":
                return Place(DUCKDB, self.because)
            case _:
                return None


def wish(said: str = "") -> Wish:
    """What a spec wants, or else what the deployment wants."""
    if said in ("", "auto"):
        return deployed()
    return Wish(said, f"the spec says `engine: {said}`")


def deployed() -> Wish:
    """The engine that the environment names."""
    named = os.environ.get(VARIABLE, "")
    if EARLIER.get(named, named) not in ("", *ENGINES):
        raise UsageError(f"{VARIABLE} is {named!r}", did_you_mean(named, ENGINES, f"one of {', '.join(ENGINES)}"))
    return Wish(EARLIER.get(named, named), f"{VARIABLE}={named}") if named else Wish()


def told(engine: str, reason: str) -> str:
    """Where something ran, or will run, and why: `in Spark: the spec says ...`."""
    where = "in Spark" if engine == SPARK else engine
    return f"{where}: {reason}" if reason else where


def place(strategy: str, sizes: Mapping[str, Size]) -> Place:
    """Where to begin; a stratum that grows beyond its bounds is moved to Spark while it runs."""
    changed = sum(size.changed for size in sizes.values())
    if strategy != "recompute":
        what, limit = "changed rows", FEW_CHANGES
    else:
        what, limit = "rows to build from", FEW_ROWS
        changed += sum(size.rows for size in sizes.values())
    if changed > limit:
        return Place(SPARK, f"{changed:,} {what}, more than {limit:,}")
    return Place(DUCKDB, f"{changed:,} {what}")
