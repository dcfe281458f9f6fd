"""Random linear recursions: `spread` and every other strategy against two oracles, and in process.

FORESET_PROGRAMS says how many; a difference is printed as a `.case` that can be committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.duckdb_reader import DuckDBReader
from tests.property.checks import Difference, Tally, check, truth
from tests.property.linear_programs import random_linear
from tests.refresh_cases import Case, case_text, evaluated, in_normal_form, run_strategy

from foreset.plan.translate import refusal

SEED = int(os.environ.get("FORESET_SEED", "420000"))
PROGRAMS = int(os.environ.get("FORESET_PROGRAMS", "300"))


def cases(number: int) -> Iterator[Case]:
    return (random_linear(seed) for seed in range(SEED, SEED + number))


@pytest.mark.slow
def test_every_strategy_is_exact() -> None:
    total = Tally()
    for case in cases(PROGRAMS):
        try:
            total.add(check(case, lines=("spread", "dred", "auto")))
        except Difference as error:
            pytest.fail(f"{error}\n\n{case_text(case, str(error))}", pytrace=False)
    print(f"\nseeds from {SEED}: {total}")
    assert total.chosen["spread"] > 3 * PROGRAMS
    assert total.moved > 0.5 * total.views
    assert total.beyond < 0.2 * total.programs


def test_in_process() -> None:
    ran = 0
    for case in cases(PROGRAMS // 6):
        shown, never = run_strategy(case, DuckDBReader(), "spread")
        assert shown == evaluated(case), case_text(case, f"Seed {case.seed}.")
        ran += not never
    assert ran > 0.8 * (PROGRAMS // 6)


def test_mix() -> None:
    """The generator makes what it should, often enough."""
    found = {"admitted": 0, "NULL": 0, "moved twice": 0, "three columns": 0, "negation": 0}
    for case in cases(100):
        (stratum,) = (one for one in in_normal_form(case.program)[1].strata if "v" in one.names)
        found["admitted"] += not refusal(stratum, "spread")
        found["NULL"] += any(None in row for night in case.nights for delta in night.values() for row in delta.plus)
        found["three columns"] += len(stratum.views[0].columns) == 3
        found["negation"] += not stratum.monotone
        states = truth(case).states
        found["moved twice"] += sum(a["v"] != b["v"] for a, b in pairwise(states)) > 1
    assert min(found.values()) > 20, found
    assert found["admitted"] > 80, found
