"""What earlier releases left in a warehouse: the state and temporary files of its Spark server, `_foreset/_spark`."""

from __future__ import annotations

import shutil
import time

from foreset.errors import EnvironmentFault
from foreset.session.locations import PRIVATE, StateFiles, local_path
from foreset.session.locks import POLL_S, FileLock, writer_lock_is_free

DYING_WRITER_S = 15.0  # how long a JVM that is ending may keep the writer lock


def remove_earlier_state(warehouse: str, wait_s: float = DYING_WRITER_S) -> bool:
    """Remove that folder, after its server, if that is idle, has ended; False where something works with it."""
    path = local_path(warehouse)
    folder = path / PRIVATE / "_spark" if path is not None else None
    if folder is None or not folder.is_dir():
        return True
    files = StateFiles(folder, folder)
    alone = FileLock.take(files.clients, shared=False, wait_s=0.3)
    if alone is None:
        return False
    files.state.unlink(missing_ok=True)  # its server then ends by itself
    deadline = time.monotonic() + wait_s
    while not (free := writer_lock_is_free(files)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    alone.release()
    if free:
        shutil.rmtree(folder, ignore_errors=True)
    return free


def no_earlier_spark(warehouse: str) -> None:
    """Raise where the Spark of an earlier release works in the warehouse: its lock is not the one of today."""
    if not remove_earlier_state(warehouse):
        raise EnvironmentFault(
            f"Spark, started by an earlier release of Foreset, is at work in {warehouse}",
            "wait until its refreshes have ended, and run the same command again",
        )
