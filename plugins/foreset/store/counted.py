"""Write Parquet files and say what was written: aggregates are observed on the way, not asked for afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

ROWS = "rows"


def write_seeing(
    frame: DataFrame, path: str, metrics: Mapping[str, Column], split: Iterable[str] = (), most_rows: int = 0
) -> Row:
    """Write a frame anew, in a folder for each value of `split`, and return aggregates over all that was written.

    `most_rows`: so many go into one file (0: as many as there are).
    """
    from pyspark.sql import Observation, Row

    seen = Observation()
    named = [value.alias(name) for name, value in metrics.items()]
    writer = frame.observe(seen, *named).write.option("maxRecordsPerFile", most_rows)
    writer.mode("overwrite").partitionBy(*split).parquet(path)
    found = seen.get
    if len(found) == len(metrics):
        return Row(**found)
    # A Connect server now and then answers before it has heard what was observed.
    written = frame.sparkSession.read.schema(frame.schema).parquet(path).agg(*named).first()
    assert written is not None
    return written


def write_counting(frame: DataFrame, path: str, most_rows: int) -> int:
    """Write a frame anew, so many rows into a file at most, and return its number of rows."""
    from pyspark.sql import functions as f

    return int(write_seeing(frame, path, {ROWS: f.count(f.lit(1))}, most_rows=most_rows)[ROWS])
