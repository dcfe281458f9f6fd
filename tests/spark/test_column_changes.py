"""A view whose columns change while its rows come and go, maintained and written by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.column_changes import BEFORE, columns_change, write

import foreset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("change", ["retyped", "renamed", "reordered"])
def test_columns_change_while_rows_come_and_go(
    spark: SparkSession, warehouse: str, tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    spec = tmp_path / "specs" / "g.yaml"
    spec.parent.mkdir()
    spec.write_text(BEFORE)
    table = f"{warehouse}/s"
    write(table, [(1, 1), (2, 2), (3, 3), (4, 4)])
    columns_change(foreset.open(warehouse, str(spec.parent), spark), spec, table, change)
