"""The stages of a refresh at work: one of them, or all in their order; independent strata at the same time.

`plan/stages.py` says which there are and what may end the refresh after each; what they do is said here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

from foreset.errors import UsageError
from foreset.ir.strata import Layering, Stratum
from foreset.plan import stages
from foreset.plan.frozen import Request
from foreset.plan.stages import EachSource, EachStratum, Ending, Once, Status, Working
from foreset.records.strata import StratumRecord
from foreset.refresh.capturing import capture_sources, nothing_moved
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit, publish
from foreset.refresh.context import Context
from foreset.refresh.domain_phase import nothing_new
from foreset.refresh.engines import shared_looks
from foreset.refresh.maintaining import maintain
from foreset.refresh.quality import quality
from foreset.refresh.record_failure import at_stage, failures_told
from foreset.session.lazy import activate, interrupt
from foreset.store.epochs import close_run

DOES: dict[Once | EachSource, Callable[[Context], Any]] = {
    stages.CAPTURE: capture_sources,
    stages.VERIFY: verify,
    stages.QUALITY: quality,
    stages.COMMIT: commit,
    stages.PUBLISH: publish,
}
HOLDS: dict[Ending, Callable[[Context, Request], bool]] = {
    stages.NOTHING_MOVED: lambda context, _: nothing_moved(context),
    stages.NOTHING_NEW: lambda context, _: nothing_new(context),
    stages.TRIAL: lambda _, request: request.dry_run,
}
WIDTH = 2
VARIABLE = "FORESET_PARALLEL"
PAUSE = 0.5  # seconds between two requests to stop


def through(context: Context, request: Request) -> Status:
    """Every stage of an open run, in this process, until the refresh ends; how it has ended."""
    for stage in stages.WORKING:
        with failures_told(context, stage):
            if isinstance(stage, EachStratum):
                _strata(context, stage)
            else:
                DOES[stage](context)
            ending = ending_of(context, request, stage)
            if ending is not None:
                close_run(context.run, ending.status)
                return ending.status
    return Status.COMMITTED


def ending_of(context: Context, request: Request, stage: Working) -> Ending | None:
    """What ends the refresh after this stage, which is through; None where it goes on."""
    return next((ending for ending in stage.ends if HOLDS[ending](context, request)), None)


def one_stratum(context: Context, stage: EachStratum, number: int, *, in_parts: bool = False) -> StratumRecord:
    """Maintain the stratum of that number."""
    activate(context.spark)  # pyspark knows the active session by thread
    with at_stage(stages.mark(stage, number)):
        return maintain(context, number, in_parts=in_parts)


def _strata(context: Context, stage: EachStratum) -> None:
    with shared_looks(context):
        run_strata(
            context.layering, lambda number: one_stratum(context, stage, number), width(),
            lambda: interrupt(context.spark),
        )  # fmt: skip


def width() -> int:
    """How many strata may be at work at the same time."""
    text = os.environ.get(VARIABLE, "") or str(WIDTH)
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(
            f"{VARIABLE} is {text!r}", f"give how many strata may run at the same time: 1 or more (default {WIDTH})"
        )
    return int(text)


def run_strata(
    layering: Layering, work: Callable[[int], object], at_once: int, interrupt: Callable[[], object] = lambda: None
) -> None:
    """Call `work` with the number of each stratum once all strata that it reads are done, `at_once` side by side.

    When one fails no other begins, `interrupt` is asked to cut short those at work, and when they have
    ended the first error is raised.
    """
    if at_once == 1 or not _branches(layering):
        for stratum in layering.strata:  # in this thread: nothing is gained by another
            work(stratum.number)
        return
    waiting = {stratum.number: stratum for stratum in layering.strata}
    done: set[int] = set()
    running: dict[Future[object], int] = {}
    failures: list[BaseException] = []

    def tried(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)  # in the order of time, which futures do not keep
            raise

    with ThreadPoolExecutor(at_once, thread_name_prefix="stratum") as pool:
        try:
            while (waiting or running) and not failures:
                for number in _ready(waiting, done)[: at_once - len(running)]:
                    del waiting[number]
                    running[pool.submit(tried, number)] = number
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                done |= {running.pop(future) for future in ended}
        finally:  # after an error, or an interrupt from the keyboard, which comes to this thread
            while running:
                with suppress(Exception):  # Spark may be what has failed
                    interrupt()
                ended, _ = wait(running, timeout=PAUSE)  # one that was between two jobs is asked again
                for future in ended:
                    del running[future]
    if failures:
        raise failures[0]


def _ready(waiting: dict[int, Stratum], done: set[int]) -> list[int]:
    return [number for number, stratum in sorted(waiting.items()) if done.issuperset(stratum.depends_on)]


def _branches(layering: Layering) -> bool:
    """Whether two strata can ever be at work together."""
    levels = [stratum.level for stratum in layering.strata]
    return len(set(levels)) < len(levels)
