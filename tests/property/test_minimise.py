"""A case that fails is made small before people see it."""

from __future__ import annotations

from unittest.mock import patch

from tests.property.checks import Difference, Procedures, Tally, copy_of, refresh, run_line, translated, truth
from tests.property.minimise import minimise
from tests.property.mutants import Mutant, planting
from tests.property.programs import random_case
from tests.refresh_cases import Case, always, case_text, parse_case

import foreset.testing.replica as replica_module
from foreset.testing.replica import Replica

NOT_TAKEN_BACK = Mutant(("dred", "delete", "merge red_next into red"), "dropped")


def verdict(case: Case) -> None:
    """DRed without its first rederivation, in strata that are not recursive."""
    facts = truth(case)
    replica = Replica(facts.program, facts.layering)
    refresh(replica, case, facts, 0, "load", always("recompute"), Tally())
    with patch.object(replica_module, "translate", Procedures(planting(NOT_TAKEN_BACK, translated))):
        run_line(case, facts, "dred", always("dred"), Tally(), copy_of(replica))


def fails(case: Case) -> bool:
    try:
        verdict(case)
    except Difference:
        return True
    return False


def size(case: Case) -> tuple[int, int, int]:
    """Nights, literals, and rows that come or go."""
    literals = sum(1 + len(rule.body) for rule in case.program.rules)
    rows = sum(len(delta.plus) + len(delta.minus) for night in case.nights for delta in night.values())
    return len(case.nights), literals, rows


def test_a_planted_bug_is_found_and_made_small() -> None:
    case = next(case for case in map(random_case, range(1000)) if fails(case))
    small = minimise(case, verdict)
    nights, literals, rows = size(small)
    assert fails(small)
    assert (nights, literals, rows) <= size(case)
    assert nights == 2
    assert literals <= 6
    assert rows <= 6


def test_a_small_case_can_be_committed() -> None:
    small = minimise(next(case for case in map(random_case, range(1000)) if fails(case)), verdict)
    again = parse_case(case_text(small, "Two derivations, one lost."), "two")
    assert fails(again)
