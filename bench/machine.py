"""The machine that measured, and the memory that a refresh takes: Python and JVM together."""

from __future__ import annotations

import ctypes
import datetime
import gc
import os
import platform
import signal
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import psutil
import pyarrow as pa

from foreset.session.locations import state_files
from foreset.session.state import read_state

PACKAGES = ("pyspark", "delta-spark", "deltalake", "duckdb", "pyarrow")


def facts() -> dict[str, Any]:
    """What a reader must know to compare figures."""
    java = Path(os.environ.get("JAVA_HOME", "")).name
    return {
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **({"java": java} if java else {}),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def end_in_order() -> None:
    """Let a benchmark that is told to stop end its servers and peers first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class PeakMemory:
    """The largest sum of resident memory of this process and its Spark JVM while the block runs."""

    def __init__(self, warehouse: str) -> None:
        self.peak = 0
        self._processes = _driver(warehouse)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.peak = max(self.peak, sum(map(_resident, self._processes)))


def let_go() -> None:
    """Give back what the benchmark itself has read to compare results, so that it is not taken for a refresh's."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _driver(warehouse: str) -> list[psutil.Process]:
    state = read_state(state_files(warehouse))
    own = psutil.Process()
    if state is not None:
        return [own, psutil.Process(state.jvm.pid)]
    return [own, *(child for child in own.children(recursive=True) if child.name() == "java")]


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0
