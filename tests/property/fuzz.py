"""`make fuzz N=...`: random programs and nights, every strategy against two oracles.

    python -m tests.property.fuzz --programs 50000      from a seed of its own, which it prints
    python -m tests.property.fuzz --seed 381            one program again, as a `.case` if it fails
    python -m tests.property.fuzz --reader inproc       strategies by lot on the in-process reader
    python -m tests.property.fuzz --pure 2000 --in-process 500      half of each with aggregates, one after the other

Two processes. The first difference ends the run: the case is made small, and printed as it
would be committed under tests/cases/refresh/.
"""

from __future__ import annotations

import argparse
import datetime as dt
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from random import SystemRandom

from tests.property.aggregate_checks import judge
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import FIXED, Difference, Tally, check, truth
from tests.property.minimise import minimise
from tests.property.on_duckdb import check_in_process
from tests.property.programs import random_case
from tests.refresh_cases import Case, case_text, with_expectation

CHUNK = 25
PROCESSES = 2
Check = Callable[[Case], Tally]
CHECKS: dict[str, Check] = {
    "reference": check,
    "aggregates": lambda case: judge(case, FIXED if case.seed % EVERY == 0 else ("counting",)).tally,
    "inproc": check_in_process,
    "inproc-aggregates": check_in_process,
}
EVERY = 10  # one program of so many that aggregate is maintained by every strategy
PURE, IN_PROCESS = ("reference", "aggregates"), ("inproc", "inproc-aggregates")


def made(seed: int, reader: str) -> Case:
    """The program of a seed."""
    return random_aggregates(seed) if reader.endswith("aggregates") else random_case(seed)


def main(arguments: list[str] | None = None) -> int:
    """Parse arguments, run, report; 1 when there was a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.fuzz", description="Random programs")
    parser.add_argument("--programs", type=int, default=50_000, help="how many")
    parser.add_argument("--start", type=int, help="the first seed (default: by lot)")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after that long (default: never)")
    parser.add_argument("--reader", choices=tuple(CHECKS), default="reference", help="what runs the steps")
    parser.add_argument("--pure", type=int, default=0, help="so many in all by the reference, half with aggregates")
    parser.add_argument("--in-process", type=int, default=0, help="so many in all in process, half with aggregates")
    options = parser.parse_args(arguments)
    if options.pure or options.in_process:
        return every(options.pure, options.in_process, options.start)
    if options.seed is not None:
        return _report_one(options.seed, options.reader)
    start = SystemRandom().randrange(10**9) if options.start is None else options.start
    return run(start, options.programs, options.minutes, options.reader)


def every(pure: int, in_process: int, start: int | None = None) -> int:
    """Some programs on each reader, until a difference."""
    first = SystemRandom().randrange(10**9) if start is None else start
    for readers, programs in ((PURE, pure), (IN_PROCESS, in_process)):
        for reader in readers if programs else ():
            print(f"-- {reader}", flush=True)
            if run(first, programs // len(readers), reader=reader):
                return 1
    return 0


def run(start: int, programs: int, minutes: float = 0.0, reader: str = "reference") -> int:
    """Seeds `start` to `start + programs - 1`, as people watch it."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    print(f"seeds {start} to {start + programs - 1}, {now}, {_commit()}", flush=True)
    total, failed, seconds = campaign(start, programs, minutes, reader)
    print(f"{total}; {seconds:,.0f} s; {len(failed)} differences")
    for seed in failed[:1]:
        _report_one(seed, reader)
    return 1 if failed else 0


def campaign(
    start: int, programs: int, minutes: float = 0.0, reader: str = "reference"
) -> tuple[Tally, list[int], float]:
    """What `programs` seeds from `start` came to, the first seeds that failed, and the seconds."""
    began = time.monotonic()
    total = Tally()
    failed: list[int] = []
    chunks = iter([range(s, min(s + CHUNK, start + programs)) for s in range(start, start + programs, CHUNK)])
    with ProcessPoolExecutor(PROCESSES, get_context("fork")) as pool:
        for tally, bad in _results(pool, chunks, reader):
            total.add(tally)
            failed += bad
            spent = time.monotonic() - began
            if total.programs // 500 != (total.programs - tally.programs) // 500:
                print(f"{spent:7.0f} s  {total.programs:,} programs, {len(failed)} differences", flush=True)
            if failed or (minutes and spent > 60 * minutes):
                pool.shutdown(wait=False, cancel_futures=True)
                break
    return total, failed, time.monotonic() - began


def _results(pool: ProcessPoolExecutor, chunks: Iterator[range], reader: str) -> Iterator[tuple[Tally, list[int]]]:
    """Results as they come, with few chunks waiting."""
    pending: set[Future[tuple[Tally, list[int]]]] = {
        pool.submit(_chunk, c, reader) for c in islice(chunks, 2 * PROCESSES)
    }
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        pending |= {pool.submit(_chunk, c, reader) for c in islice(chunks, len(done))}
        for future in done:
            yield future.result()


def _chunk(seeds: range, reader: str) -> tuple[Tally, list[int]]:
    total, failed = Tally(), []
    for seed in seeds:
        try:
            total.add(CHECKS[reader](made(seed, reader)))
        except Difference:
            failed.append(seed)
    return total, failed


def _report_one(seed: int, reader: str) -> int:
    """Run one seed; print the smallest case that fails."""
    try:
        print(f"seed {seed}: {CHECKS[reader](made(seed, reader))}")
    except Difference as difference:
        print(f"seed {seed}: {difference}\n")
        print(counterexample(made(seed, reader), CHECKS[reader]))
        return 1
    return 0


def counterexample(case: Case, check: Check = check) -> str:
    """The smallest case that fails as text, with what the oracles expect if they agree."""
    small = minimise(case, check)
    try:
        facts = truth(small)
        names = [view.name for view in small.program.views]
        deltas = [{name: facts.delta(night, name) for name in names} for night in range(len(small.nights))]
        small = with_expectation(small, deltas)
    except Difference as difference:
        return case_text(small, f"Found by seed {case.seed}: {difference}")
    return case_text(small, f"Found by seed {case.seed}.")


def _commit() -> str:
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no commit known"
    return f"commit {done.stdout.strip()}"


if __name__ == "__main__":
    sys.exit(main())
