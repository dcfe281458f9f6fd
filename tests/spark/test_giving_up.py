"""A deletion that first takes too much is given up for a recompute, which is exact, told, and remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.test_refresh import World, closed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_too_large_a_deletion_ends_in_a_recompute(
    warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(warehouse, tmp_path / "specs", spark)
    text = (world.specs / "reach.yaml").read_text()
    world.spec(text[: text.index("  dead_end:")])
    wh = world.open()
    wh.refresh("reach")
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    monkeypatch.setattr("foreset.engine.run.DELETED_ROWS", 1)
    monkeypatch.setattr("foreset.engine.run.DELETED_SHARE", 0.0)
    world.delete("bc")
    done = wh.refresh("reach").views["closure"]
    before = closed(["fe", "ed", "ea", "ab", "dc", "bc", "cg"])
    after = closed(["fe", "ed", "ea", "ab", "dc", "cg"])
    assert (done.strategy, done.inserted, done.deleted) == ("recompute", 0, len(before - after))
    assert "given up" in done.reason
    found = wh.read("reach.closure")
    assert {row["src"] + row["dst"] for row in found.to_pylist()} == after
    assert wh.manifest("reach")[-1]["extra"]["strata"][0]["instead_of"] == "dredf"
    world.delete("cg")
    assert "would take dredf" in wh.refresh("reach").views["closure"].reason
