"""This process's own JVM: started with our settings, quiet, and holding the writer locks itself.

Spark's gateway JVM ends when its standard input closes, which the kernel does
when its Python parent dies in any way. So a JVM started here never outlives
its owner for long, and while it does, its locks hold.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreset.errors import EnvironmentFault
from foreset.session.gateway import start_gateway
from foreset.session.locations import StateFiles
from foreset.session.locks import note_writer, second_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE_ROOT = Path(__file__).resolve().parents[2]
# These would make pyspark talk to some other Spark than the JVM that we start.
DIVERTING = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE",
             "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "PYSPARK_SUBMIT_ARGS")  # fmt: skip


@contextlib.contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Set (or, with None, remove) environment variables for a while: pyspark decides much by them."""
    before = {name: os.environ.get(name) for name in changes}
    _apply(changes)
    try:
        yield
    finally:
        _apply(before)


def _apply(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def child_environment() -> dict[str, str | None]:
    """Return the changes that let Spark's Python workers run this Python and import this package."""
    path = os.pathsep.join(filter(None, (str(PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    workers = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return {**dict.fromkeys(DIVERTING), **workers}


def start_jvm(conf: Mapping[str, str], log: Path) -> SparkSession:
    """Start this process's JVM with a session in it; what it says goes to `log`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    settings = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    launch: Any = launch_gateway  # pyspark does not type it
    with environment(child_environment()), log.open("ab") as out:
        try:
            started = start_gateway(conf, out)
            with environment({"PYSPARK_GATEWAY_PORT": str(started.port), "PYSPARK_GATEWAY_SECRET": started.secret}):
                gateway = launch()
            gateway.proc = started.process
            return SparkSession(SparkContext(conf=settings, gateway=gateway))
        except (PySparkException, OSError) as fault:
            raise EnvironmentFault(
                f"Spark's JVM did not start: {fault}\n{tail(log)}",
                "run `foreset doctor`: it checks Java, jars and ports",
            ) from fault


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


@dataclass(slots=True)
class _Held:
    file: Any  # the JVM's RandomAccessFile: the JVM collects it, and frees the lock, once Python lets go of it
    holders: int = 1


@dataclass(slots=True)
class _Registry:
    guard: threading.Lock = field(default_factory=threading.Lock)
    held: dict[Path, _Held] = field(default_factory=dict)


_held_here = _Registry()


@contextlib.contextmanager
def writing_from(spark: SparkSession, files: StateFiles, holder: str) -> Iterator[None]:
    """Let the JVM of a classic session hold the warehouse's writer lock; raise when another one does."""
    jvm: Any = spark._jvm  # noqa: SLF001 - the lock must live in the JVM, and there is no public way to it
    with _held_here.guard:
        held = _held_here.held.get(files.writer)
        if held is None:
            file = jvm.java.io.RandomAccessFile(str(files.writer), "rw")
            if file.getChannel().tryLock() is None:
                file.close()
                raise second_writer(files)
            held = _held_here.held[files.writer] = _Held(file)
            note_writer(files, holder)
        else:
            held.holders += 1
    try:
        yield
    finally:
        with _held_here.guard:
            held.holders -= 1
            if held.holders == 0:
                del _held_here.held[files.writer]
                with contextlib.suppress(Exception):  # the JVM may be gone, and its lock with it
                    held.file.close()
