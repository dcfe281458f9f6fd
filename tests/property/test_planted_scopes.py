"""Faults planted in what sets group by and what stands around them: random programs find each, without being told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from tests.property.aggregate_checks import by_duckdb
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import truth
from tests.property.test_asking import compared

from foreset.analyse import scopes
from foreset.diagnostics import Diagnostic
from foreset.ir.rules import Atom, DomainCall, Rule, SetOf
from foreset.rewrite import settle_sets, split_aggregates
from foreset.rewrite.givers import Givers

pytestmark = pytest.mark.slow
SEED = 92_000_000
PROGRAMS = 400

Plant = Callable[[pytest.MonkeyPatch], None]


def braces_are_deaf(patch: pytest.MonkeyPatch) -> None:
    """What a `setof` groups by does not group braces."""
    beside = scopes.named_beside

    def named(one: SetOf, rule: Rule) -> frozenset[str]:
        return beside(one, replace(rule, sets=tuple(replace(each, local=True) for each in rule.sets)))

    patch.setattr(scopes, "named_beside", named)


def nothing_around(patch: pytest.MonkeyPatch) -> None:
    """Outer variables have no value."""
    patch.setattr(settle_sets, "_with_around", lambda one, givers: one)  # noqa: ARG005 - in place of another


def names_meet(patch: pytest.MonkeyPatch) -> None:
    """Local variables of a set are those of the rule around it that have the same name."""
    patch.setattr(split_aggregates, "_renamed_apart", lambda around, one: around.body if around else ())  # noqa: ARG005


def other_sets_are_not_around(patch: pytest.MonkeyPatch) -> None:
    """What gives an outer variable its value may be an aggregate: its groups are left out."""
    split = split_aggregates.Splitter.split

    def splitted(self: split_aggregates.Splitter, rule: Rule, strategy: str) -> tuple[Rule, tuple[Diagnostic, ...]]:
        found, wrong = split(self, rule, strategy)
        if rule.head.relation == "":  # a part that stands around a set
            found = replace(found, body=tuple(one for one in found.body if not (isinstance(one, Atom) and one.groups)))
        return found, wrong

    patch.setattr(split_aggregates.Splitter, "split", splitted)


@pytest.mark.parametrize("plant", [braces_are_deaf, nothing_around, names_meet, other_sets_are_not_around])
def test_random_programs_find_it(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    for seed in range(SEED, SEED + PROGRAMS):
        try:
            case = random_aggregates(seed)
            by_duckdb(case, truth(case))
        except Exception as wrong:  # noqa: BLE001 - a crash is found too
            print(f"{plant.__name__}: after {seed - SEED + 1} programs, {type(wrong).__name__}")
            return
    pytest.fail(f"{PROGRAMS} random programs do not find it", pytrace=False)


def test_random_rules_find_a_forgotten_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of what is asked decides anew by what its sets group."""
    asked = Givers.asked

    def forgetful(self: Givers, call: DomainCall, head: Atom) -> Rule:
        part = asked(self, call, head)
        return scopes.with_groups(replace(part, sets=tuple(replace(one, groups=()) for one in part.sets)))

    monkeypatch.setattr(Givers, "asked", forgetful)
    rng = Random(0)
    for number in range(PROGRAMS):
        try:
            compared(rng)
        except AssertionError:
            print(f"forgotten group: after {number + 1} programs")
            return
    pytest.fail(f"{PROGRAMS} random rules do not find it", pytrace=False)
