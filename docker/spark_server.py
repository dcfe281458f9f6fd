"""A Spark Connect server with Delta: the one JVM that writes to a warehouse, for tasks on a private network.

Port and settings come from the environment: FORESET_WAREHOUSE, FORESET_SPARK_CORES, FORESET_SPARK_MEMORY,
and SPARK_CONNECT_HOST and SPARK_CONNECT_PORT (all addresses, and 15002).
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from foreset.session.config import Settings, connect_conf, jvm_conf
from foreset.session.jars import verified_jars
from foreset.session.jvm import start_jvm


def main() -> int:
    """Serve until asked to end, or until the JVM ends."""
    settings = replace(Settings.from_environment(), idle_minutes=0)
    scratch = Path(tempfile.mkdtemp(prefix="foreset-spark-"))
    log = scratch / "server.log"
    conf = {
        **jvm_conf(settings, verified_jars(), scratch, f"local[{settings.cores}]"),
        **connect_conf(),
        "spark.connect.grpc.binding.address": os.environ.get("SPARK_CONNECT_HOST", "0.0.0.0"),  # noqa: S104 - a private network
        "spark.connect.grpc.binding.port": os.environ.get("SPARK_CONNECT_PORT", "15002"),
    }
    stop = threading.Event()
    spark = start_jvm(conf, log)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    jvm: Any = spark.sparkContext._gateway.proc  # noqa: SLF001 - the JVM's process is known to it alone
    print(f"Spark {spark.version} serves at port {conf['spark.connect.grpc.binding.port']}", flush=True)
    while not stop.wait(0.5):
        if jvm.poll() is not None:
            sys.stderr.write(log.read_text(errors="replace")[-5000:])
            return 1
    jvm.terminate()
    jvm.wait(30)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the gateway's threads wait for a JVM that is gone
