"""A stratum whose first part Spark did under commit 1699e4e is ended now, from what that part has saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.old_warehouse import NIGHTS, PENDING, changed, difference, expected, opened, state, unpacked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_stratum_that_was_begun_in_spark_is_ended(tmp_path: Path, spark: SparkSession) -> None:
    here = unpacked("begun_in_spark", tmp_path)
    begun = json.loads((here / "wh/_foreset/reach/runs/night/marks/stratum-2-delete.json").read_text())
    assert begun["saved"], "the archive has what this is about"
    wh = opened(here, spark)
    assert wh.refresh("reach", refresh_id="night").seq == len(NIGHTS) + 1
    assert state(wh) == expected(PENDING)
    assert changed(wh) == difference(expected(PENDING), expected(NIGHTS[-1]))
    assert wh.verify("reach").ok
