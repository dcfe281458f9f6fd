"""Where a warehouse's server keeps its state, and how a warehouse's name becomes one absolute place.

A server runs in another folder than its clients, so a relative warehouse would
mean two places: everything below works on the absolute form.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The files by which clients, starters and the server of one warehouse know of each other."""

    folder: Path

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
        return self.folder / "writer.lock"

    @property
    def writer_note(self) -> Path:
        """Says in words who holds the writer lock; for messages only."""
        return self.folder / "writer.json"

    @property
    def log(self) -> Path:
        """What the server and its JVM say."""
        return self.folder / "server.log"

    @property
    def scratch(self) -> Path:
        """Spark's own temporary files; swept at each start, since a killed JVM leaves them."""
        return self.folder / "tmp"


def state_files(warehouse: str) -> StateFiles:
    """Return the state files of a warehouse: inside a local one, in the user's cache for an object store."""
    path = local_path(warehouse)
    if path is not None:
        return StateFiles(path / "_foreset" / "_spark")
    name = hashlib.sha256(absolute_warehouse(warehouse).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return StateFiles(cache / "foreset" / "spark" / name)


def prepared(files: StateFiles) -> StateFiles:
    """Create the folder, closed to other users since it holds the server's token."""
    try:
        files.folder.mkdir(parents=True, exist_ok=True)
        files.folder.chmod(0o700)
    except OSError as fault:
        raise EnvironmentFault(
            f"the session state of the warehouse cannot be kept in {files.folder}: {fault.strerror}",
            "make the warehouse writable for this user, or name another with --warehouse",
        ) from fault
    return files
