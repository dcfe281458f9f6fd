"""The report says what the refresh returned, and what it raised: read back from a warehouse that Spark wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import FEED

import foreset
from foreset.reports import pages, reading
from foreset.reports.headline import headline
from foreset.reports.model import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SPEC = """\
group: loads
sources:
  leg: {table: loads/leg, columns: {src: string, dst: string, tons: bigint}}
views:
  reach:
    columns: {src: string, dst: string}
    rules:
      - reach(X, Y) :- leg(X, Y, _)
      - reach(X, Y) :- leg(X, Z, _), reach(Z, Y)
    expectations:
      - {not_null: dst}
  share:
    columns: {src: string, part: bigint}
    rules:
      - share(X, P) :- leg(X, _, T), P = div(bigint(1000), T)
"""


def legs(*rows: tuple[str, str, int]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table({"src": columns[0], "dst": columns[1], "tons": pa.array(columns[2], pa.int64())})


def test_the_report_of_real_nights(warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "loads.yaml").write_text(SPEC)
    table = f"{warehouse}/loads/leg"
    write_deltalake(table, legs(("a", "b", 4), ("b", "c", 5)), configuration=FEED)
    wh = foreset.open(warehouse, str(tmp_path), spark)
    layout = wh.layout("loads")
    wh.refresh("loads", refresh_id="n1")
    write_deltalake(table, legs(("c", "d", 8), ("<script>", "a", 2)), mode="append")
    second = wh.refresh("loads", refresh_id="n2", note="bulk load")
    wh.refresh("loads", refresh_id="n3")
    write_deltalake(table, legs(("d", "e", 0)), mode="append")
    with pytest.raises(foreset.EvaluationError):
        wh.refresh("loads", refresh_id="n4")

    found = reading.read_run(layout, "n2")
    assert {v.name: (v.inserted, v.deleted, v.strategy, v.reason, v.rounds) for v in found.views} == {
        name: (v.inserted, v.deleted, v.strategy, v.reason, v.rounds) for name, v in second.views.items()
    }
    assert {v.name: v.rows for v in found.views} == {name: wh.read(f"loads.{name}").num_rows for name in second.views}
    assert found.verification is not None
    assert found.verification.rows == second.verification["rows"] > 0
    assert [(s.before, s.after, s.way, s.inserted, s.deleted) for s in found.sources] == [(0, 1, "Feed", 2, 0)]
    assert found.quality is not None
    assert [(e.view, e.success) for e in found.quality.expectations] == [("reach", True)]
    assert found.note == "bulk load"
    assert all(step.seconds is not None for step in found.steps)

    states = {run.refresh_id: run.state for run in reading.read_history(layout).runs}
    assert states == {"n1": State.COMMITTED, "n2": State.COMMITTED, "n3": State.UNCHANGED, "n4": State.FAILED}
    failed = reading.read_run(layout, "n4")
    assert failed.failure is not None
    assert failed.failure.error == "EvaluationError"
    assert [step.name for step in failed.steps if step.state == "failed"] == [failed.failure.phase]
    assert headline(failed).sentence.startswith("Readers still see the numbers of refresh 2 of ")
    assert "division by zero" in headline(failed).sentence
    assert all("<script" not in pages.run_page(reading.read_run(layout, name)) for name in states)
