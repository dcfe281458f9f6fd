"""Which state of a relation an atom reads.

A *stored* version is a set of rows that steps fill; a *virtual* one is
`base - less + more` of stored ones, read without being built. Differences and
unions are of sets, where NULL equals NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Version(StrEnum):
    """The states of one relation in one refresh."""

    CURRENT = "current"  # as a rule is written: no refresh in sight; also the rows of a helper relation
    # stored
    OLD = "old"  # the pinned state before the refresh
    PLUS = "plus"  # net insertions: known for sources and lower strata, the result for a view
    MINUS = "minus"  # net deletions
    DEL = "del"  # over-estimated deletions
    DEL_NEXT = "del_next"  # those found in the last round
    RED = "red"  # deletions taken back, because another derivation stands
    RED_NEXT = "red_next"
    INS = "ins"  # insertions beyond what is left and taken back
    INS_NEXT = "ins_next"
    FULL = "full"  # a state built from nothing
    FULL_NEXT = "full_next"
    HELD = "held"  # touched rows that stay, because another derivation stands and no circle is near
    TOUCHED = "touched"  # rows of which the last step changed a derivation
    # virtual
    NEW = "new"
    KEPT = "kept"
    EVER = "ever"
    LEFT = "left"
    LEFT_BEFORE = "left_before"
    LIVE = "live"
    LIVE_AFTER = "live_after"


@dataclass(frozen=True, slots=True)
class Composition:
    """`base - less + more`."""

    base: Version
    less: tuple[Version, ...] = ()
    more: tuple[Version, ...] = ()


VIRTUAL: dict[Version, Composition] = {
    # of sources and lower strata, whose net differentials are known
    Version.NEW: Composition(Version.OLD, (Version.MINUS,), (Version.PLUS,)),
    Version.KEPT: Composition(Version.OLD, (Version.MINUS,)),  # in the old state and in the new
    Version.EVER: Composition(Version.OLD, (), (Version.PLUS,)),  # in the old state or in the new
    # of the stratum at work
    Version.LEFT: Composition(Version.OLD, (Version.DEL,)),
    Version.LEFT_BEFORE: Composition(Version.OLD, (Version.DEL,), (Version.DEL_NEXT,)),
    Version.LIVE: Composition(Version.OLD, (Version.DEL,), (Version.RED, Version.INS)),
    Version.LIVE_AFTER: Composition(Version.OLD, (Version.DEL,), (Version.RED, Version.INS, Version.INS_NEXT)),
}
