"""The tests have teeth: bugs planted in the procedures are caught, but for those that change no outcome.

Those that live are printed: bugs that show only where two rare things meet on one night.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from unittest.mock import patch

import pytest
from tests.property.checks import Difference, Procedures, Tally, Truth, copy_of, refresh, run_line, translated, truth
from tests.property.equivalents import REASONS, equivalent
from tests.property.mutants import Mutant, places, planting
from tests.property.programs import random_case
from tests.refresh_cases import Case, always

import foreset.testing.replica as replica_module
from foreset.plan.translate import refusal
from foreset.testing.replica import Replica

pytestmark = pytest.mark.slow
SEED = int(os.environ.get("FORESET_SEED", "20261118"))
WHOLE = "FORESET_FUZZ" in os.environ
PROGRAMS = 600 if WHOLE else 150
PROCESSES = 2
CAUGHT = 0.95
STRATEGIES = ("insert", "counting", "dred", "dredc", "spread", "recompute")
ROUNDS = 60  # more than any of these programs needs, and soon reached by a loop without end


@dataclass(frozen=True, slots=True)
class Known:
    """A case with its truth, loaded once."""

    case: Case
    truth: Truth
    loaded: Replica


def known(seed: int) -> Known:
    case = random_case(seed)
    facts = truth(case)
    facts = replace(facts, program=replace(facts.program, max_rounds=ROUNDS))
    replica = Replica(facts.program, facts.layering)
    refresh(replica, case, facts, 0, "load", always("recompute"), Tally())
    return Known(case, facts, replica)


def rooms(ready: Known) -> set[Mutant]:
    """The mutants that the procedures of a case have room for."""
    found: set[Mutant] = set()
    for stratum in ready.truth.layering.strata:
        for strategy in STRATEGIES:
            if not refusal(stratum, strategy):
                found.update(places(translated(stratum, strategy, counted=True)))
    return found


def catches(mutant: Mutant, ready: Known) -> bool:
    """True when the nights of a case show the bug."""
    strategy = mutant.role[0]

    def translator(stratum, name, counted):
        given = planting(mutant, translated) if name == strategy else translated
        return given(stratum, name, counted)

    loaded = copy_of(ready.loaded)
    loaded.keep_counters = True
    with patch.object(replica_module, "translate", Procedures(translator)):
        try:
            run_line(ready.case, ready.truth, strategy, always(strategy), Tally(), loaded)
        except Difference:
            return True
    return False


def survivors(mutants: list[Mutant], cases: list[Known]) -> dict[Mutant, int]:
    """The mutants that no case catches, with the number of cases that had room for them."""
    room = [rooms(ready) for ready in cases]
    fitting = {m: [ready for ready, found in zip(cases, room, strict=True) if m in found] for m in mutants}
    _SHARED.clear()
    _SHARED.update(fitting)
    with ProcessPoolExecutor(PROCESSES, get_context("fork")) as pool:
        caught = list(pool.map(_is_caught, mutants, chunksize=4))
    return {m: len(fitting[m]) for m, found in zip(mutants, caught, strict=True) if not found}


_SHARED: dict[Mutant, list[Known]] = {}  # inherited by the processes


def _is_caught(mutant: Mutant) -> bool:
    return any(catches(mutant, ready) for ready in _SHARED[mutant])


def test_planted_bugs_are_caught() -> None:
    cases = [known(seed) for seed in range(SEED, SEED + PROGRAMS)]
    every = sorted({mutant for ready in cases for mutant in rooms(ready)})
    judged = [mutant for mutant in every if not equivalent(mutant)]
    alive = survivors(judged, cases)
    shown = "\n".join(f"  {mutant} (room in {count} programs)" for mutant, count in alive.items())
    print(f"\n{len(every)} mutants, {len(every) - len(judged)} change no outcome, "
          f"{len(judged) - len(alive)} of {len(judged)} caught; alive:\n{shown or '  none'}")  # fmt: skip
    assert len(judged) - len(alive) >= CAUGHT * len(judged), shown


def test_what_is_called_equivalent_is() -> None:
    """A mutant that is said to change no outcome does not: if it is caught, the reason is wrong."""
    cases = [known(seed) for seed in range(SEED, SEED + PROGRAMS // 3)]
    listed = sorted({mutant for ready in cases for mutant in rooms(ready) if equivalent(mutant)})
    wrong = set(listed) - set(survivors(listed, cases))
    assert not wrong, sorted(map(str, wrong))


def test_every_reason_is_needed() -> None:
    cases = [known(seed) for seed in range(SEED, SEED + PROGRAMS // 3)]
    given = {equivalent(mutant) for ready in cases for mutant in rooms(ready)}
    assert {reason for reason, _ in REASONS} <= given
