"""Readers in other processes while refreshes commit: no reading is a mixture of two refreshes.

10,000 readings under FORESET_LONG=1, or as many as FORESET_READS says; tests/unit/test_readers.py reads beside
refreshes without Spark in `make test`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import FEED
from tests.spark.reader import GENERATIONS

import foreset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = bool(os.environ.get("FORESET_LONG"))
READS = int(os.environ.get("FORESET_READS", "10000"))
MOST_REFRESHES = 2_000
ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
group: generations
sources:
  item: {table: sales/item, columns: {k: int, gen: int}}
views:
  every:
    columns: {k: int, gen: int}
    rules:
      - every(K, G) :- item(K, G)
  pairs:
    columns: {a: int, b: int, gen: int}
    rules:
      - pairs(A, B, G) :- every(A, G), item(B, G), A < B
  last:
    columns: {k: int, gen: int}
    rules:
      - last(K, G) :- every(K, G), not pairs(K, _, G)
"""


def generation(number: int) -> pa.Table:
    """The whole table, each row with its generation; some generations have fewer keys than the one before."""
    keys = 20 + number % 7
    return pa.table({"k": pa.array(range(keys), pa.int32()), "gen": pa.array([number] * keys, pa.int32())})


def readings(warehouse: str, folder: Path, spark: SparkSession | str, number: int) -> dict[str, Any]:
    """What a reader in a process of its own saw while this one refreshed again and again."""
    folder.mkdir()
    (folder / "generations.yaml").write_text(SPEC)
    path = f"{warehouse}/sales/item"
    write_deltalake(path, generation(0), configuration=FEED)
    wh = foreset.open(warehouse, str(folder), spark)
    wh.refresh("generations", verify="off")
    command = [sys.executable, "-m", "tests.spark.reader", warehouse, "generations", str(number)]
    progress = folder / "progress.txt"  # beside the spec: a long run can be watched
    with progress.open("w") as lines:
        reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True, cwd=ROOT)
    refreshes = 0
    try:
        while reader.poll() is None and refreshes < MOST_REFRESHES:
            refreshes += 1
            write_deltalake(path, generation(refreshes), mode="overwrite")
            mode = ("incremental", "recompute")[refreshes % 2]
            assert wh.refresh("generations", mode, verify="off").status == "committed"
        Path(warehouse, "stop").touch()
        out = reader.communicate(timeout=120)[0]
    finally:
        reader.kill()
    assert reader.returncode == 0, progress.read_text()
    return {**json.loads(out), "refreshes": refreshes}


def nothing_mixed(found: dict[str, Any], number: int) -> None:
    """No reading has rows of two refreshes, and the reader has seen several."""
    print(f"\n{found['reads']} readings of {found['generations']} generations, {found['wrong']} mixed")
    assert found["mixed"] == []
    assert found["wrong"] == 0
    assert found["reads"] >= number
    assert GENERATIONS <= found["generations"] <= found["refreshes"] + 1


@pytest.mark.skipif(not LONG, reason="with FORESET_LONG=1")
def test_no_reading_is_mixed(warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    nothing_mixed(readings(warehouse, tmp_path / "specs", spark, READS), READS)
