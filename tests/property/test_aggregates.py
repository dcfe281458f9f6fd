"""Random programs with aggregates: two oracles, exact differentials, and what a refresh does without.

Programs with five batches each. Most are kept by `counting`, which leaves views of groups to `aggregate`, and by
strategies by lot; one in ten by every strategy (`auto` recomputes such tiny data more often than not). A difference is
printed as a `.case`.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from tests.property.aggregate_checks import Judged, judge
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import FIXED, Difference
from tests.refresh_cases import case_text

SEED = int(os.environ.get("FORESET_SEED", "80000000"))
LONG = int(os.environ.get("FORESET_FUZZ", "0")) // 10  # under `make fuzz`
PROGRAMS = int(os.environ.get("FORESET_PROGRAMS", max(350, LONG)))
CHUNK = 10
EVERY = 10  # one program of so many is maintained by every strategy


def _chunk(seeds: range) -> tuple[Judged, list[tuple[int, str]]]:
    total, bad = Judged(), list[tuple[int, str]]()
    for seed in seeds:
        try:
            total.add(judge(random_aggregates(seed), FIXED if seed % EVERY == 0 else ("counting",)))
        except Difference as difference:
            bad.append((seed, str(difference)))
    return total, bad


@pytest.mark.slow
def test_aggregates_are_exact() -> None:
    chunks = [range(s, min(s + CHUNK, SEED + PROGRAMS)) for s in range(SEED, SEED + PROGRAMS, CHUNK)]
    total, failed = Judged(), list[tuple[int, str]]()
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        for judged, bad in pool.map(_chunk, chunks):
            total.add(judged)
            failed += bad
    print(f"\nseeds from {SEED}: {total.tally}; DuckDB judged {total.by_sql} of {total.views}; {total.functions}")
    if failed:
        seed, text = failed[0]
        pytest.fail(f"{text}\n\n{case_text(random_aggregates(seed), f'Seed {seed}.')}", pytrace=False)
    tally = total.tally
    assert tally.programs == PROGRAMS
    assert tally.nights == 5 * PROGRAMS
    assert tally.moved >= 0.4 * tally.views
    assert tally.chosen["aggregate"] >= 10 * PROGRAMS
    assert tally.programs - tally.beyond >= 0.4 * tally.programs  # by clingo: counts, sums and extrema
    assert total.by_sql >= 0.9 * total.views
    assert set(total.functions) >= {"count", "sum", "min", "max", "avg", "stddev", "arg_min", "arg_max", "string_agg",
                                    "collect", "median", "percentile", "apart", "both", "mix", "average", "spread",
                                    "above", "total", "total_1", "filled"}  # fmt: skip
