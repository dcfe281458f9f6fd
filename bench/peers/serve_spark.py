"""Spark in a warm process of its own: each request names versions of the sources, and every view is overwritten.

The memory and the cores are those that Foreset's own server has here; all else is as Spark comes.

    python bench/peers/serve_spark.py JOB.json
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.processes import answer, requests
from deltalake import DeltaTable
from run_spark import at, overwrite

from foreset.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN_DEFAULTS = {  # of Spark, where Foreset's sessions have others
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
    "spark.sql.constraintPropagation.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}


def overwritten(spark: SparkSession, job: Mapping[str, Any], versions: Mapping[str, int]) -> dict[str, Any]:
    """All views anew over these versions; how long it took, and where they lie now."""
    started = time.monotonic()
    for name, path in job["sources"].items():
        at(spark, path, versions[name]).createOrReplaceTempView(name)
    for view, query in job["queries"].items():
        overwrite(spark, f"{job['views']}/{view}", query)
    seconds = time.monotonic() - started
    paths = {view: f"{job['views']}/{view}" for view in job["queries"]}
    return {"seconds": seconds, "tables": {view: [path, DeltaTable(path).version()] for view, path in paths.items()}}


def main(job_file: str) -> None:
    """Serve states until the other side ends."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place, open_session("local[*]", place) as session:
        spark = session.spark
        for name, value in OWN_DEFAULTS.items():
            spark.conf.set(name, value)
        spark.range(1).write.format("delta").save(f"{place}/warm")
        answer({"ready": True})
        for request in requests():
            answer(overwritten(spark, job, request["versions"]))


if __name__ == "__main__":
    main(sys.argv[1])
