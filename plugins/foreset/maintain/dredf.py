"""`dredf`: DRed that first asks whether a row is still founded, where one derivation is proof enough.

Plain over-deletion takes every row that loses a derivation, and all that was built on it: one edge of a layered graph
takes a sixth of its closure on average, and nearly all of it has to be put back. Here a row that has another
derivation stays, unless its key lies on a circle (`shield.py`): what it supports is not touched.
What follows is DRed as it was: rows on circles are over-deleted, and rederived.
"""

from __future__ import annotations

from foreset.ir.steps import Derivation, Derive, Merge, Phase, Procedure, Ref, Repeat, Step, Subtract
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.maintain.differentiate import deletions
from foreset.maintain.dred import net, rederive
from foreset.maintain.flips import Flips
from foreset.maintain.insert import insertion_steps
from foreset.maintain.shield import Shield, shield_of


def dredf(stratum: Stratum) -> Procedure:
    """Translate a stratum that has a shield."""
    shield, flips = shield_of(stratum), Flips()
    assert shield is not None, f"{stratum.title} has no key"
    delete = (*shield.raised(), *_delete(stratum, shield, flips), *rederive(stratum))
    insert = (*insertion_steps(stratum, flips), *net(stratum))
    helpers = (*shield.helpers, *flips.helpers)
    return Procedure("dredf", stratum.names, (Phase("delete", delete), Phase("insert", insert)), helpers)


def _delete(stratum: Stratum, shield: Shield, flips: Flips) -> tuple[Step, ...]:
    (view,) = stratum.views
    variants = [found for rule in view.rules for found in deletions(rule, frozenset((view.name,)))]
    touched, held, gone, going = (
        Ref(view.name, version) for version in (Version.TOUCHED, Version.HELD, Version.DEL, Version.DEL_NEXT)
    )
    first = tuple(flips.noted(v.rule, v.flip) for v in variants if not v.within_stratum)
    later = tuple(v.rule for v in variants if v.within_stratum)
    test = (Derive((Derivation(held, shield.holding(), touched),)), Subtract(going, touched, (held,)))
    loop = Repeat((Merge(gone, going), Derive((Derivation(touched, later, without=(gone,)),)), *test), (going,))
    return (*flips.taken(), Derive((Derivation(touched, first),)), *test, loop)
