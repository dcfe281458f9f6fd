"""What a client of a Connect server that it did not start must hold while it works."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from foreset.session.config import LOOPBACK
from foreset.session.locations import StateFiles, guarded, local_path, state_files
from foreset.session.locks import FileLock, writing_through
from foreset.session.state import read_state


def may_write_through(warehouse: str, endpoint: str) -> contextlib.AbstractContextManager[None]:
    """Guard a warehouse on a disk of this machine; an object store has a log store of its own to do that."""
    files = state_files(warehouse)
    state = read_state(files)
    host, _, port = endpoint.rpartition(":")
    endpoint = f"localhost:{port}" if host in {LOOPBACK, "[::1]"} else endpoint  # one server, one name
    if state is not None and endpoint == f"localhost:{state.port}":
        return _present(files)  # the warehouse's own server, whose JVM holds the writer lock already
    if local_path(warehouse) is None:
        return contextlib.nullcontext()
    return writing_through(endpoint, guarded(files))


@contextlib.contextmanager
def _present(files: StateFiles) -> Iterator[None]:
    """Keep the warehouse's own server from taking itself for idle."""
    lock = FileLock.take(files.clients, shared=True, wait_s=2.0)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
