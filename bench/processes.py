"""Processes that a benchmark asks for one thing at a time, and what they cost: seconds, memory, CPU, bytes.

A process reads a request (a line of JSON) from its standard input and prints an answer after `ANSWER`. It may die of
what it is asked for, or take too long: then the answer says so, and the benchmark goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ANSWER = "@answer "
POLL_S = 0.1
START_S = 300.0
Found = Callable[[], Iterable[int]]  # ids of processes that work for another one and are not below it


def requests() -> Iterator[dict[str, Any]]:
    """In the process that is asked: what comes in, until the other side ends."""
    for line in sys.stdin:
        yield json.loads(line)


def answer(value: object) -> None:
    """In the process that is asked: the answer to the last request."""
    print(ANSWER + json.dumps(value), flush=True)


@dataclass(frozen=True, slots=True)
class Cost:
    """What processes took together while they worked on one request."""

    seconds: float = 0.0
    peak_mb: int = 0  # resident memory of all of them
    cpu_s: float = 0.0
    read_mb: int = 0  # by system calls: files, cached or not, and what they send each other
    written_mb: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process said; None where it died of the question."""

    said: dict[str, Any] | None
    cost: Cost
    died: str = ""


@dataclass(slots=True)
class Meter:
    """Watches a process, all below it and those that `found` names."""

    process: int
    found: Found
    peak: int = 0
    first: dict[psutil.Process, tuple[float, int, int]] = field(default_factory=dict)
    last: dict[psutil.Process, tuple[float, int, int]] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def look(self, *, fresh: bool = False) -> None:
        """Take all processes as they are; those that come later count from nothing, unless all is `fresh`."""
        resident = 0
        for one in family(self.process, self.found):
            with contextlib.suppress(psutil.Error):
                resident += one.memory_info().rss
                used = _used(one)
                self.first.setdefault(one, used if fresh else (0.0, 0, 0))
                self.last[one] = used
        self.peak = max(self.peak, resident)

    def watch(self) -> None:
        """Look until it is ended."""
        while not self._ended.wait(POLL_S):
            self.look()

    def end(self, seconds: float) -> Cost:
        """What was taken since the first look."""
        self._ended.set()
        self.look()
        cpu, read, written = (sum(self.last[one][i] - self.first[one][i] for one in self.last) for i in range(3))
        return Cost(round(seconds, 3), self.peak >> 20, round(cpu, 2), int(read) >> 20, int(written) >> 20)


def _used(process: psutil.Process) -> tuple[float, int, int]:
    times = process.cpu_times()
    read = written = 0
    with contextlib.suppress(AttributeError, psutil.Error):  # not on every system
        counters = process.io_counters()
        read, written = counters.read_chars, counters.write_chars
    return times.user + times.system, read, written


def family(process: int, found: Found) -> set[psutil.Process]:
    """A process and all below it, with those that `found` names and all below them."""
    there: set[psutil.Process] = set()
    for one in (process, *found()):
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(one)
            there |= {root, *root.children(recursive=True)}
    return there


@dataclass(slots=True)
class Worker:
    """A process that is started when it is first asked, and again when it has died."""

    command: Sequence[str | Path]
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)  # of its environment
    found: Found = tuple
    _process: subprocess.Popen[str] | None = None
    _lines: queue.SimpleQueue[str | None] = field(default_factory=queue.SimpleQueue)
    _errors: Any = None

    def ask(self, request: Mapping[str, object], limit: float) -> Answer:
        """Its answer and what it cost, or what it died of; it is started first, which is not counted."""
        if self._process is None and (problem := self._start()):
            return Answer(None, Cost(), problem)
        process = self._process
        assert process is not None
        assert process.stdin is not None
        meter = Meter(process.pid, self.found)
        meter.look(fresh=True)
        watching = threading.Thread(target=meter.watch, daemon=True)
        watching.start()
        started = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        said, problem = self._said(limit)
        cost = meter.end(time.monotonic() - started)
        watching.join()
        if problem or (said is not None and "died" in said):
            self.end()
            return Answer(None, cost, problem or str((said or {})["died"]))
        return Answer(said, cost)

    def _start(self) -> str:
        self._lines, self._errors = queue.SimpleQueue(), tempfile.TemporaryFile("w+")  # noqa: SIM115 - ended by `end`
        self._process = subprocess.Popen(
            list(self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True, cwd=self.folder, env={**os.environ, **self.settings},
        )  # fmt: skip
        threading.Thread(target=_lines_of, args=(self._process, self._lines), daemon=True).start()
        said, problem = self._said(START_S)
        if said is None:
            self.end()
        return problem

    def _said(self, limit: float) -> tuple[dict[str, Any] | None, str]:
        deadline = time.monotonic() + limit
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                return None, f"not done after {limit:.0f} s"
            if line is None:
                return None, self._last_words()
            if line.startswith(ANSWER):
                return json.loads(line.removeprefix(ANSWER)), ""

    def _last_words(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        self._errors.seek(0)
        told = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return f"ended with {code}: {told[-1][:200] if told else 'no word'}"

    def end(self) -> None:
        """Kill it, and all that works for it."""
        if self._process is None:
            return
        doomed = family(self._process.pid, self.found)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for one in doomed:
            with contextlib.suppress(psutil.Error):
                one.kill()
        self._process.wait()
        self._errors.close()
        self._process = None


def _lines_of(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)
