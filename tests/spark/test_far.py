"""Changes that are worked on here, while what is large stays with Spark and is asked for what meets them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.keyed import Shop, follows
from tests.located_places import COLUMNS, ROWS, counted, places
from tests.spark.test_random_refresh import ASKED, IN_SPARK, PROGRAMS, SEED
from tests.spark.test_random_refresh import test_random_program as random_program

from foreset.backends.duckdb import tables as in_process
from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Sql, Table, Tables
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.plan import place
from foreset.refresh import engines
from foreset.relations import far, tables
from foreset.relations.far import FarRelations, SparkRows
from foreset.relations.located import Located
from foreset.relations.tables import DuckDBPort
from foreset.store.delta import SparkOnly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
KINDS = tuple(column.type for column in COLUMNS)
OLD = Ref("r", Version.OLD)
BY_ALL = [("c0", "r.c0", True), ("c1", "r.c1", True)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every relation counts as large; how often Spark was asked for rows, gave all, and ran the steps."""
    counted: Counter[str] = Counter()
    meeting, whole, port = SparkRows.meeting, SparkRows.whole, engines.spark_port

    def asked(*args: Any) -> Table:
        counted["asked"] += 1
        return meeting(*args)

    def taken(rows: SparkRows, at: Tables) -> Table:
        counted["taken"] += 1
        return whole(rows, at)

    def stepped(*args: Any) -> object:
        counted["steps in Spark"] += 1
        return port(*args)

    monkeypatch.setattr(SparkRows, "meeting", asked)
    monkeypatch.setattr(SparkRows, "whole", taken)
    monkeypatch.setattr(engines, "spark_port", stepped)
    monkeypatch.setattr(place, "LARGE", 0)
    monkeypatch.setattr(engines, "LARGE", 0)
    return counted


def opened(spark: SparkSession, located: Located) -> DuckDBPort:
    """A port that has one relation, as Spark has it."""
    port = DuckDBPort(DuckDBBackend(Tables(connect(), {"r": KINDS})), far=FarRelations(spark, 0))
    port.put([replace(located, rows=100)], Reads((), (), (), building=False, tallying=True))
    return port


def asked_for(port: DuckDBPort, table: Table, keys: list[Row], pairs: list[tuple[str, str, bool]]) -> list[Row]:
    wanted = port.tables.bring(keys, KINDS, ("c0", "c1"))
    found = port.tables.look(table, wanted, pairs)
    return sorted(port.tables.fetch(found, KINDS), key=repr)


def test_rows_that_meet_keys(tmp_path: Path, spark: SparkSession) -> None:
    """A NULL meets a NULL where rows are compared, and nothing where partners are looked for; copies stand once."""
    there = places(tmp_path)
    for kind in ("source", "signed"):
        port = opened(spark, there[kind])
        (part,) = port.tables.parts(OLD)
        assert part.table.far is not None, kind
        keys: list[Row] = [(None, "y"), (1, "x"), (1, "other"), (7, "z")]
        assert asked_for(port, part.table, keys, BY_ALL) == [(1, "x"), (None, "y")], kind
        assert asked_for(port, part.table, keys, [("c0", "r.c0", False)]) == [(1, "x")], kind
        assert part.table.far is not None, f"{kind}: nothing was taken whole"
        assert set(port.rows(OLD)) == ROWS, f"{kind}: few rows may be taken whole"
        assert port.tables.parts(OLD)[0].table.far is None, kind


def test_what_is_hidden_is_not_read(tmp_path: Path, spark: SparkSession) -> None:
    port = opened(spark, replace(places(tmp_path)["signed"], hidden=frozenset({1})))
    (part,) = port.tables.parts(OLD)
    assert asked_for(port, part.table, [(1, None), (2, None)], [("c0", "r.c0", False)]) == [(1, None), (2, None)]
    with pytest.raises(OutOfBounds, match="cannot be asked"):
        asked_for(port, part.table, [(1, "x")], [("c1", "r.c1", False)])


def test_counters(tmp_path: Path, spark: SparkSession) -> None:
    port = DuckDBPort(DuckDBBackend(Tables(connect(), {"r": KINDS})), far=FarRelations(spark, 0))
    port.count("r", counted(tmp_path))
    lookup = port.backend.counters["r"].stored
    assert lookup is not None
    found = lookup(port.tables.bring([(1, "x"), (9, "nowhere")], KINDS, ("c0", "c1")))
    sums = Sql(f"SELECT c0, c1, sum(base), sum(recursive) FROM {found.name} GROUP BY c0, c1")
    assert port.tables.run(sums) == [(1, "x", 2, 1)]


def test_bounds_are_held(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    port = opened(spark, places(tmp_path)["signed"])
    (part,) = port.tables.parts(OLD)
    with monkeypatch.context() as less:
        less.setattr(far, "MOST_ROWS", 1)
        with pytest.raises(OutOfBounds, match="more than 1 rows of r would come from Spark"):
            asked_for(port, part.table, [(1, "x"), (2, None)], BY_ALL)
        less.setattr(far, "MOST_KEYS", 1)
        with pytest.raises(OutOfBounds, match="2 keys of r at once"):
            asked_for(port, part.table, [(1, "x"), (2, None)], BY_ALL)
    monkeypatch.setattr(in_process, "FEW_FAR_VALUES", 0)
    with pytest.raises(OutOfBounds, match=r"all [0-9,]+ rows of r from Spark"):
        port.rows(OLD)


def test_nights_are_exact(tmp_path: Path, spark: SparkSession, large: Counter[str]) -> None:
    """Rows come, go and change in three sources; several strata ask one of them by the same changed rows."""
    shop = Shop(tmp_path, Random(5), spark)
    follows(shop, 1)
    first = large["steps in Spark"]
    follows(shop, 4, loaded=True)
    assert large["asked"] > 3
    assert large["steps in Spark"] == first, "only the first load needs all rows"


IN_TURN = range(SEED, SEED + PROGRAMS, IN_SPARK)  # those that name Spark


@pytest.mark.parametrize("seed", IN_TURN if ASKED else IN_TURN[-1:])
def test_random_program(
    seed: int, warehouse: str, tmp_path: Path, spark: SparkSession, large: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    random_program(seed, warehouse, tmp_path, spark, monkeypatch)
    assert large["asked"] + large["taken"]


def test_too_much_runs_in_spark(
    tmp_path: Path, spark: SparkSession, large: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(far, "MOST_KEYS", -1)
    monkeypatch.setattr(in_process, "FEW_FAR_VALUES", -1)
    shop = Shop(tmp_path, Random(3), spark)
    follows(shop, 2)
    assert large["asked"]
    reasons = {record["engine_reason"] for record in shop.warehouse().manifest("shop")[-1]["extra"]["strata"]}
    assert any("looked up rows for a change, but it asks for" in reason for reason in reasons), reasons


def test_what_only_spark_can_read(
    tmp_path: Path, spark: SparkSession, large: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source with features that delta-rs lacks is asked for in Spark, and all else is done here."""
    monkeypatch.setenv("FORESET_ENGINE", "auto")
    bind_table = tables.bind_table

    def refused(at: Tables, relation: str, *rest: Any) -> Table:
        if relation == "line":
            raise SparkOnly("not today")
        return bind_table(at, relation, *rest)

    shop = Shop(tmp_path, Random(5), spark)
    follows(shop, 1)
    before = large["steps in Spark"]
    monkeypatch.setattr(tables, "bind_table", refused)
    follows(shop, 3, loaded=True)
    assert large["asked"]
    assert large["steps in Spark"] == before
