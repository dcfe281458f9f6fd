"""`aggregate`: CReaM's Δ1 to Δ6 on a view of groups, and the same view from nothing.

The change of the members comes either from a view that holds them, or is derived here:
with one derivation for each member, the derivations that end are the members that go, and
those that begin are the members that come.
"""

from __future__ import annotations

from foreset.ir.program import Helper, View, member_columns
from foreset.ir.steps import Aggregate, Derivation, Derive, Group, Phase, Procedure, Ref, Step, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import evaluation, gained, lost
from foreset.maintain.flips import Flips

_NOTHING_OWN = frozenset[str]()


def aggregate(stratum: Stratum) -> Procedure:
    """Fold a change into the groups that it touches."""
    (view,) = stratum.views
    assert view.aggregation is not None
    fold = Aggregate(view.name, view.aggregation, view.rules[0])
    if view.aggregation.stored:
        return Procedure("aggregate", stratum.names, (Phase("insert", (fold,)),))
    flips = Flips()
    members = view.aggregation.members
    plus, minus, ins, dels = (Ref(members, v) for v in (Version.PLUS, Version.MINUS, Version.INS, Version.DEL))
    ended = tuple(flips.noted(*found) for found in lost(view.rules[0], _NOTHING_OWN))
    delete: tuple[Step, ...] = (*flips.taken(), Derive((Derivation(dels, ended),)))
    begun = tuple(flips.noted(*found) for found in gained(view.rules[0], _NOTHING_OWN))
    insert = (
        *flips.taken(),
        Derive((Derivation(ins, begun),)),
        Subtract(plus, ins, (dels,)),
        Subtract(minus, dels, (ins,)),
        fold,
    )
    phases = (Phase("delete", delete), Phase("insert", insert))
    return Procedure("aggregate", stratum.names, phases, (*flips.helpers, _helper(view)))


def regroup(stratum: Stratum) -> Procedure:
    """Gather every group anew."""
    (view,) = stratum.views
    assert view.aggregation is not None
    full, old = Ref(view.name, Version.FULL), Ref(view.name, Version.OLD)
    members = view.aggregation.members
    results = (
        Subtract(Ref(view.name, Version.PLUS), full, (old,)),
        Subtract(Ref(view.name, Version.MINUS), old, (full,)),
    )
    if view.aggregation.stored:
        group = Group(full, Ref(members, Version.NEW), view.aggregation, view.rules[0])
        return Procedure("recompute", stratum.names, (Phase("build", (group, *results)),))
    found = Ref(members, Version.FULL)
    rule = evaluation(view.rules[0], _NOTHING_OWN, Version.FULL, Version.FULL)
    members_once = Derive((Derivation(found, (rule,), single=True),))
    steps = (members_once, Group(full, found, view.aggregation, view.rules[0]), *results)
    return Procedure("recompute", stratum.names, (Phase("build", steps),), (_helper(view),))


def _helper(view: View) -> Helper:
    assert view.aggregation is not None
    return Helper(view.aggregation.members, member_columns(view))
