"""Counts ride along with the work; where a Connect server forgets to send them, they are counted afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from foreset.store.capture.feed import SIGN
from foreset.store.capture.stage import Counts, stage
from foreset.store.layout import change_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "not heard"])
def test_counts_are_right_whether_heard_or_not(
    heard: bool, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not heard:
        monkeypatch.setattr("pyspark.sql.connect.observation.Observation.get", property(lambda _: {}))
    signed = spark.range(5).select(F.col("id").alias("n"), F.when(F.col("id") < 2, -1).otherwise(1).alias(SIGN))
    assert stage(signed, str(tmp_path)) == Counts(3, 2)
    assert sorted(row[0] for row in spark.read.parquet(change_folder(str(tmp_path), -1)).collect()) == [0, 1]
