"""Aggregates in Spark: the shared cases, random programs, and whole refreshes over Delta tables.

6 random programs with 3 batches in `make test`; 200 with 5, and all cases, under `make fuzz-spark`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.property.aggregate_programs import random_aggregates
from tests.refresh_cases import CASES, always, in_normal_form, read_case, run_strategy
from tests.roads import FEED
from tests.spark.engine_reader import SparkReader, SparkReplica

import foreset
from foreset.ir.terms import Row
from foreset.oracle.naive import evaluate
from foreset.testing.replica import Delta
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = bool(os.environ.get("FORESET_LONG"))
FOLDING = "counting"  # leaves views of groups to `aggregate`, where `auto` would recompute such tiny ones
SEED, PROGRAMS, BATCHES = 88_000, 200 if LONG else 6, 5 if LONG else 3


@pytest.mark.skipif(not LONG, reason="with FORESET_LONG=1: many views, and many small jobs for each")
@pytest.mark.parametrize("name", ["aggregate_kinds", "aggregate_layers"])
def test_shared_case(name: str, spark: SparkSession) -> None:
    case = read_case(CASES / f"{name}.case")
    assert run_strategy(case, SparkReader(spark), FOLDING)[0] == case.expected


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS))
def test_random_program(seed: int, spark: SparkSession) -> None:
    """What Spark folds is what evaluation from nothing gives, to the last digit."""
    case = random_aggregates(seed)
    program, layering = in_normal_form(case.program)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    session = SparkReader(spark).open(program, layering)
    sources: dict[str, frozenset[Row]] = {source.name: frozenset() for source in program.sources}
    before = {view.name: frozenset[Row]() for view in program.views}
    for number, night in enumerate(case.nights[: BATCHES + 1]):
        sources |= {name: (sources[name] - delta.minus) | delta.plus for name, delta in night.items()}
        now = evaluate(layering.strata, sources, kinds, program.max_rounds)
        deltas = session.refresh(night, always(FOLDING))
        for name, found in deltas.items():
            assert found == Delta(now[name] - before[name], before[name] - now[name]), (number, name)
        before = {name: now[name] for name in before}


# ---------------------------------------------------------------- over Delta tables
SPEC = """\
group: shops
sources:
  sale: {table: raw/sale, columns: {id: bigint, shop: string, item: string, amount: bigint, weight: double}}
views:
  totals:
    columns: {shop: string, n: bigint, total: bigint, mean: double}
    rules:
      - totals(S, N, T, M) :- setof((A, I), sale(I, S, _, A, _), R), count(R, N), sum(R, T), avg(R, M)
  best:
    columns: {shop: string, most: bigint}
    rules:
      - best(S, M) :- M = max{A, I | sale(I, S, _, A, _)}
  items:
    columns: {shop: string, n: bigint}
    rules:
      - items(S, N) :- N = count{X | sale(_, S, X, _, _)}
  large:
    columns: {shop: string}
    rules:
      - large(S) :- totals(S, N, _, _), N > 100, not items(S, 1)
"""
BIG, SMALL = 1_000_000 if LONG else 20_000, 5


@pytest.fixture(params=["spark", "inproc"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where incremental strata run."""
    monkeypatch.setenv("FORESET_ENGINE", request.param)
    return request.param


def rows(first: int, count: int, shop: str) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({
        "id": pa.array(ids, pa.int64()),
        "shop": [shop] * count,
        "item": [f"i{i % 7}" for i in ids],
        "amount": pa.array([i % 1000 for i in ids], pa.int64()),
        "weight": [i * 0.1 for i in ids],
    })  # fmt: skip


def opened(warehouse: str, tmp_path: Path, spark: SparkSession, text: str = SPEC) -> Warehouse:
    specs = tmp_path / "specs"
    specs.mkdir(exist_ok=True)
    (specs / "shops.yaml").write_text(text)
    return foreset.open(warehouse, str(specs), spark)


def contents(wh: Warehouse, view: str) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in wh.read(view).to_pylist()}


def test_one_change_of_a_large_group(
    warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is not read, members are read for the lost extremum alone, and what is written is a few rows.

    `auto` may recompute so small a base: it goes by the seconds that it has seen here.
    """
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    table = f"{warehouse}/raw/sale"
    write_deltalake(table, pa.concat_tables([rows(0, BIG, "big"), rows(BIG, SMALL, "small")]), configuration=FEED)
    wh = opened(warehouse, tmp_path, spark)
    first = wh.refresh("shops", verify=40)
    assert set(first.views) == {"totals", "best", "items", "large"}
    before = contents(wh, "shops.totals")
    total = BIG // 1000 * 499_500
    assert ("big", BIG, total, 499.5) in before
    assert contents(wh, "shops.best") == {("big", 999), ("small", SMALL - 1)}

    write_deltalake(table, rows(5_000_000, 1, "big"), mode="append")
    r = wh.refresh("shops", "incremental", verify=40)
    assert ("big", BIG + 1, total, total / (BIG + 1)) in contents(wh, "shops.totals")
    assert {name: (view.inserted, view.deleted) for name, view in r.views.items()} == {
        "totals": (1, 1), "best": (0, 0), "items": (0, 0), "large": (0, 0)}  # fmt: skip
    assert all("sale" not in view.rows_read for view in r.views.values())  # self-maintainable: not the base
    members = [name for name in r.views["best"].rows_read if name.startswith("the elements from")]
    assert not members, "999 still stands, so nobody looks at the members"
    states = [DeltaTable(str(path)) for path in (Path(warehouse) / "shops" / "_state").iterdir()]
    written = sum(
        action["num_records"]
        for state in states
        for action in pa.table(state.get_add_actions(flatten=True)).to_pylist()
        if action.get("partition._seq") == r.seq
    )
    assert written < 20, "one change of a large group does not write its million members anew"

    DeltaTable(table).delete("shop = 'small' and amount = 4")
    r = wh.refresh("shops", "incremental", verify=40)
    assert contents(wh, "shops.best") == {("big", 999), ("small", 3)}
    assert any(name.startswith("the elements from") for name in r.views["best"].rows_read)
    assert all("sale" not in view.rows_read for view in r.views.values())
    DeltaTable(table).delete("shop = 'small'")
    r = wh.refresh("shops", mode="strict", verify="full")
    assert {row[0] for row in contents(wh, "shops.totals")} == {"big"}
    assert not any("~" in name for name in foreset.open_snapshot(warehouse, "shops").views)


FAILING = """\
group: shops
sources:
  sale: {table: raw/sale, columns: {id: bigint, shop: string, item: string, amount: bigint, weight: double}}
aggregates:
  small: {takes: bigint, state: tinyint, zero: 0, add: "tinyint(A + X)", remove: "tinyint(A - X)"}
  maybe: {takes: bigint, state: bigint, zero: 0, add: "coalesce(A, X)"}
  ratio: sum(S) / (count(S) - 2)
views:
  v:
    columns: {shop: string, n: RESULT}
    rules:
      - v(S, N) :- setof((A, I), sale(I, S, _, A, _), R), AGGREGATE
"""


@pytest.mark.parametrize(
    ("aggregate", "result", "message"),
    [
        ("small(R, N, 1)", "tinyint", 'rule v#1 of view v, group (S = "nord"): '),
        ("ratio(R, N)", "double", "rule v#1 of view v: division by zero"),
    ],
)
def test_what_fails_names_rule_view_and_group(
    aggregate: str, result: str, message: str, place: str, warehouse: str, tmp_path: Path, spark: SparkSession
) -> None:
    """Nothing is published, and the next refresh goes on from the last good state."""
    table = f"{warehouse}/raw/sale"
    write_deltalake(table, rows(0, 3, "sued"), configuration=FEED)
    text = FAILING.replace("AGGREGATE", aggregate).replace("RESULT", result)
    wh = opened(warehouse, tmp_path, spark, text)
    good = wh.refresh("shops", verify="off")
    write_deltalake(table, rows(100, 2, "nord"), mode="append")
    with pytest.raises(foreset.EvaluationError) as caught:
        wh.refresh("shops", verify="off")
    assert message in str(caught.value), place
    assert "nord" in str(caught.value)
    assert len(wh.manifest("shops")) == 1
    DeltaTable(table).delete("id = 101")
    if aggregate.startswith("ratio"):
        assert wh.refresh("shops", verify="off").seq > good.seq


def test_stored_rows_that_are_wrong_stop_the_refresh(spark: SparkSession) -> None:
    """Fewer members than none: as with counters, the state does not belong to these rows."""
    case = read_case(CASES / "aggregate_layers.case")
    program, layering = in_normal_form(case.program)
    replica = SparkReplica(program, layering, spark=spark)
    replica.refresh(case.nights[0], always("recompute"))
    for name in [view.name for view in program.views if view.aggregation]:
        replica.contents[name] = frozenset()
    with pytest.raises(foreset.EvaluationError, match="stored number of members"):
        replica.refresh(case.nights[1], always(FOLDING))


IN_PYTHON = """\
group: shops
sources:
  sale: {table: raw/sale, columns: {id: bigint, shop: string, item: string, amount: bigint, weight: double}}
views:
  v:
    columns: {shop: string, n: bigint, m: bigint}
    rules:
      - v(S, N, M) :- setof((A, I), sale(I, S, _, A, _), R), bits(R, N, 1), most(R, M, 1)
"""


def test_functions_of_the_deployment(
    warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is folded in place, and one that is gathered anew by Spark's Python workers."""
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    monkeypatch.setattr("foreset.spec.registered._registered", {})
    xor = lambda a, x: a ^ (x + 1)  # noqa: E731 - a function that workers need not import
    foreset.register_aggregate("bits", foreset.PythonAggregate("bigint", "bigint", 0, xor, xor))
    foreset.register_aggregate("most", foreset.PythonAggregate("bigint", "bigint", -1, lambda a, x: max(a, 3 * x)))
    table = f"{warehouse}/raw/sale"
    write_deltalake(table, rows(0, 8, "a"), configuration=FEED)
    wh = opened(warehouse, tmp_path, spark, IN_PYTHON)
    wh.refresh("shops", verify=20)
    assert contents(wh, "shops.v") == {("a", 8, 21)}
    DeltaTable(table).delete("id = 7")
    wh.refresh("shops", verify=20)
    assert contents(wh, "shops.v") == {("a", 0, 18)}
