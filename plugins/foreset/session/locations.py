"""Where a warehouse's server keeps its state, and how a warehouse's name becomes one absolute place.

A server runs in another folder than its clients, so a relative warehouse would
mean two places: everything below works on the absolute form.

State is a user's and lies in that user's folder. Only the right to write lies in the
warehouse: whoever mounts the same folder, as another user or in another container, must see it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from foreset.errors import EnvironmentFault


def local_path(warehouse: str) -> Path | None:
    """Return the folder of a warehouse on this machine's file system, or None for an object store."""
    parts = urlsplit(warehouse)
    if parts.scheme == "file":
        return Path(unquote(parts.path)).resolve()
    return None if "://" in warehouse else Path(warehouse).resolve()


def absolute_warehouse(warehouse: str) -> str:
    """Return one name per warehouse: the resolved path of a local one, a URI without its last slash."""
    path = local_path(warehouse)
    return str(path) if path is not None else warehouse.rstrip("/")


STATE_HINT = "make it writable for this user, or set FORESET_STATE to a folder that is"
PRIVATE = "_foreset"  # the folder of a warehouse that is Foreset's own


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The files by which clients, starters and the server of one warehouse know of each other."""

    folder: Path
    guard: Path  # the folder of the writer lock

    @property
    def state(self) -> Path:
        """Where the running server is, with its token."""
        return self.folder / "server.json"

    @property
    def starters(self) -> Path:
        """Locked by whoever finds, starts or stops a server: two starters end with one server."""
        return self.folder / "start.lock"

    @property
    def clients(self) -> Path:
        """Locked shared by each open client, so that idle means that nobody holds it."""
        return self.folder / "clients.lock"

    @property
    def writer(self) -> Path:
        """Locked by the one JVM that may write to the warehouse, for as long as that JVM lives."""
        return self.guard / "writer.lock"

    @property
    def writer_note(self) -> Path:
        """Says in words who holds the writer lock; for messages only."""
        return self.guard / "writer.json"

    @property
    def log(self) -> Path:
        """What the server and its JVM say."""
        return self.folder / "server.log"

    @property
    def scratch(self) -> Path:
        """Spark's own temporary files; swept at each start, since a killed JVM leaves them."""
        return self.folder / "tmp"


def state_home() -> Path:
    """The folder of all state: FORESET_STATE, or `foreset` in XDG_STATE_HOME (by default ~/.local/state)."""
    named = os.environ.get("FORESET_STATE")
    if named:
        return Path(named).resolve()
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "foreset"
    except RuntimeError as fault:
        raise EnvironmentFault(f"this user has no home folder: {fault}", STATE_HINT) from fault


def state_key(warehouse: str) -> str:
    """The name of the folder of a warehouse's state."""
    return hashlib.sha256(absolute_warehouse(warehouse).encode()).hexdigest()[:16]


def state_files(warehouse: str) -> StateFiles:
    """Return the state files of a warehouse: one folder of this user for each warehouse."""
    path, folder = local_path(warehouse), state_home() / "spark" / state_key(warehouse)
    return StateFiles(folder, path / PRIVATE if path is not None else folder)


def prepared(files: StateFiles) -> StateFiles:
    """Create the folders; that of the state is closed to other users, since it holds the server's token."""
    try:
        files.folder.mkdir(parents=True, exist_ok=True)
        files.folder.chmod(0o700)
    except OSError as fault:
        raise EnvironmentFault(
            f"the state of the warehouse's Spark server cannot be kept in {files.folder}: {fault.strerror}", STATE_HINT
        ) from fault
    return guarded(files)


def guarded(files: StateFiles) -> StateFiles:
    """Create the folder of the writer lock, and see that this user may lock it; the file itself is not opened here."""
    try:
        files.guard.mkdir(parents=True, exist_ok=True)
        held = files.writer if files.writer.exists() else files.guard
        if not os.access(held, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as fault:
        raise EnvironmentFault(
            f"the write lock of the warehouse cannot be taken at {files.writer}: {fault.strerror}",
            "make the warehouse writable for this user, or choose another one with --warehouse",
        ) from fault
    return files


def guard_identity(files: StateFiles) -> str:
    """Which file the writer lock is: another one where the warehouse was deleted, moved or made anew; "" for none."""
    try:
        found = files.writer.stat()
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
