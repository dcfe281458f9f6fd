"""Slips planted in the rewriting of sets: random programs find each, without being told what to look for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests import planted_sets
from tests.planted_sets import Slip
from tests.property.aggregate_checks import by_duckdb
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import Truth, check
from tests.refresh_cases import Case, evaluated_state, in_normal_form

pytestmark = pytest.mark.slow
SEED = 93_000_000
PROGRAMS = 800


def judged(case: Case) -> None:
    """Full evaluation of what the rules were rewritten to, against DuckDB's of the rules as written."""
    program, layering = in_normal_form(case.program)
    states = tuple(evaluated_state(program, layering, case.nights[:nights]) for nights in (1, len(case.nights)))
    by_duckdb(case, Truth(program, layering, states, None))


def kept(case: Case) -> None:
    """Nights by `counting`."""
    check(case, lines=("counting",))


SLIPS: dict[Slip, Callable[[Case], None]] = {
    planted_sets.labels_without_parameters: judged,
    planted_sets.sets_of_one_name: judged,
    planted_sets.null_groups_joined: judged,
    planted_sets.members_counted_twice: kept,
    planted_sets.named_by_text: judged,
    planted_sets.named_without_groups: judged,
}


def seen(slip: Slip, case: Case) -> bool:
    """Whether the program has wrong rows with the slip, or a crash."""
    with pytest.MonkeyPatch.context() as patch:
        slip(patch)
        try:
            SLIPS[slip](case)
        except (AssertionError, ValueError, KeyError, TypeError):
            return True
    return False


def test_random_programs_find_each_slip() -> None:
    left, found = dict.fromkeys(SLIPS), dict[str, int]()
    for number in range(PROGRAMS):
        case = random_aggregates(SEED + number)
        for slip in [slip for slip in left if seen(slip, case)]:
            del left[slip]
            found[slip.__name__] = number + 1
        if not left:
            break
    print(f"\nprograms until each was found: {found}")
    assert not left, [slip.__name__ for slip in left]
