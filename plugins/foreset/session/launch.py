"""How a starter launches the supervisor of a new server, and what it tells it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from foreset.errors import EnvironmentFault
from foreset.session.jvm import child_environment, tail
from foreset.session.locations import StateFiles
from foreset.session.state import read_state

START_S = 240.0  # a start takes 8 s on an idle machine, and a minute on a crowded one
# Secrets and switches of whoever happens to start the server must not live on in it.
PRIVATE_PREFIXES = ("AIRFLOW_", "_AIRFLOW_", "SPARK_CONNECT_")


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """What a starter wants; it travels by standard input, so that no command line shows the token."""

    launch: str
    warehouse: str
    folder: str
    guard: str
    fingerprint: str
    token: str
    idle_s: float
    conf: dict[str, str]

    def to_json(self) -> str:
        """Return the form that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LaunchOrder:
        """Read an order."""
        return cls(**json.loads(text))


def start_supervisor(files: StateFiles, order: LaunchOrder) -> None:
    """Start a server and wait until its state file says that it serves."""
    files.log.write_text("")
    with files.log.open("ab") as log:  # appending, since the JVM writes to the same file
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "foreset.session.supervisor"],
            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=files.folder, env=_server_environment(),
            start_new_session=True,  # Ctrl-C and the end of an Airflow task are not for the server
            text=True,
        )  # fmt: skip
    assert supervisor.stdin is not None
    with supervisor.stdin as order_in:
        order_in.write(order.to_json())
    deadline = time.monotonic() + START_S
    while (state := read_state(files)) is None or state.launch != order.launch:
        ended = supervisor.poll() is not None
        if ended or time.monotonic() > deadline:
            supervisor.kill()
            how = f"ended with {supervisor.wait()}" if ended else f"was not ready within {START_S:.0f} s"
            raise EnvironmentFault(
                f"the embedded Spark server {how}; the end of {files.log}:\n{tail(files.log)}", "run `foreset doctor`"
            )
        time.sleep(0.05)


def _server_environment() -> dict[str, str]:
    changes = child_environment()
    kept = {k: v for k, v in os.environ.items() if k not in changes and not k.startswith(PRIVATE_PREFIXES)}
    return {**kept, **{name: value for name, value in changes.items() if value is not None}}
