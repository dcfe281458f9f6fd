"""Slips in the rewriting of sets, each of which was there once or could be: wrong rows by every strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from foreset.analyse.scopes import with_groups
from foreset.ir.aggregates import Accumulator
from foreset.ir.renaming import rename_literal
from foreset.ir.rules import Atom, Literal, Rule, SetOf
from foreset.ir.terms import Var
from foreset.ir.text import print_rule
from foreset.rewrite import split_aggregates
from foreset.rewrite.ask_domains import Asking
from foreset.rewrite.split_aggregates import Splitter

Slip = Callable[[pytest.MonkeyPatch], None]


def labels_without_parameters(patch: pytest.MonkeyPatch) -> None:
    """Variables were named without the parameter and without whose aggregate it is: two were one."""
    whole = split_aggregates._planned

    def _planned(*given: Any) -> Any:
        held, literals, wrong = whole(*given)
        names = {each.shown.name: _bare(each.shown.name) for each in held}
        renamed = [replace(each, shown=Var(names[each.shown.name])) for each in held]
        return renamed, [rename_literal(literal, names) for literal in literals], wrong

    patch.setattr(split_aggregates, "_planned", _planned)


def _bare(name: str) -> str:
    given, dot, label = name.partition(".")
    return f"{given}{dot}{label.replace('fold_', '').removesuffix('_2')}"


def sets_of_one_name(patch: pytest.MonkeyPatch) -> None:
    """Two sets of one result had one name."""
    patch.setattr(split_aggregates, "_names_of", lambda sets: tuple(one.var.name.rstrip(".") for one in sets))


def null_groups_joined(patch: pytest.MonkeyPatch) -> None:
    """Views of groups were joined as relations are."""
    whole = Splitter._set

    def _set(self: Splitter, one: SetOf, *rest: Any) -> tuple[tuple[Literal, ...], Any]:
        literals, wrong = whole(self, one, *rest)
        return tuple(replace(each, groups=0) if isinstance(each, Atom) else each for each in literals), wrong

    patch.setattr(Splitter, "_set", _set)


def groups_of_another_head(patch: pytest.MonkeyPatch) -> None:
    """The sets of what a call asks for grouped by what the head of that rule names."""
    whole = Asking.asks

    def asks(self: Asking, rule: Rule) -> Iterator[tuple[str, Rule]]:
        for called, part in whole(self, rule):
            unread = tuple(replace(one, groups=()) for one in part.sets)
            yield called, with_groups(replace(part, sets=unread))

    patch.setattr(Asking, "asks", asks)


def members_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """Members were taken to have one derivation each."""
    patch.setattr(Splitter, "_one_derivation", lambda _self, _members: True)


def named_by_text(patch: pytest.MonkeyPatch) -> None:
    """Hidden views were named by a text that leaves the types of constants open."""
    patch.setattr(split_aggregates, "_meaning", lambda rule: [print_rule(rule)])


def named_without_groups(patch: pytest.MonkeyPatch) -> None:
    """Hidden views of groups were named without how many columns group."""
    digest = split_aggregates._digest
    patch.setattr(split_aggregates, "_digest", lambda parts: digest([part for part in parts if not part.isdigit()]))


def named_without_parameters(patch: pytest.MonkeyPatch) -> None:
    """Hidden views of groups were named without the parameters of what they accumulate."""
    whole = Splitter._groups

    def _groups(self: Splitter, members: Any, groups: int, accumulators: tuple[Accumulator, ...], strategy: str) -> Any:
        found = whole(self, members, groups, accumulators, strategy)
        there = [view for view in self.made.values() if view.aggregation]
        return next((view for view in there if _alike(view.aggregation, found.aggregation)), found)

    patch.setattr(Splitter, "_groups", _groups)


def _alike(one: Any, other: Any) -> bool:
    bare = [[replace(each, parameter=None) for each in two.accumulators] for two in (one, other)]
    return (one.members, one.groups, bare[0]) == (other.members, other.groups, bare[1])
