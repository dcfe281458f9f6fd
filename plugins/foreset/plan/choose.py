"""Which strategy a stratum gets in this refresh, and why, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from foreset.ir.aggregates import Upkeep
from foreset.ir.hidden import in_words
from foreset.ir.program import SUPPORTED
from foreset.ir.rules import atoms
from foreset.ir.strata import Stratum
from foreset.plan.cost import DUCKDB, Cost, Estimate
from foreset.plan.rebuild import EDITED
from foreset.plan.translate import COUNTED, refusal

NOTHING = "nothing that it reads has changed"
RECOMPUTE_SHARE = 0.25  # of the rows that the stratum reads; beyond it a maintained change costs more
SPREADING = 500_000  # rows of the relations that `spread` reads from end to end
SOON_READ, HANDFUL = 50_000, 10_000  # where they have more, one inserted row in so many is left to `insert`


class Mode(StrEnum):
    """How free the choice is."""

    AUTO = "auto"
    INCREMENTAL = "incremental"  # recompute only where history is missing
    STRICT = "strict"  # fail rather than recompute
    RECOMPUTE = "recompute"


@dataclass(frozen=True, slots=True)
class Size:
    """How much a relation changed, and how large it was; in bytes, what is read of it."""

    inserted: int = 0
    deleted: int = 0
    rows: int = 0
    width: int = 0  # of a row, in memory
    stored: int | None = None  # in files; None where nobody knows

    @property
    def changed(self) -> int:
        """Rows that came or went."""
        return self.inserted + self.deleted

    @property
    def most(self) -> int:
        """Rows that a build reads: before a first load, all that came."""
        return max(self.rows, self.changed)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a refresh knows of a stratum when its turn comes."""

    sizes: Mapping[str, Size]  # of every relation that it reads
    rebuild: str = ""  # why there is no old state to start from; empty when there is one
    counters: bool = False  # stored counters belong to the old state
    own: int = 0  # bytes of its own old rows, in memory
    cost: Cost = field(default_factory=Cost)
    maintained_in: tuple[str, ...] = (DUCKDB,)  # the engines in which there is room for it
    built_in: tuple[str, ...] = (DUCKDB,)


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy and the reason for it; `refused` is set where the mode forbids what is needed."""

    strategy: str
    reason: str
    refused: bool = False


def choose(stratum: Stratum, situation: Situation, mode: Mode = Mode.AUTO) -> Choice:
    """Choose for one stratum. What a view declares binds more than the mode of the refresh."""
    declared = _declared(stratum)
    strict = mode is Mode.STRICT or declared == "strict"
    if stratum.own_way:
        return _own_way(stratum, situation)
    if situation.rebuild:
        first = situation.rebuild.startswith(("first", EDITED))  # no history is missing
        return Choice("recompute", situation.rebuild, refused=strict and not first)
    changed = _changed(stratum, situation)
    if not changed:
        return Choice("skip", NOTHING)
    if mode is Mode.RECOMPUTE:
        return Choice("recompute", "asked for with --mode recompute")
    if declared == "recompute":
        return Choice("recompute", "the view declares `strategy: recompute`")
    if stratum.aggregation:
        found = Choice("aggregate", f"{_summary(changed)}; {upkeep(stratum)}")
        return _unless_too_big(found, situation, changed) if free(stratum, mode) else found
    only_grows = _only_grows(stratum, changed)
    if declared not in ("auto", "incremental", "strict"):
        return _named(stratum, situation, declared, only_grows=only_grows, strict=strict)
    found = _incremental(stratum, situation, changed, only_grows=only_grows)
    return _unless_too_big(found, situation, changed) if free(stratum, mode) else found


def _changed(stratum: Stratum, situation: Situation) -> dict[str, Size]:
    return {name: size for name in stratum.reads if (size := situation.sizes.get(name, Size())).changed}


def _own_way(stratum: Stratum, situation: Situation) -> Choice:
    """What domains answer, and what is kept by constraints: one way each, and whether it is needed."""
    if stratum.given is not None:
        return Choice(stratum.own_way, situation.rebuild) if situation.rebuild else Choice("skip", NOTHING)
    if stratum.called:
        who = in_words(stratum.called)
        return Choice(stratum.own_way, f"{who} is asked in each refresh: its answers may have changed")
    if situation.rebuild:
        return Choice(stratum.own_way, situation.rebuild)
    if stratum.asks:
        return Choice(stratum.own_way, "it asks domains in each refresh: their answers may have changed")
    changed = _changed(stratum, situation)
    return (
        Choice(stratum.own_way, f"{_summary(changed)}; derived again, and compared")
        if changed
        else Choice("skip", NOTHING)
    )


def free(stratum: Stratum, mode: Mode) -> bool:
    """Whether a recompute may be chosen because it is cheaper, and for no other reason."""
    return mode is Mode.AUTO and _declared(stratum) == "auto"


def upkeep(stratum: Stratum) -> str:
    """What folding a change into groups needs beside their old rows, in words."""
    assert stratum.aggregation is not None
    match stratum.aggregation.upkeep:
        case Upkeep.INVERTIBLE:
            return "applied to the groups that changed"
        case Upkeep.EXTREMUM:
            return "applied to the groups that changed; a group that loses its minimum or maximum is computed again"
        case Upkeep.ANEW:
            return "the groups that changed are computed again"


def _declared(stratum: Stratum) -> str:
    """Analysis has seen to it that the views of a stratum agree."""
    return stratum.views[0].strategy


def _named(stratum: Stratum, situation: Situation, strategy: str, *, only_grows: bool, strict: bool) -> Choice:
    because = f"the view declares `strategy: {strategy}`"
    taken = "stdel" if strategy in SUPPORTED else strategy
    problem = refusal(stratum, taken)
    if strategy == "insert" and not only_grows:
        problem = "deletions reach it, and `insert` cannot delete rows"
    if problem:
        return Choice("dred", f"{because}, but {problem}")
    if strategy in COUNTED and not situation.counters:
        return Choice("recompute", f"{because}; its counters are built first", refused=strict)
    if taken == "stdel" and stratum.cyclic:
        because += "; circles in the data are looked for, and rows on them rederived"
    return Choice(taken, because)


def _only_grows(stratum: Stratum, changed: Mapping[str, Size]) -> bool:
    """No change can take a row of the stratum away."""
    for view in stratum.views:
        for rule in view.rules:
            for atom, negated in atoms(rule):
                size = changed.get(atom.relation, Size())
                if size.inserted if negated else size.deleted:
                    return False
    return True


def _unless_too_big(found: Choice, situation: Situation, changed: Mapping[str, Size]) -> Choice:
    big = _too_big(found.strategy, situation, changed)
    return Choice("recompute", big) if big else found


def _past(strategy: str, situation: Situation, delta: int) -> tuple[Estimate, Estimate] | None:
    """What is expected of `strategy` and of a recompute; None where the past does not tell both."""
    rows = sum(size.most for size in situation.sizes.values())
    kept = situation.cost.estimate(strategy, situation.maintained_in, delta)
    built = situation.cost.estimate("recompute", situation.built_in, rows)
    return None if kept is None or built is None else (kept, built)


def _too_big(strategy: str, situation: Situation, changed: Mapping[str, Size]) -> str:
    """Why a recompute is expected to be cheaper; empty when it is not."""
    rows = sum(size.rows for size in situation.sizes.values())
    delta = sum(size.changed for size in changed.values())
    past = _past(strategy, situation, delta)
    if past is not None:
        kept, built = past
        if kept.hoped > built.hoped:
            told = f"{delta:,} changed row{'s' * (delta != 1)} would take {strategy} about {kept.seconds:.1f} s"
            return f"{told}, a recompute took {built.seconds:.1f} s"
        return ""
    if delta > rows:  # most are new, so a share of what was there would be no share
        return f"{delta:,} rows changed, more than the {rows:,} rows that it read in all before"
    if delta > RECOMPUTE_SHARE * rows:
        share, most = 100 * delta / rows, 100 * RECOMPUTE_SHARE
        return f"{delta:,} of {rows:,} rows that it reads changed ({share:.0f} %): more than {most:.0f} %"
    return ""


def _incremental(stratum: Stratum, situation: Situation, changed: Mapping[str, Size], *, only_grows: bool) -> Choice:
    what = _summary(changed)
    if _spreads(stratum, situation, changed, only_grows=only_grows):
        return Choice("spread", f"{what}; recursive, with columns that it carries along unchanged, and few rows below")
    if only_grows and not situation.counters:
        return Choice("insert", f"{what}: no row can go, so there is no deletion phase")
    if situation.counters:
        if stratum.recursive:
            return Choice("dredc", f"{what}; recursive, and its derivations are counted")
        return Choice("counting", f"{what}; not recursive, and its derivations are counted")
    if not refusal(stratum, "dredf"):
        return Choice("dredf", f"{what}; recursive: a row that is on no circle stays while it has another derivation")
    kind = "recursive" if stratum.recursive else "not recursive"
    return Choice("dred", f"{what}; {kind}, without stored counters")


def _spreads(stratum: Stratum, situation: Situation, changed: Mapping[str, Size], *, only_grows: bool) -> bool:
    """Whether to read lower relations from end to end, and the view not at all.

    Not where a handful of rows came into many, whose consequences are soon found, nor where it was dearer than a
    recompute: another strategy may still be cheaper than both.
    """
    rows = sum(size.rows for size in situation.sizes.values())
    delta = sum(size.changed for size in changed.values())
    past = _past("spread", situation, delta)
    if rows > SPREADING or (only_grows and rows > SOON_READ and delta * HANDFUL < rows):
        return False
    if past is not None and past[0].hoped > past[1].hoped:
        return False
    return not situation.counters and not refusal(stratum, "spread")


def _summary(changed: Mapping[str, Size]) -> str:
    parts = (f"{in_words(name)} +{size.inserted:,} -{size.deleted:,}" for name, size in changed.items())
    return ", ".join(parts)
