"""The process that owns an embedded server: it starts the JVM, watches, and ends with it.

Started by `embedded.start`, which writes the launch order to its standard
input. It ends when asked (SIGTERM), when the JVM ends, when its state file is
taken away (another server replaced it), when the warehouse was moved or deleted,
and when no client has held the clients' lock for the idle time. Killed with
-9, it takes the JVM along, because the JVM's standard input closes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from foreset.session.jvm import environment, start_jvm, writing_from
from foreset.session.launch import LaunchOrder
from foreset.session.locations import StateFiles, guard_identity
from foreset.session.locks import FileLock
from foreset.session.processes import ProcessIdentity, process_space
from foreset.session.state import ServerState, forget_state, read_state, write_state

TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - a name, not a secret
WATCH_S = 0.5


def run(order: LaunchOrder) -> str:
    """Serve until there is a reason to end; return it."""
    files = StateFiles(Path(order.folder), Path(order.guard))
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    with environment({TOKEN_VARIABLE: order.token}):
        spark = start_jvm(order.conf, files.log)
    signal.signal(signal.SIGTERM, on_signal)
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - the JVM's process is known to it alone
    jvm = ProcessIdentity.of(gateway.proc.pid)
    try:
        with writing_from(spark, files, f"the embedded Spark server (process {os.getpid()})"):
            service = getattr(gateway.jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
            port = int(getattr(service, "MODULE$").localPort())
            me = ProcessIdentity.of(os.getpid())
            guard = guard_identity(files)
            state = ServerState(
                order.launch, order.warehouse, guard, process_space(), order.fingerprint, me, jvm, port, order.token
            )
            write_state(files, state)
            try:
                return _watch(files, state, order.idle_s, gateway.proc, stop)
            finally:
                with contextlib.suppress(OSError):
                    forget_state(files, order.launch)
                jvm.end(grace_s=8.0)
    finally:
        jvm.end(grace_s=1.0)


def _watch(files: StateFiles, mine: ServerState, idle_s: float, jvm: Any, stop: threading.Event) -> str:  # noqa: ANN401 - a Popen of pyspark
    last_seen = time.monotonic()
    while not stop.wait(WATCH_S):
        if jvm.poll() is not None:
            return f"the JVM ended with {jvm.returncode}"
        state = read_state(files)
        if state is None or state.launch != mine.launch:
            return "the state file was taken away"
        if guard_identity(files) != mine.guard:
            return "the warehouse was taken away"
        unused = FileLock.take(files.clients, shared=False, wait_s=0)
        if unused is None:
            last_seen = time.monotonic()
            continue
        if idle_s and time.monotonic() - last_seen >= idle_s:
            forget_state(files, mine.launch)  # still under the clients' lock: no client can have come in between
            unused.release()
            return f"no client for {idle_s:.0f} s"
        unused.release()
    return "asked to end"


if __name__ == "__main__":
    sys.stdout.write(f"ended: {run(LaunchOrder.from_json(sys.stdin.read()))}\n")
    sys.stdout.flush()
    os._exit(0)  # the gateway's threads wait for a JVM that is gone
