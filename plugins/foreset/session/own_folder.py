"""A folder for the JVM of this process: it belongs to no warehouse, since one JVM serves all that the process opens."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from foreset.errors import EnvironmentFault
from foreset.session.locations import STATE_HINT, state_home
from foreset.session.locks import FileLock

LOCK = "in-use"
SWEEP_S = 10.0


def process_folder() -> Path:
    """Make a folder that is held until this process ends, and sweep those of processes that have ended."""
    home = state_home() / "processes"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        sweeping = FileLock.take(home / "sweep.lock", shared=False, wait_s=SWEEP_S)
        folder = Path(tempfile.mkdtemp(dir=home))
        FileLock.take(folder / LOCK, shared=False, wait_s=0)  # never released: the kernel does it
        if sweeping is not None:
            _sweep(home)
            sweeping.release()
    except OSError as fault:
        raise EnvironmentFault(
            f"Spark's temporary files cannot be kept in {home}: {fault.strerror}", STATE_HINT
        ) from fault
    return folder


def _sweep(home: Path) -> None:
    for folder in home.iterdir():
        held = FileLock.take(folder / LOCK, shared=False, wait_s=0) if folder.is_dir() else None
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            held.release()
