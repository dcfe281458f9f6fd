"""The home of the embedded Airflow: what `foreset up` writes there, and what others find there."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

CLOCK_SLACK_S = 2.0
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Running:
    """A running Airflow: where it answers, and the process whose group it is."""

    url: str
    pid: int
    started: float
    warehouse: str

    @property
    def alive(self) -> bool:
        """That very process runs."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) <= CLOCK_SLACK_S
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True, slots=True)
class Home:
    """A folder that Airflow has to itself; never committed, since it holds secrets."""

    folder: Path

    @property
    def state(self) -> Path:
        """Where the running Airflow is."""
        return self.folder / "foreset-up.json"

    @property
    def log(self) -> Path:
        """What all of Airflow's parts say."""
        return self.folder / "airflow.log"

    @property
    def passwords(self) -> Path:
        """The users of Airflow's simple auth manager."""
        return self.folder / "passwords.json"

    @property
    def database(self) -> Path:
        """Airflow's own tables, unless it was told of another database."""
        return self.folder / "airflow.db"

    def running(self) -> Running | None:
        """The Airflow of this home, if it runs."""
        try:
            found = Running(**json.loads(self.state.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return found if found.alive else None

    def note(self, running: Running | None) -> None:
        """Keep where it runs, or that it does not."""
        if running is None:
            self.state.unlink(missing_ok=True)
        else:
            self.state.write_text(json.dumps(asdict(running)), encoding="utf-8")

    def password(self, user: str) -> str:
        """The password of a user; empty where there is none."""
        try:
            return str(json.loads(self.passwords.read_text(encoding="utf-8")).get(user, ""))
        except (OSError, ValueError):
            return ""

    def prepare(self) -> dict[str, str]:
        """Make the folder, closed to others, and say its secrets; they stay the same from start to start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        (self.folder / ".gitignore").write_text("*\n", encoding="utf-8")
        if not self.password("admin"):
            _private(self.passwords, {"admin": secrets.token_urlsafe(12)})
        with closing(sqlite3.connect(self.database)) as database:  # else whoever reads waits for whoever writes
            database.execute("PRAGMA journal_mode = WAL")  # kept in the file
        kept = self.folder / "secrets.json"
        if not kept.exists():
            _private(kept, {"api": secrets.token_urlsafe(32), "jwt": secrets.token_urlsafe(32)})
        found: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return found


def free_port(wanted: int) -> int:
    """`wanted` if nobody listens there, else any free one."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # else the port of an Airflow just ended is taken
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("there is no free port")


def _private(path: Path, data: dict[str, str]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(data, stream)
