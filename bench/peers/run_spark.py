"""Spark in a warm session of its own: every view overwritten with its query, or MERGE of the keys that were touched.

The states are versions of the source tables. Untouched views are skipped where it merges: who writes MERGE for each
view knows what the view reads; a full refresh does not ask.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import job
from delta.tables import DeltaTable

from foreset.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Tables:
    """Where the sources are and at which versions, where the views go, and which of them have keys."""

    sources: dict[str, str]
    versions: list[dict[str, int]]
    keyed: dict[str, dict[str, Any]]
    skips: bool
    views: str


def at(spark: SparkSession, path: str, version: int) -> DataFrame:
    """A table at a version."""
    return spark.read.format("delta").option("versionAsOf", version).load(path)


def changed(spark: SparkSession, tables: Tables, step: int) -> set[str]:
    """Make the tables of this step and `<table>_changes` known; the names of those that changed."""
    moved = set()
    for name, path in tables.sources.items():
        now = tables.versions[step][name]
        at(spark, path, now).createOrReplaceTempView(name)
        before = tables.versions[step - 1][name] if step else -1
        feed = at(spark, path, now).limit(0)
        if now != before:
            moved.add(name)
        if step and now != before:
            reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", before + 1)
            feed = reader.option("endingVersion", now).load(path)
        feed.createOrReplaceTempView(f"{name}_changes")
    return moved


def overwrite(spark: SparkSession, path: str, query: str) -> None:
    """All of a view anew."""
    spark.sql(query).write.format("delta").mode("overwrite").save(path)


def merge(spark: SparkSession, path: str, query: str, keyed: Mapping[str, Any]) -> None:
    """Rows of the touched keys: what the query has of them now, and what it has no longer."""
    by = ", ".join(keyed["keys"])
    spark.sql(keyed["touched"]).createOrReplaceTempView("touched")
    fresh = spark.sql(f"select v.*, true as there from ({query}) v left semi join touched using ({by})")
    fresh.createOrReplaceTempView("fresh")
    values = {name: f"s.{name}" for name in fresh.columns if name != "there"}
    found = spark.sql(f"select * from touched left join fresh using ({by})").alias("s")
    same = " and ".join(f"t.{key} <=> s.{key}" for key in keyed["keys"])
    act = DeltaTable.forPath(spark, path).alias("t").merge(found, same)
    act = act.whenMatchedDelete("s.there is null").whenMatchedUpdate(set=values)
    act.whenNotMatchedInsert("s.there", values).execute()


def refresh(spark: SparkSession, tables: Tables, queries: Mapping[str, str], step: int) -> None:
    """Bring all views to the state of a step."""
    moved = changed(spark, tables, step)
    reads = re.compile(rf"\b({'|'.join(sorted(moved)) or 'nothing'})\b")
    for view, query in queries.items():
        if tables.skips and not reads.search(query):
            continue
        path = f"{tables.views}/{view}"
        if step and view in tables.keyed:
            merge(spark, path, query, tables.keyed[view])
        else:
            overwrite(spark, path, query)


def main() -> None:
    """All steps, after a write that warms up."""
    given = job.read()
    tables = Tables(**json.loads(Path("tables.json").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as place, open_session("local[*]", place) as session:
        spark = session.spark
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")  # Spark's own; Foreset's sessions have less
        spark.range(1).write.format("delta").save(f"{place}/warm")
        for step in range(given.steps):
            started = time.monotonic()
            refresh(spark, tables, given.program, step)
            seconds = time.monotonic() - started
            paths = [f"{tables.views}/{view}" for view in given.program]
            versions = [DeltaTable.forPath(spark, path).history(1).collect()[0]["version"] for path in paths]
            left = zip(paths, versions, strict=True)
            job.tell(step, seconds, tables=dict(zip(given.program, left, strict=True)))


if __name__ == "__main__":
    main()
