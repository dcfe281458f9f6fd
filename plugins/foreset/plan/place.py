"""Where a stratum runs: in process when what it works on fits this machine, in Spark otherwise; or where it is wanted.

A spec says it for a group or a view (`engine:`), a deployment for all others (FORESET_ENGINE).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.program import ENGINES
from foreset.ir.sizes import amount
from foreset.plan.choose import Size
from foreset.plan.cost import DUCKDB, SPARK, Cost

JOINED = 4  # times the bytes of a change are at work on its way through joins, say
LITTLE = 256 << 20  # bytes that are worked on in process, however little memory is free: Spark would take more
FEW_CHANGES = 5_000_000  # rows that came or went, where the warehouse is not on this disk
FEW_ROWS = 20_000_000  # rows to build from, likewise
LARGE = 200_000  # rows of a relation that is asked for some of them; where it has fewer, all of them cost nothing
FEW_TO_ASK_BY = 1_000_000  # changed rows, for which Spark is asked what meets them
TRIED_FROM_S = 2.0  # seconds in process; what takes less is not tried in Spark, where it never was
TRIED_AT = 1.5  # times what Spark is expected to take
VARIABLE = "FORESET_ENGINE"
EARLIER = {"inproc": "duckdb"}  # words of earlier releases
RULE = "in process where what it works on fits the memory that is free, else in Spark"


@dataclass(frozen=True, slots=True)
class Place:
    """`engine` and why."""

    engine: str
    reason: str
    trial: bool = False  # there is room for it in process too: if Spark fails, it is done there


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


@dataclass(frozen=True, slots=True)
class Load:
    """What a stratum has to work on."""

    building: bool
    sizes: Mapping[str, Size]
    own: int = 0  # bytes of its own old rows, which a build is compared with

    @property
    def size(self) -> int:
        """By which costs are compared: rows that came or went; of a build, those that it reads."""
        return sum(size.most if self.building else size.changed for size in self.sizes.values())


def by_room(load: Load, room: Room) -> Place:
    """Where there is room for it; a stratum that grows beyond its bounds is moved to Spark while it runs."""
    sizes = load.sizes.values()
    changed = sum(size.changed for size in sizes)
    if not room.local:
        rows = changed + load.building * load.size
        what, limit = ("rows to build from", FEW_ROWS) if load.building else ("changed rows", FEW_CHANGES)
        if rows > limit:
            return Place(SPARK, f"{rows:,} {what}, more than {limit:,}, and the warehouse is not on this disk")
    every = sum(size.most * size.width for size in sizes) + load.own
    if load.building:
        read = sum(size.most * size.width if size.stored is None else size.stored for size in sizes)
        held, what = every, f"{amount(read)} to read"
    else:
        held = min(JOINED * sum(size.changed * size.width for size in sizes), every)
        what = f"{changed:,} changed row{'s' * (changed != 1)}"
    fits = held <= max(room.free, LITTLE)
    return Place(DUCKDB if fits else SPARK, f"{what}, {amount(held)} to hold, {amount(room.free)} of memory free")


def may_ask(strategy: str, changed: int, largest: int) -> bool:
    """Whether Spark need only be asked for what meets so many changed rows: in a group with a relation that is large.

    Small relations of such a group count too: a step in Spark costs the same for ten rows as for a million.
    """
    return strategy != "recompute" and changed <= FEW_TO_ASK_BY and largest >= LARGE


def engines(load: Load, room: Room) -> tuple[str, ...]:
    """Where it can run: what there is room for here, Spark can do too."""
    return (DUCKDB, SPARK) if by_room(load, room).engine == DUCKDB else (SPARK,)


def place(strategy: str, load: Load, room: Room, cost: Cost) -> Place:
    """Where it is expected to be cheaper; in process where nobody knows, and there is room for it."""
    found = by_room(load, room)
    here, there = (cost.estimate(strategy, (engine,), load.size) for engine in (DUCKDB, SPARK))
    if found.engine == SPARK or here is None:
        return found
    if there is not None:
        told = f"about {here.seconds:.1f} s in process, {there.seconds:.1f} s in Spark, by earlier refreshes"
        dearer = here.hoped > there.hoped
        return Place(SPARK if dearer else DUCKDB, f"{told}; {found.reason}", trial=dearer)
    others = cost.of_others(strategy, SPARK, load.size)
    if others is not None and here.seconds > max(TRIED_FROM_S, TRIED_AT * others):
        told = f"about {here.seconds:.1f} s in process, {others:.1f} s in Spark, if it is there as others are"
        return Place(SPARK, f"{told}; {found.reason}", trial=True)
    return found
