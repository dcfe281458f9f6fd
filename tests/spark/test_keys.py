"""Declared keys in Spark: the same views, and the same rows refused."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.keyed import Shop, contents, follows

from foreset.errors import SourceError
from foreset.refresh import keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_nothing_changes_for_keys(tmp_path: Path, spark: SparkSession) -> None:
    follows(Shop(tmp_path, Random(11), spark), 4)


def test_rows_of_one_key_stop_the_refresh(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where delta-rs cannot read a table."""
    monkeypatch.setattr(keys, "in_process", keys.in_spark)
    world = Shop(tmp_path, Random(0), spark)
    world.tables["client"] = {(1,): (1, "north"), (2,): (2, None)}
    for name in world.tables:
        world.write(name)
    world.write("client", [(1, "south")])
    with pytest.raises(SourceError, match=r"`client`: several rows have the key \(c = 1\)\n"):
        world.warehouse().refresh("shop")
    world.write("client", [(1, "north")])
    assert world.warehouse().refresh("shop").status == "committed", "copies of one row are one row"
    world.write("client", [(2, "south"), (None, "north"), (None, "south")])
    with pytest.raises(SourceError, match=r"\((c = NULL\); \(c = 2|c = 2\); \(c = NULL)\)"):
        world.warehouse().refresh("shop")
    assert contents(world.warehouse(), "quiet") == {(1,), (2,)}
