"""Where a stratum runs: in process when what it works on fits this machine, in Spark otherwise; or where it is wanted.

A spec says it for a group or a view (`engine:`), a deployment for all others (FORESET_ENGINE).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.program import ENGINES
from foreset.ir.sizes import amount
from foreset.plan.choose import Situation, Size

DUCKDB, SPARK = "in process", "spark"  # as records and people say it
JOINED = 4  # times the bytes of a change are at work on its way through joins, say
LITTLE = 256 << 20  # bytes that are worked on in process, however little memory is free: Spark would take more
FEW_CHANGES = 5_000_000  # rows that came or went, where the warehouse is not on this disk
FEW_ROWS = 20_000_000  # rows to build from, likewise
LARGE = 200_000  # rows of a relation that is asked for some of them; where it has fewer, all of them cost nothing
FEW_TO_ASK_BY = 1_000_000  # changed rows, for which Spark is asked what meets them
READING_ALL = ("recompute", "spread")  # strategies that go through all rows
VARIABLE = "FORESET_ENGINE"
EARLIER = {"inproc": "duckdb"}  # words of earlier releases
RULE = "in process where what it works on fits the memory that is free, else in Spark"


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


@dataclass(frozen=True, slots=True)
class Room:
    """What this process has for work on a warehouse."""

    free: int  # bytes of memory
    local: bool = True  # the warehouse is on this disk: files are read in place, and work can spill


def place(strategy: str, situation: Situation, room: Room) -> Place:
    """Where to begin; a stratum that grows beyond its bounds is moved to Spark while it runs."""
    sizes, building = situation.sizes.values(), strategy == "recompute"
    changed = sum(size.changed for size in sizes)
    if not room.local:
        rows = changed + building * sum(size.rows for size in sizes)
        what, limit = ("rows to build from", FEW_ROWS) if building else ("changed rows", FEW_CHANGES)
        if rows > limit:
            return Place(SPARK, f"{rows:,} {what}, more than {limit:,}, and the warehouse is not on this disk")
    every = sum(max(size.rows, size.changed) * size.width for size in sizes) + situation.own
    if building:
        read = sum(size.rows * size.width if size.stored is None else size.stored for size in sizes)
        held, what = every, f"{amount(read)} to read"
    else:
        held = min(JOINED * sum(size.changed * size.width for size in sizes), every)
        what = f"{changed:,} changed row{'s' * (changed != 1)}"
    fits = held <= max(room.free, LITTLE)
    return Place(DUCKDB if fits else SPARK, f"{what}, {amount(held)} to hold, {amount(room.free)} of memory free")


def may_ask(strategy: str, sizes: Iterable[Size]) -> bool:
    """Whether Spark need only be asked for what meets a change: a small one, beside something large."""
    every = list(sizes)
    few = sum(size.changed for size in every) <= FEW_TO_ASK_BY
    return strategy not in READING_ALL and few and any(size.rows >= LARGE for size in every)
