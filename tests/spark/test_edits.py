"""Edits in Spark: rows that they name are maintained as changes there too, and other regions as conditions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.roads import CLOSURE, DEAD_END, GROUP, World, closed, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SPEC = f"""{GROUP}{CLOSURE}{DEAD_END}\
  sizes:
    columns: {{src: string, n: bigint}}
    rules:
      - sizes(X, N) :- N = count{{Y | closure(X, Y)}}
"""
ROADS = "ab bc cd de"


def test_edits_in_spark(spark: SparkSession, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    world = World(warehouse, tmp_path / "specs", spark, ROADS)
    world.spec(SPEC)
    wh = world.open()
    wh.refresh("reach")
    done = wh.edit("reach.closure", delete='src = "a", dst = "c"')
    assert (done.views["closure"].engine, done.views["closure"].strategy == "recompute") == ("spark", False)
    assert words(wh.read("reach.closure")) == closed(ROADS) - {"ac"}, "a is before b, and b before d and e"
    wh.edit("reach.closure", insert='src = "e", dst = "z"')
    wh.edit("reach.closure", delete='dst >= "y", src < "c"')
    wh.edit("reach.dead_end", delete='node = "e"')
    assert words(wh.read("reach.closure")) == closed(ROADS) - {"ac"} | {"cz", "dz", "ez"}
    assert words(wh.read("reach.dead_end")) == set()
    world.insert("ef")
    world.delete("cd")
    wh.refresh("reach", verify="full")
    sizes = {row["src"]: row["n"] for row in wh.read("reach.sizes").to_pylist()}
    ways = words(wh.read("reach.closure"))
    assert sizes == {src: sum(way[0] == src for way in ways) for src in {way[0] for way in ways}}
    assert words(wh.read("reach.dead_end")) == {"c", "f"}
    wh.edit("reach.closure", undo=1)
    assert "ac" in words(wh.read("reach.closure"))
