"""Sources as sets: what the engine reads beside the differentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Source
from foreset.store.canonical import without
from foreset.store.capture.feed import read_version
from foreset.store.capture.origins import open_origin
from foreset.store.capture.take import Captured
from foreset.store.layout import table_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_source(spark: SparkSession, source: Source, version: int, root: str) -> DataFrame:
    """The set of declared columns at a version (of a view source: at a seq)."""
    if source.table is not None:  # nothing to look up: Delta opens the version itself
        return read_version(spark, table_path(root, source.table), version, source.columns).distinct()
    return open_origin(spark, source, root, version).at(version).distinct()


def read_before(spark: SparkSession, source: Source, captured: Captured, root: str) -> DataFrame:
    """The set as the refresh before saw it.

    Where the old version cannot be read any more it follows from the new one and the
    differential, exactly: `old = new - plus + minus`.
    """
    if captured.differential is None or captured.recorded is None:
        raise ValueError(f"source `{source.name}` was taken whole: {captured.reason}")
    if not captured.old_lost:
        return read_source(spark, source, captured.recorded.version, root)
    now = read_source(spark, source, captured.pin.version, root)
    names = [column.name for column in source.columns]
    return without(now, captured.differential.plus, names).unionByName(captured.differential.minus)
