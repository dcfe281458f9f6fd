"""Slips planted in the rewriting of sets: random programs find each, without being told what to look for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests import planted_sets
from tests.planted_sets import Slip
from tests.property.aggregate_checks import by_duckdb
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import Difference, Truth, check
from tests.refresh_cases import Case, evaluated_state, in_normal_form

pytestmark = pytest.mark.slow
SEED = 93_000_000
PROGRAMS = 600


def judged(case: Case) -> None:
    """Full evaluation of what the rules were rewritten to, against DuckDB's of the rules as written."""
    program, layering = in_normal_form(case.program)
    states = tuple(evaluated_state(program, layering, case.nights[:nights]) for nights in (1, len(case.nights)))
    by_duckdb(case, Truth(program, layering, states, None))


def kept(case: Case) -> None:
    """Nights by `counting`."""
    check(case, lines=("counting",))


@pytest.mark.parametrize(
    ("slip", "look"),
    [
        (planted_sets.labels_without_parameters, judged),
        (planted_sets.sets_of_one_name, judged),
        (planted_sets.null_groups_joined, judged),
        (planted_sets.members_counted_twice, kept),
        (planted_sets.named_by_text, judged),
        (planted_sets.named_without_groups, judged),
        (planted_sets.named_without_parameters, judged),
    ],
    ids=lambda one: one.__name__,
)
def test_random_programs_find_it(slip: Slip, look: Callable[[Case], None]) -> None:
    for seed in range(SEED, SEED + PROGRAMS):
        case = random_aggregates(seed)
        with pytest.MonkeyPatch.context() as patch:
            slip(patch)
            try:
                look(case)
            except (Difference, AssertionError, ValueError, KeyError) as found:
                print(f"\n{slip.__name__}: after {seed - SEED + 1} programs: {type(found).__name__} {str(found)[:200]}")
                return
    pytest.fail(f"{PROGRAMS} programs did not find it")
