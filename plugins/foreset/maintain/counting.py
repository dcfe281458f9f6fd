"""`counting`: how many derivations each row has, for strata without recursion.

Each derivation that ends or begins is tallied exactly once; a row appears with its
first and vanishes with its last. The base is read only around the change.
"""

from __future__ import annotations

from foreset.ir.rules import Rule
from foreset.ir.steps import (
    AssertCounts,
    Count,
    Counter,
    Merge,
    Phase,
    Pick,
    Procedure,
    Ref,
    Standing,
    Step,
    Tally,
)
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import gained, lost
from foreset.maintain.flips import Flips


def counting(stratum: Stratum) -> Procedure:
    """Translate a stratum that is not recursive."""
    assert not stratum.recursive, "derivations of a recursive stratum cannot be counted alone"
    flips = Flips()
    (view,) = stratum.views
    ended = tuple(flips.noted(*found) for rule in view.rules for found in lost(rule, frozenset()))
    delete: tuple[Step, ...] = (*flips.taken(), *_tally(view.name, -1, ended, Version.DEL))
    begun = tuple(flips.noted(*found) for rule in view.rules for found in gained(rule, frozenset()))
    insert = (
        *flips.taken(),
        *_tally(view.name, 1, begun, Version.INS),
        AssertCounts(view.name),
        Pick(Ref(view.name, Version.PLUS), Ref(view.name, Version.INS), Standing.APPEARED),
        Pick(Ref(view.name, Version.MINUS), Ref(view.name, Version.DEL), Standing.VANISHED),
    )
    phases = (Phase("delete", delete), Phase("insert", insert))
    return Procedure("counting", stratum.names, phases, flips.helpers, counted=stratum.names)


def _tally(view: str, sign: int, rules: tuple[Rule, ...], into: Version) -> tuple[Step, ...]:
    return (
        Tally((Count(view, Counter.BASE, sign, rules),)),
        Merge(Ref(view, into), Ref(view, Version.TOUCHED)),
    )
