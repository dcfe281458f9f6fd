"""`make bench-refresh` in its small form: it runs, compares, and refuses to time wrong results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench import core, machine, refresh, report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SMALL = ["--case", "B5", "--scale", "small", "--only", "delete 1"]


@pytest.mark.skipif(not os.environ.get("FORESET_LONG"), reason="with FORESET_LONG=1")
def test_the_small_form_runs_and_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    lines = refresh.run(refresh.options([*SMALL, "--peer"]), spark)
    assert [line.change for line in lines] == ["first load", "delete 1", "no-op"]
    deleted, idle = lines[1], lines[2]
    assert deleted.gone == 1
    assert deleted.built is not None
    assert (deleted.built.strategy, deleted.built.deleted) == ("recompute", deleted.kept.deleted)
    assert deleted.peers["DuckDB"].seconds is not None
    assert deleted.ratio == deleted.built.seconds / deleted.kept.seconds
    assert set(deleted.kept.phases) >= {"open", "capture", "stratum", "verify", "commit"}
    assert (idle.kept.status, idle.rows) == ("unchanged", deleted.rows)
    report.keep(tmp_path, "small", report.tables(lines), report.data(lines, machine.facts()))
    assert "| delete 1 |" in (tmp_path / "small.md").read_text()
    assert len(json.loads((tmp_path / "small.json").read_text())["lines"]) == 3


def test_a_wrong_result_is_not_timed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "fingerprint", lambda _: (0, "0"))
    with pytest.raises(SystemExit, match="expected"):
        refresh.run(refresh.options([*SMALL, "--baseline", "none"]), spark)
