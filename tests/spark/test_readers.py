"""Readers in other processes while refreshes commit: no reading is a mixture of two refreshes.

300 readings in `make test`, 10,000 under FORESET_LONG=1, or as many as FORESET_READS says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.spark.reader import GENERATIONS

import foreset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

READS = int(os.environ.get("FORESET_READS", "10000" if os.environ.get("FORESET_LONG") else "300"))
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


def test_no_reading_is_mixed(warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "generations.yaml").write_text(SPEC)
    path = f"{warehouse}/sales/item"
    write_deltalake(path, generation(0), configuration={"delta.enableChangeDataFeed": "true"})
    wh = foreset.open(warehouse, str(specs), spark)
    wh.refresh("generations", verify="off")
    command = [sys.executable, "-m", "tests.spark.reader", warehouse, "generations", str(READS)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    refreshes = 0
    try:
        while reader.poll() is None and refreshes < MOST_REFRESHES:
            refreshes += 1
            write_deltalake(path, generation(refreshes), mode="overwrite")
            assert (
                wh.refresh("generations", ("incremental", "recompute")[refreshes % 2], verify="off").status
                == "committed"
            )
        Path(warehouse, "stop").touch()
        out, said = reader.communicate(timeout=120)
    finally:
        reader.kill()
    assert reader.returncode == 0, said
    found = json.loads(out)
    seen = found["generations"]
    print(f"\n{found['reads']} readings, {found['wrong']} mixed, {seen} generations seen, {refreshes} refreshes")
    assert found["mixed"] == []
    assert found["wrong"] == 0
    assert found["reads"] >= READS
    assert GENERATIONS <= seen <= refreshes + 1
