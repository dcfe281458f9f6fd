"""Views of groups folded by a change, in Python; failures name rule, view and group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass

from foreset.errors import EvaluationError
from foreset.ir.rules import Rule, owner
from foreset.ir.steps import Aggregate, Ref
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.values.aggregates import folded, groups_of
from foreset.values.groups import gather_all, named


@dataclass(frozen=True, slots=True)
class Outcome:
    """The exact change of a view of groups, and what it took."""

    plus: tuple[Row, ...]
    minus: tuple[Row, ...]
    touched: int
    read: int  # members


Read = Callable[[Ref], Collection[Row]]  # the rows of a version, at least of the groups that the change touches
Gather = Callable[[Set[Row]], tuple[Mapping[Row, Row], int]]  # accumulators of these groups, and how many members


def fold_all(step: Aggregate, read: Read, gather: Gather | None = None) -> Outcome:
    """What the change of the members does to the groups that it touches.

    `gather` is asked for the groups whose members must be read; without it, they are read too.
    """
    aggregation = step.aggregation
    width = aggregation.groups
    came, went = (groups_of(read(Ref(aggregation.members, v)), aggregation) for v in (Version.PLUS, Version.MINUS))
    touched = dict.fromkeys((*came, *went))
    if not touched:
        return Outcome((), (), 0, 0)
    old = {row[:width]: row[width:] for row in read(Ref(step.relation, Version.OLD)) if row[:width] in touched}
    new: dict[Row, Row | None] = {}
    for group in touched:
        with named(step.rule, group):
            new[group] = folded(aggregation, old.get(group), came.get(group, ()), went.get(group, ()))
    anew = {group for group, row in new.items() if row is None}
    seen = 0
    if anew:
        found, seen = gather(anew) if gather is not None else _gathered(step, read, anew)
        new |= {**dict.fromkeys(anew), **found}
    after = {group: row for group, row in new.items() if row is not None and _held(row, group, step.rule)}
    plus = tuple((*group, *row) for group, row in after.items() if old.get(group) != row)
    minus = tuple((*group, *row) for group, row in old.items() if after.get(group) != row)
    return Outcome(plus, minus, len(touched), seen)


def _gathered(step: Aggregate, read: Read, groups: Set[Row]) -> tuple[Mapping[Row, Row], int]:
    members, width = step.aggregation.members, step.aggregation.groups
    rows = [row for row in read(Ref(members, Version.NEW)) if row[:width] in groups]
    return gather_all(rows, step.aggregation, step.rule), len(rows)


def _held(row: Row, group: Row, rule: Rule) -> bool:
    """True while the group has members; below zero the stored rows are not what they should be."""
    count = row[0]
    assert isinstance(count, int)
    if count < 0:
        raise EvaluationError(*miscounted(rule, group))
    return count > 0


def miscounted(rule: Rule, group: Row) -> tuple[str, str]:
    """What to say of a group with fewer members than none."""
    fact = f"view {owner(rule)}: the stored number of members of group {group} of rule {rule.name} is wrong"
    return fact, "the state does not belong to these rows: refresh with `--mode recompute`"
