"""Declared keys in Spark: the same views, and the same rows refused."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.keyed import Shop, contents, follows, stops_at_two_clients_of_one_number

from foreset.errors import SourceError
from foreset.refresh import key_check
from foreset.store.delta import SparkOnly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_nothing_changes_for_keys(tmp_path: Path, spark: SparkSession) -> None:
    follows(Shop(tmp_path, Random(11), spark), 4)


def test_rows_of_one_key_stop_the_refresh(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where delta-rs cannot read a table."""

    def refuse(*_: object) -> None:
        raise SparkOnly("not today")

    monkeypatch.setattr(key_check, "in_process", refuse)
    world = Shop(tmp_path, Random(0), spark)
    stops_at_two_clients_of_one_number(world)
    world.write("client", [(2, "south"), (None, "north"), (None, "south")])
    with pytest.raises(SourceError, match=r"\((c = NULL\); \(c = 2|c = 2\); \(c = NULL)\)"):
        world.warehouse().refresh("shop")
    assert contents(world.warehouse(), "quiet") == {(1,), (2,)}
