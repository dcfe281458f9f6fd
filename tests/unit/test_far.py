"""What is asked of Spark, and how often; what it answers is read from the same files here."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.keyed import Shop, follows, spec

from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.plan import place
from foreset.refresh import engines
from foreset.relations.arrow import table
from foreset.relations.far import MOST_SPANS, SparkRows, spans


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """By relation: how often Spark, whose place this process takes, was asked for rows."""
    counted: Counter[str] = Counter()

    def every(rows: SparkRows) -> pa.Table:
        shown = [i for i, column in enumerate(rows.columns) if not column.hidden]
        return table(rows.located).rename_columns([f"c{i}" for i in range(len(rows.columns))]).select(shown)

    def meeting(rows: SparkRows, tables: Tables, keys: pa.Table, places: Sequence[tuple[int, bool]]) -> Table:
        counted[rows.located.relation] += 1
        names = [f"k{i}" for i in range(len(places))]
        wanted, there = tables.take_arrow(keys.rename_columns(names)), tables.take_arrow(every(rows))
        pairs = zip(names, places, strict=True)
        same = (f"k.{name} {'IS NOT DISTINCT FROM' if safe else '='} r.c{at}" for name, (at, safe) in pairs)
        found = tables.make(Sql(f"SELECT r.* FROM {there.name} r SEMI JOIN {wanted.name} k ON {' AND '.join(same)}"))
        return rows._bound(tables, tables.arrow(found))

    monkeypatch.setattr(SparkRows, "meeting", meeting)
    monkeypatch.setattr(SparkRows, "whole", lambda rows, tables: rows._bound(tables, every(rows)))
    monkeypatch.setattr(place, "LARGE", 0)
    monkeypatch.setattr(engines, "LARGE", 0)
    return counted


@pytest.mark.parametrize("text", [spec(), spec(client="", sale="", line="")], ids=["keys", "no keys"])
def test_nights_that_run_no_step_in_spark(
    text: str, tmp_path: Path, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no Spark: whatever is not asked for, but run there, would fail."""
    shop = Shop(tmp_path, Random(4))
    shop.declare(text)
    follows(shop, 1)
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    follows(shop, 5, loaded=True)
    assert asked["line"]
    assert asked["sale"]
    records = shop.warehouse().manifest("shop")[-1]["extra"]["strata"]
    assert {record["engine"] for record in records if record["strategy"] != "skip"} == {"spark"}


def test_strata_share_what_was_asked(tmp_path: Path, asked: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three views look for the lines of changed sales; the relation is gone through once, and one of them says so."""
    shop = Shop(tmp_path, Random(4))
    follows(shop, 3)
    shop.tables["line"].update({(s, n): (s, n, "bolt", s) for s in range(6) for n in range(3)})
    shop.write("line")
    shop.warehouse().refresh("shop")
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    key, (sale, client, day) = next(iter(shop.tables["sale"].items()))
    shop.tables["sale"][key] = (sale, (client or 0) % 4 + 1, day)
    shop.write("sale")
    asked.clear()
    result = shop.warehouse().refresh("shop", "incremental")
    assert asked["line"] == 1
    assert sum(one.rows_read.get("line", 0) >= 18 for one in result.views.values()) == 1


def test_spans_hold_every_value_and_leave_out_the_largest_gaps() -> None:
    rng = Random(3)
    close = [rng.randrange(start, start + 50) for start in range(0, 10**9, 10**8) for _ in range(30)]
    found = spans(pa.chunked_array([close[:100], close[100:]], pa.int64()))
    assert len(found) == MOST_SPANS
    assert all(any(least <= value <= greatest for least, greatest in found) for value in close)
    assert sum(greatest - least for least, greatest in found) < 10 * 50


def test_few_values_are_spans_by_themselves() -> None:
    assert spans(pa.chunked_array([[5, -1, 5, 2]], pa.int32())) == [(-1, -1), (2, 2), (5, 5)]
    days = [dt.date(2026, 1, 1), dt.date(1969, 1, 1)]
    assert spans(pa.chunked_array([days], pa.date32())) == [(day, day) for day in sorted(days)]
    ends = [-(2**63), 2**63 - 1]
    assert spans(pa.chunked_array([ends], pa.int64())) == [(end, end) for end in ends]


@pytest.mark.parametrize(
    ("strategy", "changed", "largest", "asked"),
    [
        ("counting", 3, place.LARGE, True),
        ("counting", 3, place.LARGE - 1, False),
        ("dred", place.FEW_TO_ASK_BY + 1, place.LARGE, False),
        ("recompute", 3, place.LARGE, False),
    ],
)
def test_where_it_is_enough_to_ask(strategy: str, changed: int, largest: int, asked: bool) -> None:
    assert place.may_ask(strategy, changed, largest) is asked
