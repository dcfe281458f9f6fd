"""Processes known by id *and* start time, since ids are reused: never end a stranger."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

CLOCK_SLACK_S = 2.0  # psutil derives start times from the boot time, which moves when the clock is set


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of this machine, for good: another process that later gets the id is not equal to it."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """Return the identity of a running process."""
        return cls(pid, psutil.Process(pid).create_time())

    def alive(self) -> bool:
        """Say whether this very process runs (a zombie does not)."""
        return self._process() is not None

    def end(self, grace_s: float = 10.0) -> None:
        """Ask the process to end, and after `grace_s` make it; does nothing to a successor of the id."""
        for ask, patience in ((psutil.Process.terminate, grace_s), (psutil.Process.kill, 5.0)):
            process = self._process()
            if process is None:
                return
            try:
                ask(process)
                process.wait(patience)
            except psutil.NoSuchProcess:
                return
            except psutil.TimeoutExpired:
                continue

    def _process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) <= CLOCK_SLACK_S
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def process_space() -> str:
    """Name the space in which a process id means something: this boot and this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()
