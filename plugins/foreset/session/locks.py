"""Two kinds of file lock, each released by the kernel when its holder dies.

`FileLock` (flock) is between Python processes: each handle holds its own.
The writer lock is a POSIX record lock, because the JVM itself must hold it:
Java's `FileChannel.tryLock` and Python's `lockf` see each other, and a lock
that Python held for the JVM would be free while an orphaned JVM still writes.
A process loses its POSIX locks when it closes *any* descriptor of the file,
so this process opens the file at most once (`_shared_here`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from foreset.errors import EnvironmentFault
from foreset.session.locations import StateFiles

POLL_S = 0.05


@dataclass(slots=True)
class FileLock:
    """A held flock; `release` gives it back, and so does the end of the process."""

    _descriptor: int

    @classmethod
    def take(cls, path: Path, *, shared: bool, wait_s: float) -> FileLock | None:
        """Lock `path`, or return None when it is still taken after `wait_s`."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(POLL_S)
                    continue
                os.close(descriptor)
                return None
            return cls(descriptor)

    def release(self) -> None:
        """Unlock; twice is once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@dataclass(slots=True)
class _Shared:
    descriptor: int
    endpoint: str
    holders: int = 1


@dataclass(slots=True)
class _Registry:
    guard: threading.Lock = field(default_factory=threading.Lock)
    held: dict[Path, _Shared] = field(default_factory=dict)


_shared_here = _Registry()


def writer_lock_is_free(files: StateFiles) -> bool:
    """Say whether no JVM (and no client of a remote one) may be writing to the warehouse now."""
    with _shared_here.guard:
        if files.writer in _shared_here.held:
            return False
        descriptor = os.open(files.writer, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True


@contextlib.contextmanager
def writing_through(endpoint: str, files: StateFiles) -> Iterator[None]:
    """Hold the writer lock, shared with other clients of the same remote server, while a client is open.

    The remote JVM cannot hold it, so this is the weaker half: it keeps JVMs of
    this machine away while some client works, and clients of two servers apart.
    """
    with _shared_here.guard:
        held = _shared_here.held.get(files.writer)
        if held is None:
            held = _shared_here.held[files.writer] = _Shared(_lock_shared(endpoint, files), endpoint)
        elif held.endpoint == endpoint:
            held.holders += 1
        else:
            raise second_writer(files)
    try:
        yield
    finally:
        with _shared_here.guard:
            held.holders -= 1
            if held.holders == 0:
                os.close(held.descriptor)
                del _shared_here.held[files.writer]


def _lock_shared(endpoint: str, files: StateFiles) -> int:
    descriptor = os.open(files.writer, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            note_writer(files, f"the Spark server {endpoint}", endpoint)
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # down from exclusive in one act
        except OSError:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if _note(files).get("endpoint") != endpoint:
                raise
    except OSError as fault:
        os.close(descriptor)
        raise second_writer(files) from fault
    return descriptor


def note_writer(files: StateFiles, holder: str, endpoint: str = "") -> None:
    """Write down in words who holds the writer lock."""
    partial = files.writer_note.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    partial.write_text(json.dumps({"holder": holder, "endpoint": endpoint}))
    partial.replace(files.writer_note)


def second_writer(files: StateFiles) -> EnvironmentFault:
    """Say who writes to the warehouse already, and why a second JVM may not."""
    holder = _note(files).get("holder", "another process")
    return EnvironmentFault(
        f"{holder} already writes to this warehouse; on a local disk a second JVM would lose commits ({files.writer})",
        "use that one (set FORESET_SPARK and FORESET_STATE to its values), or stop it first: "
        "`foreset doctor` shows it",
    )


def _note(files: StateFiles) -> dict[str, str]:
    try:
        note = json.loads(files.writer_note.read_text())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}
