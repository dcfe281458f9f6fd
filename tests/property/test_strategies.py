"""Random programs and nights: every admitted strategy, two oracles, exact differentials and counters.

FORESET_SEED names the first seed (printed with the tally), FORESET_PROGRAMS how many. A
difference is printed as a `.case` that can be committed, with the command that repeats it.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.checks import check
from tests.property.features import LEAST, features
from tests.property.fuzz import campaign, counterexample
from tests.property.programs import case_from, random_case
from tests.refresh_cases import case_text, parse_case

SEED = int(os.environ.get("FORESET_SEED", "20261118"))
PROGRAMS = int(os.environ.get("FORESET_PROGRAMS", "700"))  # `make fuzz` has many more
NON_EMPTY = 0.6  # of the deltas of views
IN_REACH = 0.8  # of the programs, of clingo


@pytest.mark.slow
def test_every_strategy_is_exact() -> None:
    total, failed, seconds = campaign(SEED, PROGRAMS)
    print(f"\nseeds from {SEED}: {total}; {seconds:.0f} s")
    if failed:
        again = f"python -m tests.property.fuzz --seed {failed[0]}"
        pytest.fail(f"{again}\n\n{counterexample(random_case(failed[0]))}", pytrace=False)
    assert total.programs == PROGRAMS
    assert total.nights == 5 * PROGRAMS
    assert total.moved >= NON_EMPTY * total.views
    assert total.programs - total.beyond >= IN_REACH * total.programs
    named = ("insert", "counting", "dred", "dredf", "dredc", "spread", "stdel", "recompute", "skip")
    assert min(total.chosen[name] for name in named) > 0


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_every_strategy_is_exact_and_shrinks(rng: Random) -> None:
    """The same with choices that Hypothesis makes, and so makes smaller."""
    check(case_from(rng))


def test_mix() -> None:
    """The generator makes what it should, often enough."""
    found: Counter[str] = Counter()
    number = 500
    for seed in range(SEED, SEED + number):
        found.update(features(random_case(seed)))
    rare = {name: 100 * found[name] / number for name, least in LEAST.items() if found[name] < least * number / 100}
    assert not rare, f"percent of the programs: {rare}"


def test_cases_can_be_committed() -> None:
    """Printed as a `.case` and read again, a random case is the same program and the same nights."""
    for seed in range(SEED, SEED + 100):
        case = random_case(seed)
        again = parse_case(case_text(case, f"Seed {seed}."), "found")
        assert again.program.sources == case.program.sources
        assert again.program.views == case.program.views, seed
        assert [_moved(night) for night in again.nights] == [_moved(night) for night in case.nights], seed


def _moved(night):
    return {name: delta for name, delta in night.items() if delta}
