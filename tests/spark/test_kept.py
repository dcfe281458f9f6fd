"""What is computed once and read again: the same rows with the same types, wherever they lie, until it is released."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from foreset.backends.spark import cutting
from foreset.backends.spark.cutting import Keeper
from foreset.backends.spark.frames import Piece

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = "n bigint, t string, d decimal(38,3), f double, a array<int>, s struct<k:date>, z timestamp, u timestamp_ntz"
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 1)
DAY = datetime.date(1582, 10, 4)
FULL = (1, "ä", Decimal("1.500"), -0.0, [1, None], (DAY,), NOON.replace(tzinfo=datetime.UTC), NOON)


@pytest.fixture
def keeper(spark: SparkSession, tmp_path: Path) -> Keeper:
    return Keeper(spark, str(tmp_path / "kept"))


def folders(keeper: Keeper) -> set[str]:
    return {path.name for path in Path(keeper.folder).glob("*")}


@pytest.mark.parametrize("expected", [None, 2], ids=["written", "at hand"])
def test_every_type_comes_back(expected: int | None, keeper: Keeper) -> None:
    frame = keeper.spark.createDataFrame([FULL, (None,) * len(FULL)], NAMES)
    piece = keeper.keep(frame, expected)
    assert (piece.rows, piece.computed, len(folders(keeper))) == (2, True, 0 if expected else 1)
    assert piece.frame.dtypes == frame.dtypes
    assert sorted(map(repr, piece.frame.collect())) == sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("expected", [None, 0], ids=["written", "at hand"])
def test_nothing_is_kept_too(expected: int | None, keeper: Keeper) -> None:
    frame = keeper.spark.range(3)
    piece = keeper.keep(frame.where("id > 5"), expected)
    assert (piece.rows, piece.frame.dtypes) == (0, [("id", "bigint")])
    assert piece.frame.unionAll(frame).count() == 3


def test_more_rows_than_expected_are_written(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "AT_HAND", 4)
    assert keeper.keep(keeper.spark.range(4), 1).place is None
    piece = keeper.keep(keeper.spark.range(5), 1)
    assert (piece.rows, piece.frame.count(), folders(keeper)) == (5, 5, {"0"})
    assert keeper.keep(keeper.spark.range(1), 1).place is not None, "after a wrong guess"
    assert keeper.keep(keeper.spark.range(0), 0).place is None


def test_what_is_not_read_any_more_is_deleted(keeper: Keeper) -> None:
    first, second, third = (keeper.keep(keeper.spark.range(n)) for n in (1, 2, 3))
    plan = Piece(second.frame.unionAll(first.frame))  # nobody has run it: it may read all that was there
    fourth = keeper.keep(keeper.spark.range(4))
    keeper.sweep([third, fourth, plan])
    assert folders(keeper) == {"0", "1", "2", "3"}
    fifth = keeper.keep(keeper.spark.range(5))
    keeper.sweep([third, plan])
    assert folders(keeper) == {"0", "1", "2"}, f"{fourth.place} and {fifth.place} came after the plan"
    assert plan.frame.count() == 3
    keeper.sweep([third])
    assert folders(keeper) == {"2"}
    keeper.release()
    assert not Path(keeper.folder).exists()
