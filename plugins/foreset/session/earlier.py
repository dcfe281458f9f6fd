"""What earlier releases left: state and temporary files of a warehouse's Spark server, in the warehouse itself.

Those of an object store lay in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from foreset.errors import EnvironmentFault
from foreset.session.locations import PRIVATE, StateFiles, local_path, state_key
from foreset.session.locks import POLL_S, FileLock, writer_lock_is_free

DYING_WRITER_S = 15.0  # how long a JVM that is ending may keep the writer lock


def remove_earlier_state(warehouse: str, wait_s: float = DYING_WRITER_S) -> bool:
    """Remove that folder, after its server, if that is idle, has ended; False where something works with it."""
    folder = _earlier_folder(warehouse)
    if not folder.is_dir():
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


def _earlier_folder(warehouse: str) -> Path:
    path = local_path(warehouse)
    if path is not None:
        return path / PRIVATE / "_spark"
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - no home is no fault here
    return Path(cache) / "foreset" / "spark" / state_key(warehouse)


def no_earlier_spark(warehouse: str) -> None:
    """Raise where the Spark of an earlier release works in the warehouse: its lock is not the one of today."""
    if not remove_earlier_state(warehouse):
        raise EnvironmentFault(
            f"Spark, started by an earlier release of Foreset, is running in {warehouse}",
            "wait until its refreshes end, and run the same command again",
        )
