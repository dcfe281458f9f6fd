"""The same refresh cases as in memory, on the Spark engine.

A thirteenth of the pairs runs in `make test`, spread over cases and strategies but for aggregates, and those that
found a fault; all of them under FORESET_LONG=1 (`make fuzz-spark`).
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.refresh_cases import CASES, STRATEGIES, read_case, run_strategy
from tests.roads import counters_lost
from tests.spark.engine_reader import SparkReader, SparkReplica

from foreset.backends.spark import cutting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = bool(os.environ.get("FORESET_LONG"))
# Aggregates take minutes here; test_aggregates.py has one of their cases.
PATHS = [path for path in sorted(CASES.glob("*.case")) if LONG or not path.stem.startswith("aggregate")]
PAIRS = [(path, strategy) for path in PATHS for strategy in STRATEGIES]
SHARE = 1 if LONG else 13  # prime: every strategy has its turn
FOUND = {("let_chain", "dred"), ("let_chain", "counting")}  # a computed value met a changed negation
SUPPORTS = {("supports_and_null", "stdel"), ("two_cycles", "stdel")}  # what is special about them: NULL, and circles
SPREADING = {("carried_columns", "spread")}  # decimals, dates and NULLs go to the driver and back
CHOSEN = [
    (path, strategy)
    for i, (path, strategy) in enumerate(PAIRS)
    if (i + i // len(STRATEGIES)) % SHARE == 0 or (path.stem, strategy) in FOUND | SUPPORTS | SPREADING
]


@pytest.mark.parametrize(("path", "strategy"), CHOSEN, ids=lambda value: getattr(value, "stem", value))
def test_case(path: Path, strategy: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    if CHOSEN.index((path, strategy)) % 2:
        monkeypatch.setattr(cutting, "AT_HAND", -1)  # every result on the way is written, and read from its files
    case = read_case(path)
    assert run_strategy(case, SparkReader(spark), strategy)[0] == case.expected


def test_counters_of_other_rows_are_refused(spark: SparkSession) -> None:
    counters_lost(partial(SparkReplica, spark=spark), "counting")
