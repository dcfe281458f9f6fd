"""The tests have teeth: bugs planted in the procedures are caught, but for those that change no outcome.

The whole list runs under `make fuzz`; `make test` takes a part of it, another one for each seed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from random import Random
from unittest.mock import patch

import pytest
from tests.property.checks import Difference, Procedures, Tally, Truth, copy_of, refresh, run_line, translated, truth
from tests.property.equivalents import equivalent
from tests.property.mutants import Mutant, places, planting
from tests.property.programs import random_case
from tests.refresh_cases import Case, always

import foreset.reference.replica as replica_module
from foreset.reference.replica import Replica

pytestmark = pytest.mark.slow
SEED = int(os.environ.get("FORESET_SEED", "20261118"))
WHOLE = "FORESET_FUZZ" in os.environ
PROGRAMS = 300 if WHOLE else 120
SAMPLE = 10_000 if WHOLE else 60
CAUGHT = 0.95
STRATEGIES = ("insert", "counting", "dred", "dredc", "recompute")
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
            if not (strategy == "counting" and stratum.recursive):
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
    alive = {}
    for mutant in mutants:
        fitting = [ready for ready, found in zip(cases, room, strict=True) if mutant in found]
        if not any(catches(mutant, ready) for ready in fitting):
            alive[mutant] = len(fitting)
    return alive


def test_planted_bugs_are_caught() -> None:
    cases = [known(seed) for seed in range(SEED, SEED + PROGRAMS)]
    every = sorted({mutant for ready in cases for mutant in rooms(ready)})
    sample = every if len(every) <= SAMPLE else sorted(Random(SEED).sample(every, SAMPLE))
    judged = [mutant for mutant in sample if not equivalent(mutant)]
    alive = survivors(judged, cases)
    shown = "\n".join(f"  {mutant} (room in {count} programs)" for mutant, count in alive.items())
    print(f"\n{len(every)} mutants, {len(sample)} taken, {len(sample) - len(judged)} change no outcome, "
          f"{len(judged) - len(alive)} of {len(judged)} caught; alive:\n{shown or '  none'}")  # fmt: skip
    assert len(judged) - len(alive) >= CAUGHT * len(judged), shown


def test_what_is_called_equivalent_is() -> None:
    """A mutant that is said to change no outcome does not: if it is caught, the reason is wrong."""
    cases = [known(seed) for seed in range(SEED, SEED + PROGRAMS // 4)]
    every = sorted({mutant for ready in cases for mutant in rooms(ready) if equivalent(mutant)})
    sample = every if WHOLE else sorted(Random(SEED).sample(every, min(len(every), 12)))
    alive = survivors(sample, cases)
    assert not set(sample) - set(alive), [str(mutant) for mutant in sample if mutant not in alive]
