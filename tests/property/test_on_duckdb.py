"""Random programs on the in-process reader; more by `python -m tests.property.fuzz --reader inproc`."""

from __future__ import annotations

import pytest
from tests.duckdb_reader import DuckDBReader
from tests.property.aggregate_programs import random_aggregates
from tests.property.on_duckdb import check_in_process
from tests.property.programs import random_case
from tests.refresh_cases import evaluated, run_strategy

SEED = 88_000
PROGRAMS = 12


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS))
def test_random_program(seed: int) -> None:
    tally = check_in_process(random_case(seed))
    assert tally.refreshes == 6


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_random_aggregates(seed: int) -> None:
    assert check_in_process(random_aggregates(seed)).refreshes == 6


@pytest.mark.parametrize("large", [50_000, 0], ids=["joins", "looks"])
def test_supports_of_random_programs(large: int) -> None:
    """By StDel wherever supports can be kept; with `large` low, small tables are looked up as large ones are."""
    ran = 0
    for seed in range(SEED + 500, SEED + 500 + PROGRAMS // 2):
        case = random_case(seed)
        shown, never = run_strategy(case, DuckDBReader(large=large), "stdel")
        assert shown == evaluated(case), seed
        ran += not never
    assert ran > 2


def test_that_the_programs_do_something() -> None:
    """Half of the views' differentials and more are not empty, or the test above says little."""
    total = check_in_process(random_case(SEED))
    for seed in range(SEED + 1, SEED + 4):
        total.add(check_in_process(random_case(seed)))
    assert total.moved > 0.3 * total.views
    assert len(total.chosen) > 3
