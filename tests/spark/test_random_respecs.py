"""Random programs whose columns change and whose views are edited between nights, in Spark: 1, or as many as asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.property.respec_nights import random_nights

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SEEDS = range(93_000, 93_000 + int(os.environ.get("FORESET_FUZZ_SPARK") or 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_nights_of_specs_and_edits(
    seed: int, spark: SparkSession, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    random_nights(seed, warehouse, tmp_path / "specs", spark)
