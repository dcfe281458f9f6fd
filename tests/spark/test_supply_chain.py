"""The sample warehouse: a first load, then the real next day, against full evaluation of both days in memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

import foreset
from foreset.ir.terms import Row
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_file
from foreset.store.types import arrow_type
from foreset.testing.replica import Delta, Replica

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from foreset.ir.program import Source

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "supply_chain"))


def rows_of(table: pa.Table) -> frozenset[Row]:
    return frozenset(tuple(row.values()) for row in table.to_pylist())


def arrow(source: Source, rows: list[Row], places: list[int]) -> pa.Table:
    columns = [
        pa.array([row[p] for row in rows], arrow_type(c.type)) for p, c in zip(places, source.columns, strict=True)
    ]
    return pa.table(columns, names=[column.name for column in source.columns])


def test_a_real_day(warehouse: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.environ.get("FORESET_LONG"):  # in Spark throughout, it takes minutes
        monkeypatch.setenv("FORESET_ENGINE", "auto")
    import read  # the example's own reader

    loaded = load_file(ROOT / "view_specs" / "supply_chain.yaml")
    assert loaded.program is not None
    prepared = prepare(loaded.program)
    assert prepared.program is not None
    assert prepared.layering is not None
    day1, day2 = read.read_day1(), read.read_day2()
    replica = Replica(prepared.program, prepared.layering, keep_counters=False)
    first: dict[str, Delta] = {}
    second: dict[str, Delta] = {}
    for source in prepared.program.sources:
        name = str(source.table).rsplit("/", 1)[-1]
        places = [list(read.TABLES[name]).index(column.name) for column in source.columns]
        picked = [tuple(row[p] for p in places) for row in day1[name]]
        came, went = ([tuple(row[p] for p in places) for row in rows] for rows in day2[name])
        before = frozenset(picked)
        left = list(picked)
        for row in went:
            left.remove(row)
        after = frozenset([*left, *came])
        first[source.name], second[source.name] = Delta(before), Delta(after - before, before - after)
        path, straight = f"{warehouse}/{source.table}", list(range(len(places)))
        write_deltalake(path, arrow(source, picked, straight), configuration=FEED)
    wh = foreset.open(warehouse, str(ROOT / "view_specs"), spark)
    expected, _ = replica.refresh(first)
    done = wh.refresh("supply_chain", verify=400)
    assert done.verification["verdict"] == "passed"
    for name, delta in expected.items():
        assert rows_of(wh.read(f"supply_chain.{name}")) == delta.plus, name

    expected, _ = replica.refresh(second)
    for source in prepared.program.sources:
        delta = second[source.name]
        path = f"{warehouse}/{source.table}"
        if delta.minus:
            gone = arrow(source, sorted(delta.minus, key=repr), list(range(len(source.columns))))
            on = " and ".join(f"(t.{c.name} is not distinct from s.{c.name})" for c in source.columns)
            DeltaTable(path).merge(gone, on, source_alias="s", target_alias="t").when_matched_delete().execute()
        if delta.plus:
            came_rows = sorted(delta.plus, key=repr)
            write_deltalake(path, arrow(source, came_rows, list(range(len(source.columns)))), mode="append")
    done = wh.refresh("supply_chain", mode="incremental", verify=400)
    assert done.verification["verdict"] == "passed"
    for name, delta in expected.items():
        plus, minus = wh.changes(f"supply_chain.{name}")
        assert (rows_of(plus), rows_of(minus)) == (delta.plus, delta.minus), name
        assert (done.views[name].inserted, done.views[name].deleted) == (len(delta.plus), len(delta.minus)), name
