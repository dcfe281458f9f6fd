"""`make fuzz-check N=...`: specs with mutated rules, none of which may end in an internal error.

    python -m tests.property.check_fuzz --specs 20000      from seed 0, or from --start
    python -m tests.property.check_fuzz --seed 381         one spec again, printed, with the traceback

Each spec is understood as `foreset check` does; where nothing refuses it, everything that `explain` and a DAG's page
say of it is made, the steps of every admitted strategy, and its unit tests are run, whose strategies must agree. All
failures are told, each kind once.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tests.property.mutated_specs import mutated

from foreset.explain.steps import describe
from foreset.explain.strata import facts_of
from foreset.explain.text import maintenance_text, overview, steps_text, stratum_text
from foreset.ir.strata import Stratum
from foreset.orchestrate.docs import page
from foreset.plan.fingerprint import fingerprints
from foreset.plan.translate import translate
from foreset.render import render_text
from foreset.spec.load import load_text
from foreset.testing.run import INTERNAL as INTERNAL_ERROR
from foreset.testing.run import run_tests
from foreset.understand import Understood, understand

INTERNAL = "FS640"
ROUNDS = 12  # of recursion in unit tests: mutated ones may not end
SLOW = 5.0  # seconds of CPU for one spec


class Crash(AssertionError):
    """An internal error, with the seed that shows it."""


def crashes(seed: int) -> tuple[Understood, str]:
    """What a spec comes to, and the traceback of its internal error; empty where there is none."""
    caught = _Caught()
    log = logging.getLogger("foreset")
    log.addHandler(caught)
    level = log.level
    log.setLevel(logging.DEBUG)
    try:
        text = mutated(seed)
        found = understand(load_text(text))
        render_text(found.diagnostics, {"spec.yaml": text})
        if any(fault.code == INTERNAL for fault in found.diagnostics):
            return found, caught.text or "an internal error without a traceback"
        try:
            if not found.errors:
                planned(found)
        except Exception:  # noqa: BLE001 - what this looks for
            return found, caught.text or traceback.format_exc()
        return found, ""
    finally:
        log.setLevel(level)
        log.removeHandler(caught)


def planned(found: Understood) -> None:
    """All that is said of a sound spec without data, and its tests."""
    assert found.written is not None
    assert found.program is not None
    assert found.layering is not None
    page(found.written, found.layering)
    fingerprints(found.program, found.layering)
    facts = facts_of(found.program, found.layering)
    overview(found.program.group, facts)
    by_number: dict[int, Stratum] = {stratum.number: stratum for stratum in found.layering.strata}
    for stratum in facts:
        list(stratum_text(stratum))
        for view in stratum.views:
            list(maintenance_text(view))
        for strategy in stratum.strategies:
            if strategy.admitted and not by_number[stratum.number].own_way:
                steps = describe(translate(by_number[stratum.number], strategy.strategy), found.program.columns_of())
                list(steps_text(strategy.strategy, steps))
    for outcome in run_tests(found.written, replace(found.program, max_rounds=ROUNDS), found.layering):
        assert not outcome.error.startswith(INTERNAL_ERROR), outcome.error
        wrong = {} if outcome.own else outcome.faults or {}  # own inverses may be false where nobody can prove it
        assert not wrong, f"strategies differ from full evaluation: {sorted(wrong)}"


class _Caught(logging.Handler):
    """The traceback of the last internal error."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.text = "".join(traceback.format_exception(record.exc_info[1]))


def where(trace: str) -> str:
    """The line of Foreset where it happened, and what: two seeds with the same are one fault."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    places = [line for line in lines if line.startswith("File") and "foreset" in line]
    return f"{places[-1] if places else '?'}: {lines[-1][:120]}"


def run(start: int, specs: int) -> int:
    """Seeds `start` to `start + specs - 1`; how many ended in an internal error."""
    kinds: Counter[str] = Counter()
    codes: set[str] = set()
    passed, began = 0, time.process_time()
    for seed in range(start, start + specs):
        before = time.process_time()
        found, trace = crashes(seed)
        spent = time.process_time() - before
        passed += not found.errors
        codes.update(fault.code for fault in found.diagnostics)
        if spent > SLOW:
            print(f"seed {seed}: {spent:.1f} s", flush=True)
        if trace:
            kind = where(trace)
            if not kinds[kind]:
                print(f"seed {seed}: {kind}", flush=True)
            kinds[kind] += 1
        if (seed - start + 1) % 1000 == 0:
            print(f"{seed - start + 1:,} specs, {passed:,} sound, {sum(kinds.values())} internal errors", flush=True)
    spent = time.process_time() - began
    print(f"{specs:,} specs from seed {start}: {passed:,} sound, {len(codes)} codes, {spent:.0f} s of CPU")
    for kind, number in kinds.most_common():
        print(f"  {number} times {kind}")
    print(f"{sum(kinds.values())} internal errors")
    return sum(kinds.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse arguments, run, report; 1 when there was an internal error."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.check_fuzz", description="Mutated specs")
    parser.add_argument("--specs", type=int, default=20_000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="only this one")
    options = parser.parse_args(arguments)
    if options.seed is None:
        return int(run(options.start, options.specs) > 0)
    print(mutated(options.seed))
    found, trace = crashes(options.seed)
    print(render_text(found.diagnostics, {}), trace, sep="\n")
    return int(bool(trace))


if __name__ == "__main__":
    sys.exit(main())
