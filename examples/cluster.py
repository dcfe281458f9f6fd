"""A Spark cluster on this machine: a master, two workers of one core each, and a Connect server against them.

    make cluster

Everything comes from the installed pyspark and the locked Delta jars, listens on loopback, and takes ports that are
free. It says what to set to use it, and ends with Ctrl-C. A folder holds the logs, and `pids.json` with the processes.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from pyspark.find_spark_home import _find_spark_home

from foreset.session.config import DELTA_EXTENSION, LOOPBACK
from foreset.session.jars import verified_jars
from foreset.session.jvm import PACKAGE_ROOT

START_S = 120.0
MASTER, WORKER, SERVER = "master", "worker", "server"
_CLASSES = {
    MASTER: "org.apache.spark.deploy.master.Master",
    WORKER: "org.apache.spark.deploy.worker.Worker",
    SERVER: "org.apache.spark.sql.connect.service.SparkConnectServer",
}
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC"


@dataclass(slots=True)
class Cluster:
    """The processes of one cluster, by name: `master`, `worker-1`, `worker-2`, `server`."""

    folder: Path
    workers: int = 2
    executor_memory: str = "600m"
    server_memory: str = "900m"
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in (MASTER, SERVER)})
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master_url(self) -> str:
        """What workers and servers connect to."""
        return f"spark://{LOOPBACK}:{self.ports[MASTER]}"

    @property
    def url(self) -> str:
        """What FORESET_SPARK is set to."""
        return f"sc://localhost:{self.ports[SERVER]}/;token={self.token}"

    def start(self) -> None:
        """Start all of it, and wait until it serves."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start_master()
        for number in range(1, self.workers + 1):
            self.start_worker(number)
        self.start_server()

    def start_master(self) -> None:
        """The process that gives out executors."""
        self._run(MASTER, "--host", LOOPBACK, "--port", str(self.ports[MASTER]), "--webui-port", "0")
        self._await(MASTER, lambda: _listens(self.ports[MASTER]))

    def start_worker(self, number: int) -> None:
        """A worker of one core."""
        name = f"{WORKER}-{number}"
        work = str(self.folder / name)
        self._run(name, "--host", LOOPBACK, "--cores", "1", "--memory", "1g", "--webui-port", "0",
                  "--work-dir", work, self.master_url)  # fmt: skip
        self._await(name, lambda: "Successfully registered with master" in self.log(name))

    def start_server(self) -> None:
        """The Connect server: the driver of one application, whose executors run in the workers."""
        conf = self.folder / "server.conf"
        conf.write_text("".join(f"{key} {value}\n" for key, value in self.server_conf().items()))
        self._run(SERVER, "--properties-file", str(conf), "--class", _CLASSES[SERVER], "spark-internal")
        self._await(SERVER, lambda: _listens(self.ports[SERVER]))

    def server_conf(self) -> dict[str, str]:
        """What a Connect server needs that Foreset is to work with."""
        jars = os.pathsep.join(map(str, verified_jars().paths))
        return {
            "spark.master": self.master_url,
            "spark.app.name": "foreset-cluster",
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.memory": self.server_memory,
            "spark.executor.memory": self.executor_memory,
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.driver.extraJavaOptions": JVM,
            "spark.executor.extraJavaOptions": JVM,
            "spark.executorEnv.PYTHONPATH": str(PACKAGE_ROOT),
            "spark.pyspark.python": sys.executable,
            "spark.sql.extensions": DELTA_EXTENSION,
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": str(self.folder / "spark-warehouse"),
            "spark.sql.artifact.isolation.enabled": "false",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.scheduler.mode": "FAIR",
            "spark.ui.enabled": "false",
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(self.ports[SERVER]),
        }

    def _run(self, name: str, *arguments: str) -> None:
        home: str = _find_spark_home()  # type: ignore[no-untyped-call]
        kind = name.partition("-")[0]
        program = [f"{home}/bin/spark-submit"] if kind == SERVER else [f"{home}/bin/spark-class", _CLASSES[kind]]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        environment |= {
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": self.token, "SPARK_LOCAL_IP": LOOPBACK, "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": self.server_memory if kind == SERVER else "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{JVM} -Dspark.deploy.maxExecutorRetries=-1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"), "SPARK_HOME": home,
        }  # fmt: skip
        with self.log_file(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment,
                cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        pids = {name: process.pid for name, process in self.processes.items()}
        (self.folder / "pids.json").write_text(json.dumps(pids))

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_S
        while not ready():
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"cluster: {name} does not start; the end of its log:\n{self.log(name)[-3000:]}")
            time.sleep(0.1)

    def log_file(self, name: str) -> Path:
        """Where a process writes what it has to say."""
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        """What a process has said."""
        return self.log_file(name).read_text(errors="replace")

    def executors(self) -> list[psutil.Process]:
        """The JVMs that do the work, children of the workers."""
        workers = (process for name, process in self.processes.items() if name.startswith(WORKER))
        children = (child for worker in workers if worker.poll() is None
                    for child in psutil.Process(worker.pid).children(recursive=True))  # fmt: skip
        return [child for child in children if _is_executor(child)]

    def kill(self, name: str) -> None:
        """`kill -9` of one process, with the executors of a worker."""
        process = self.processes.pop(name)
        if process.poll() is None:
            itself = psutil.Process(process.pid)
            for one in (*itself.children(recursive=True), itself):
                kill(one)
        process.wait()

    def stop(self) -> None:
        """End what is still there."""
        for name in reversed(list(self.processes)):
            self.kill(name)


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.create_server((LOOPBACK, 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((LOOPBACK, port)) == 0


def _is_executor(process: psutil.Process) -> bool:
    try:
        return "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline()
    except psutil.Error:
        return False


def kill(process: psutil.Process) -> None:
    """`kill -9` of a process that may have ended by itself."""
    with suppress(psutil.NoSuchProcess):
        process.kill()


def main() -> None:
    """Start a cluster, say how to use it, and end it with Ctrl-C."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="for logs and pids.json; by default a new one, removed at the end")
    parser.add_argument("--workers", type=int, default=2, help="each has one core")
    parser.add_argument("--executor-memory", default="600m")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foreset-cluster-") as folder:
        cluster = Cluster(arguments.folder or Path(folder), arguments.workers, arguments.executor_memory)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            cluster.start()
            print(f"master {cluster.master_url}, {cluster.workers} workers of one core; logs in {cluster.folder}\n")
            print(f"export FORESET_SPARK={shlex.quote(cluster.url)}\n\nCtrl-C ends it.", flush=True)
            while all(process.poll() is None for process in cluster.processes.values()):
                time.sleep(0.5)
            gone = [name for name, process in cluster.processes.items() if process.poll() is not None]
            sys.exit(f"cluster: ended by itself: {', '.join(gone)}; see {cluster.folder}")
        except KeyboardInterrupt:
            print("\nended")
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
