"""Readers while refreshes commit, as tests/spark/test_readers.py has it, with refreshes that need no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.test_readers import nothing_mixed, readings

pytestmark = pytest.mark.slow

READS = 60


def test_no_reading_is_mixed(tmp_path: Path) -> None:
    nothing_mixed(readings(str(tmp_path / "warehouse"), tmp_path / "specs", "nowhere", READS), READS)
