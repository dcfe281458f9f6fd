"""The same refresh cases as in memory, on the in-process reader.

A third of the pairs runs in `make test`, spread over cases and strategies; all of them under FORESET_LONG=1.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.duckdb_reader import DuckDBReader, DuckDBReplica
from tests.refresh_cases import CASES, STRATEGIES, read_case, run_strategy
from tests.roads import counters_lost

from foreset.testing.replica import Replica

PAIRS = [(path, strategy) for path in sorted(CASES.glob("*.case")) for strategy in STRATEGIES]
SHARE = 1 if os.environ.get("FORESET_LONG") else 3
CHOSEN = [pair for i, pair in enumerate(PAIRS) if (i + i // len(STRATEGIES)) % SHARE == 0]
READERS = {"small": DuckDBReader(), "as if large": DuckDBReader(large=0, patience=1)}
FAR = CHOSEN if SHARE == 1 else CHOSEN[::5]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(("path", "strategy"), CHOSEN, ids=lambda value: getattr(value, "stem", value))
def test_case(path: Path, strategy: str, reader: DuckDBReader) -> None:
    case = read_case(path)
    assert run_strategy(case, reader, strategy)[0] == case.expected


@pytest.mark.parametrize(("path", "strategy"), FAR, ids=lambda value: getattr(value, "stem", value))
def test_case_beside_what_is_far(path: Path, strategy: str) -> None:
    """States that are only asked for what meets a change."""
    case = read_case(path)
    assert run_strategy(case, DuckDBReader(patience=9, far=True), strategy)[0] == case.expected


@pytest.mark.parametrize("strategy", ["counting", "dredc"])
@pytest.mark.parametrize("kind", [Replica, DuckDBReplica])
def test_counters_of_other_rows_are_refused(kind: type[Replica], strategy: str) -> None:
    counters_lost(kind, strategy)
