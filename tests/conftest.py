"""Settings for every test: a private Airflow home, and how long Hypothesis searches.

Hypothesis is short by default and as long as asked under `make fuzz N=...`.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A refresh waits twenty times until the disk has what it wrote, and Airflow's database at each turn. What tests write
# is worth nothing after them, so they write into memory where it can hold it: no test is about the power going off.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Importing Airflow writes its configuration to this folder, and Spark's servers keep their state in the other one:
# the user's own are not ours to touch.
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ["AIRFLOW_HOME"] = str(Path(__file__).resolve().parents[1] / ".cache" / f"airflow-test{_WORKER}")
os.environ["FORESET_STATE"] = str(Path(__file__).resolve().parents[1] / ".cache" / f"state-test{_WORKER}")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

# JVMs of tests live for minutes: compiling their code well takes longer than running it. One third less CPU.
# What is compiled must have room: of the 48 MB that this level has by itself, sweeping took a sixth of the CPU.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")

_SLOW_DATA = [HealthCheck.too_slow, HealthCheck.data_too_large]

# No deadline: it measures wall time, which says nothing on a shared machine.
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW_DATA)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile(
    "fuzz", parent=settings.get_profile("default"), max_examples=int(os.environ.get("FORESET_FUZZ", "50000"))
)
settings.load_profile("ci" if os.environ.get("CI") else "default")

STUCK_SECONDS = 600  # no single test takes as long, on any machine: it hangs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """End a process whose test hangs, and show where: a gate that never answers tells nobody anything."""
    if os.environ.get("FORESET_LONG"):
        return (yield)
    faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """An empty warehouse."""
    place = tmp_path / "warehouse"
    place.mkdir()
    return str(place)
