"""`import foreset` and the command line start without the heavy libraries.

Held by the list of loaded modules, not by the clock; the time is printed (`pytest -s`) and should be below 150 ms.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"airflow", "delta", "deltalake", "duckdb", "great_expectations", "grpc", "numpy", "pandas", "pyarrow",
         "pyspark", "z3"}  # fmt: skip
AIRFLOWS_OWN = {"grpc", "numpy", "pandas"}  # what Airflow itself may load is not our doing
PROBE = """
import importlib, json, sys, time
start = time.process_time()
importlib.import_module(sys.argv[1])
spent = time.process_time() - start
print(json.dumps([spent, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("module", ["foreset", "foreset.spec", "foreset.plan", "foreset.cli", "foreset.orchestrate"])
def test_import_is_light(module: str) -> None:
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", PROBE, module], text=True)) for _ in range(3)]
    print(f"import {module}: {min(run[0] for run in runs) * 1000:.0f} ms of CPU")
    allowed = {"airflow"} | AIRFLOWS_OWN if module == "foreset.orchestrate" else set()
    assert set(runs[0][1]) & HEAVY <= allowed
