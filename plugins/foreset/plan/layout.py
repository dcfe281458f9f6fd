"""In which order the rows of a view are stored: by the columns that maintenance looks them up by."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

from foreset.ir.rules import Atom, Rule, literal_variables
from foreset.ir.strata import Layering
from foreset.ir.terms import Var


@functools.lru_cache(maxsize=1024)
def laid_out(view: str, layering: Layering) -> tuple[int, ...]:
    """The places of the view's columns, those first by which most atoms of rules are met.

    A change elsewhere in a rule's body is joined with the view by the variables that they share; groups are looked
    up by their own columns. Whether a row is there is asked with all columns, and gains by any order.
    """
    columns = next(one.columns for one in layering.of(view).views if one.name == view)
    met = Counter[int]()
    for stratum in layering.strata:
        for other in stratum.views:
            if other.aggregation and other.aggregation.members == view:
                met.update(range(other.aggregation.groups))
            met.update(place for rule in other.rules for place in _met(view, rule))
    return tuple(sorted(range(len(columns)), key=lambda place: (-met[place], place)))


def _met(relation: str, rule: Rule) -> Iterable[int]:
    """The columns of each atom of `relation` that another atom of the body binds, or a constant."""
    positive = [literal for literal in rule.body if isinstance(literal, Atom)]
    for atom in positive:
        if atom.relation != relation:
            continue
        others = {var.name for other in positive if other is not atom for var in literal_variables(other)}
        yield from (i for i, arg in enumerate(atom.args) if not isinstance(arg, Var) or arg.name in others)
