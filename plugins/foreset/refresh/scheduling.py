"""Strata in the order of what they read, independent ones at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from foreset.errors import UsageError
from foreset.ir.strata import Layering, Stratum

WIDTH = 2
VARIABLE = "FORESET_PARALLEL"
PAUSE = 0.5  # seconds between two requests to stop


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
