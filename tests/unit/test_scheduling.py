"""Strata side by side: the order, the number at once, and what an error does to the others."""

from __future__ import annotations

import threading

import pytest

from foreset.errors import UsageError
from foreset.ir.strata import Layering, Stratum
from foreset.refresh import runner
from foreset.refresh.runner import run_strata, width

PATIENCE = 60.0  # seconds until a test gives up; nothing waits for so long


def layering(*below: tuple[int, ...]) -> Layering:
    """Strata 1, 2 ..., each with the numbers of those that it reads."""
    levels: list[int] = []
    strata = []
    for number, depends in enumerate(below, 1):
        levels.append(1 + max((levels[other - 1] for other in depends), default=0))
        strata.append(Stratum(number, levels[-1], (), False, True, False, (), depends))
    return Layering(tuple(strata))


DIAMOND = layering((), (1,), (1,), (2, 3), ())


def test_a_stratum_begins_when_all_that_it_reads_is_done() -> None:
    done: list[int] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        with lock:
            assert set(DIAMOND.strata[number - 1].depends_on) <= set(done)
        with lock:
            done.append(number)

    for at_once in (1, 2, 3, 8):
        done.clear()
        run_strata(DIAMOND, work, at_once)
        assert sorted(done) == [1, 2, 3, 4, 5]


def test_independent_ones_are_at_work_together_and_no_more_than_allowed() -> None:
    meeting = threading.Barrier(2)  # opens only when two are at work
    lock = threading.Lock()
    at_work: set[int] = set()
    most = 0

    def work(number: int) -> None:
        nonlocal most
        with lock:
            at_work.add(number)
            most = max(most, len(at_work))
        meeting.wait(PATIENCE)
        with lock:
            at_work.remove(number)

    run_strata(layering((), (), (), ()), work, 2)
    assert most == 2


def test_a_chain_stays_in_this_thread() -> None:
    threads = set()
    run_strata(layering((), (1,), (2,)), lambda _: threads.add(threading.current_thread()), 4)
    assert threads == {threading.current_thread()}


def test_the_first_error_is_raised_and_the_others_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    begun: list[int] = []
    second_runs, asked = threading.Event(), threading.Semaphore(0)

    def work(number: int) -> None:
        begun.append(number)
        if number == 1:
            assert second_runs.wait(PATIENCE)
            raise ValueError("the first")
        second_runs.set()
        for _ in range(3):  # busy between two jobs when it is asked: only a later request is heard
            assert asked.acquire(timeout=PATIENCE)
        raise RuntimeError("the second, because it was interrupted")

    with pytest.raises(ValueError, match="the first"):
        run_strata(layering((), (), (1,), ()), work, 2, asked.release)
    assert sorted(begun) == [1, 2]


def test_an_interrupt_from_the_keyboard_stops_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    asked = threading.Event()
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        assert asked.wait(PATIENCE)

    waits = iter([KeyboardInterrupt()])
    honest = runner.wait

    def interrupted(*args: object, **more: object) -> object:
        for error in waits:
            raise error
        return honest(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_strata(layering((), (), ()), work, 2, asked.set)
    assert sorted(begun) == [1, 2]


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_the_width_is_a_number_of_strata(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(runner.VARIABLE, raising=False)
    assert width() == runner.WIDTH
    monkeypatch.setenv(runner.VARIABLE, "3")
    assert width() == 3
    monkeypatch.setenv(runner.VARIABLE, text)
    with pytest.raises(UsageError, match="FORESET_PARALLEL"):
        width()
