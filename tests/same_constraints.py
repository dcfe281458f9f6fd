"""Whether constraints have the same solutions."""

from __future__ import annotations

from collections.abc import Iterable

from foreset.constraints.decide import covered, entails
from foreset.constraints.form import Constraint


def equivalent(left: Constraint, right: Constraint) -> bool:
    """Both have the same solutions."""
    return entails(left, right) and entails(right, left)


def same_sets(left: Iterable[Constraint], right: Iterable[Constraint]) -> bool:
    """The solutions of all of `left` together are those of all of `right`."""
    ours, theirs = tuple(left), tuple(right)
    return all(covered(part, theirs) for part in ours) and all(covered(part, ours) for part in theirs)
