"""The same refresh cases as in memory, on the in-process reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.inproc_reader import InProcessReader
from tests.refresh_cases import CASES, STRATEGIES, read_case, run_strategy

READERS = {"small": InProcessReader(), "as if large": InProcessReader(large=0, patience=1)}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", sorted(CASES.glob("*.case")), ids=lambda path: path.stem)
def test_case(path: Path, strategy: str, reader: InProcessReader) -> None:
    case = read_case(path)
    assert run_strategy(case, reader, strategy)[0] == case.expected
