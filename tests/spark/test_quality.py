"""Expectations of real refreshes: what stops before the commit, what is reported, and what is looked at."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.cli_runner import foreset as foreset_cli
from tests.roads import CLOSURE, EDGE, FEED, World, words

import foreset
from foreset.ir.expectations import Expectation, Scope, sentence
from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.ir.types import parse_type
from foreset.quality.batches import SPARK_ONLY, Batch, Finding
from foreset.quality.checker import Checker
from foreset.refresh import quality as phase
from foreset.store import events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.anywhere]

CLOSED = "  closed: {table: sales/closed, columns: {city: string}}\n"
SIZE = """\
  size:
    columns: {src: string}
    rules: ["size(X) :- closure(X, _)"]
"""


class Cities(World):
    """Roads between cities, some of them closed."""

    def __init__(self, warehouse: str, home: Path, spark: SparkSession) -> None:
        super().__init__(warehouse, home / "specs", spark, "ab bc")
        write_deltalake(f"{warehouse}/sales/closed", pa.table({"city": ["z"]}), configuration=FEED)

    def expect(self, *items: dict[str, Any]) -> None:
        self.spec(f"{EDGE}{CLOSED}views:\n{CLOSURE}    expectations: {json.dumps(items)}\n{SIZE}")

    def isolate(self, src: str) -> None:
        DeltaTable(self.table).delete(f"src = '{src}'")

    def close(self, city: str) -> None:
        write_deltalake(f"{self.root}/sales/closed", pa.table({"city": [city]}), mode="append")

    def seq(self) -> int:
        return max((row["seq"] for row in self.open().manifest("reach")), default=0)

    def outcome(self) -> list[dict[str, Any]]:
        """What the newest commit says of `closure`."""
        return self.open().manifest("reach")[-1]["quality"]["views"]["closure"]


@pytest.fixture
def world(warehouse: str, tmp_path: Path, spark: SparkSession) -> Cities:
    return Cities(warehouse, tmp_path, spark)


SCRIPT = "<script>alert(1)</script>"
NO_CIRCLE = {"deny": "closure(X, X)", "note": "a circle has no end"}


def test_a_critical_one_stops_before_the_commit(world: Cities) -> None:
    world.expect(NO_CIRCLE, {"matches": {"column": "dst", "regex": "^[a-z]$"}}, {"not_null": ["src", "dst"]})
    wh = world.open()
    first = wh.refresh("reach")
    assert first.status == "committed"
    assert first.quality["status"] == "passed"
    assert [entry["rows"] for entry in first.quality["views"]["closure"]][1:] == [3, 3, 3]

    world.insert("ca", ("c", SCRIPT))
    with pytest.raises(foreset.QualityFailed) as failed:
        wh.refresh("reach", refresh_id="night-2")
    assert failed.value.exit_code == 3
    for part in ("2 expectations do not hold", "closure: expected that no row matches closure(X, X)", "3 rows match",
                 "expected that dst matches ^[a-z]$; 3 of 9 rows do not fit", SCRIPT):  # fmt: skip
        assert part in failed.value.message
    assert world.seq() == 1, "nothing was published"
    assert wh.read("reach.closure").num_rows == 3, "and what was, is still there"

    folder = Path(world.root, "_foreset", "reach", "runs")
    records = {path.parent: json.loads(path.read_text()) for path in folder.glob(f"*/{phase.RECORD}")}
    ((run, record),) = ((run, record) for run, record in records.items() if record["status"] == "failed")
    assert (record["status"], record["failed"], record["checked"]) == ("failed", 2, 4)
    assert not (run / "marks" / "quality.json").exists(), "a retry must check again"
    loops, letters = record["views"]["closure"][:2]
    assert (loops["columns"], loops["examples"], loops["unexpected"]) == (["X"], [["a"], ["b"], ["c"]], 3)
    assert {row[1] for row in letters["examples"]} == {SCRIPT}
    page = (run / record["docs"] / "closure.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert [event for event in events.read(str(run)) if event["kind"] == "failed"][-1]["phase"] == "quality"

    with pytest.raises(foreset.QualityFailed):
        wh.refresh("reach", refresh_id="night-2")
    world.isolate("c")
    assert wh.refresh("reach").seq == 2
    assert words(wh.read("reach.closure")) == {"ab", "ac", "bc"}


@pytest.mark.parametrize(("in_process_rows", "engine"), [(phase.IN_PROCESS_ROWS, "auto"), (0, "spark")])
def test_known_violations_are_those_of_the_whole_state(
    world: Cities, monkeypatch: pytest.MonkeyPatch, in_process_rows: int, engine: str
) -> None:
    """Rows and bindings, counted in process or in Spark, night by night, against the published view."""
    monkeypatch.setattr(phase, "IN_PROCESS_ROWS", in_process_rows)
    monkeypatch.setenv("FORESET_ENGINE", engine)
    world.expect({"deny": "closure(X, X)", "severity": "warning"}, {"not_null": "src", "severity": "warning"})
    wh = world.open()
    nights = ([], [("+", "ca"), ("+", (None, "b"))], [("+", "cd")], [("-", "bc"), ("+", "dd")], [("-", "dd")])
    for night in nights:
        for sign, road in night:
            world.insert(road) if sign == "+" else world.delete(road)
        wh.refresh("reach", mode="incremental")
        rows = wh.read("reach.closure").to_pylist()
        loops, nulls = world.outcome()
        assert loops["known"] == sum(row["src"] is not None and row["src"] == row["dst"] for row in rows)
        assert nulls["known"] == sum(row["src"] is None for row in rows)


def test_warnings_are_reported_and_what_was_looked_at_is_not_looked_at_again(world: Cities) -> None:
    world.insert((None, "b"))
    world.expect()
    wh = world.open()
    assert wh.refresh("reach").quality["status"] == "nothing to check"

    suite = world.specs.parent / "expectations" / "suites" / "reach" / "closure.json"
    suite.parent.mkdir(parents=True)
    entry = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "src"}, "severity": "warning"}
    suite.write_text(
        json.dumps({"name": "reach.closure", "expectations": [entry, entry | {"meta": {"foreset": {"on": "all"}}}]})
    )
    world.expect({"deny": "closure(X, _), closed(X)", "severity": "warning"}, {"unique": ["src", "dst"], "on": "all"})
    world.insert("cd")
    second = wh.refresh("reach")
    assert (second.status, second.quality["status"], second.quality["warned"]) == ("committed", "warned", 2)
    assert [(e["rows"], e["unexpected"]) for e in world.outcome()[1:]] == [(9, 0), (9, 3), (9, 3)], "new ones: all rows"
    assert world.outcome()[2]["origin"].endswith("expectations/suites/reach/closure.json:1")
    assert sorted(world.outcome()[2]["examples"]) == [["NULL", "b"], ["NULL", "c"], ["NULL", "d"]]

    world.insert("de")
    wh.refresh("reach")
    denied, unique, changed, every = world.outcome()
    assert (changed["rows"], changed["unexpected"]) == (5, 1), "what was there was told before: what comes is enough"
    assert (every["rows"], every["unexpected"]) == (14, 4), "on: all sees what is old"
    assert (unique["rows"], denied["success"]) == (14, True)

    world.close("d")  # only the source of a `deny:` moves: no view changes
    assert wh.refresh("reach").status == "committed"
    denied, unique, changed, every = world.outcome()
    assert (denied["unexpected"], denied["examples"], denied["rows"]) == (1, [["d"]], 1)
    assert (changed["rows"], changed["success"]) == (0, True)
    assert (every["rows"], every["unexpected"]) == (14, 4), "an outcome about a view that did not change stays"

    said = foreset_cli("status", "--specs", str(world.specs), "--warehouse", world.root).out
    assert "quality: 2 of 4 expectations warn" in said
    assert "closure: expected that src is never null; 4 of 14 rows do not fit: " in said


def test_many_offending_rows_are_counted_and_some_are_shown(world: Cities) -> None:
    """Variables that differ by their case alone are two columns of Spark with one name."""
    world.isolate("b")
    ring = "abcdefghijklmnopqrstuvwxy"
    world.insert(*((a, b) for a, b in zip(ring[1:], ring[2:] + "a", strict=True)))
    world.expect({"deny": "closure(Xy, XY), Xy = XY", "severity": "warning"})
    (entry,) = world.open().refresh("reach").quality["views"]["closure"]
    assert (entry["unexpected"], entry["columns"]) == (25, ["Xy", "XY"])
    assert entry["examples"] == [[city, city] for city in ring[:20]]


def test_without_anything_to_look_at_great_expectations_stays_out(
    world: Cities, monkeypatch: pytest.MonkeyPatch
) -> None:
    def imported(_: Checker) -> None:
        raise AssertionError("there is nothing to check")

    monkeypatch.setattr(Checker, "__init__", imported)
    world.expect(NO_CIRCLE, {"deny": "edge(X, _), closed(X)"})
    wh = world.open()
    assert wh.refresh("reach").quality["status"] == "passed", "a body that nothing matches needs no second opinion"
    world.close("y")
    assert wh.refresh("reach").quality["status"] == "passed"
    assert wh.refresh("reach").status == "unchanged"
    world.insert("ca")
    with pytest.raises(AssertionError, match="nothing to check"):
        wh.refresh("reach", dry_run=True)  # a dry run checks too, and this one finds a circle
    assert world.seq() == 2


# ---------------------------------------------------------------- one answer from pandas and from Spark
KINDS = {"id": "bigint", "s": "string", "d": "date", "m": "decimal(10,2)", "t": "timestamp", "f": "double",
         "b": "boolean", "a": "array<string>"}  # fmt: skip
COLUMNS = tuple(Column(name, kind) for name, text in KINDS.items() if (kind := parse_type(text)))
Day, Moment = datetime.date, datetime.datetime
ROWS: list[Row] = [
    (1, "a", Day(2026, 1, 1), Decimal("0.10"), Moment(2026, 1, 1, 12), 1.5, True, ("x",)),
    (None, SCRIPT, None, None, None, None, None, None),
    (2**53 + 1, "b\x01\x1b", Day(9999, 1, 1), Decimal("2.50"), Moment(9999, 12, 31, 23), float("nan"), False, ()),
    (3, "", Day(1970, 1, 1), Decimal("0.30"), Moment(1970, 1, 1), float("inf"), True, ("x", "y")),
    (-3, "ä9", Day(2026, 11, 18), Decimal("-1.00"), Moment(2026, 11, 18, 1, 2, 3, 4), 0.0, True, ("x",)),
]  # fmt: skip


def grid() -> list[Expectation]:
    def on(name: str, **arguments: Any) -> Expectation:
        return Expectation(name, arguments, sentence(name, arguments), on=Scope.ALL)

    of = "expect_column_values_to_"
    found = [on(f"{of}{kind}be_null", column=name) for name in KINDS for kind in ("", "not_")]
    for name, values in {"id": [1, 2**53 + 1], "s": ["a", "", SCRIPT], "d": [Day(2026, 1, 1)],
                         "m": [Decimal("0.10"), Decimal("-1.00")], "t": [Moment(2026, 1, 1, 12)], "f": [1.5],
                         "b": [True]}.items():  # fmt: skip
        found += [on(f"{of}{kind}be_in_set", column=name, value_set=values) for kind in ("", "not_")]
        found += [on(f"expect_column_distinct_values_to_{kind}_set", column=name, value_set=values)
                  for kind in ("be_in", "contain", "equal") if name not in ("d", "t", "m")]  # fmt: skip
    for name, low, high in (("id", 1, 5), ("d", Day(1970, 1, 1), Day(2026, 1, 1)), ("f", 0.0, 1.5),
                            ("m", Decimal("0.10"), Decimal("0.30")),
                            ("t", Moment(2026, 1, 1, 12), Moment(2026, 11, 18, 1, 2, 3, 4))):  # fmt: skip
        for strict in (False, True):
            found.append(
                on(f"{of}be_between", column=name, min_value=low, max_value=high, strict_min=strict, strict_max=strict)
            )
        found.append(on(f"{of}be_between", column=name, min_value=low))
    found += [on(f"{of}be_unique", column=name) for name in KINDS]
    regexes = (r"^\w+$", "^a", r"\d", "[<>]", "^$", "(?i)A", r"^\S*$")
    found += [on(f"{of}{kind}match_regex", column="s", regex=regex) for regex in regexes for kind in ("", "not_")]
    found += [
        on(f"{of}match_regex_list", column="s", regex_list=["^a", "^b"], match_on="any"),
        on(f"{of}match_regex_list", column="s", regex_list=["a", "9"], match_on="all"),
        on(f"{of}not_match_regex_list", column="s", regex_list=["^a", "^b"]),
        on("expect_column_value_lengths_to_be_between", column="s", min_value=1, max_value=2),
        on("expect_column_value_lengths_to_equal", column="s", value=2),
        on("expect_column_pair_values_a_to_be_greater_than_b", column_A="f", column_B="id"),
        on("expect_column_pair_values_a_to_be_greater_than_b", column_A="f", column_B="f", or_equal=True),
        on("expect_column_pair_values_to_be_equal", column_A="id", column_B="f"),
        on("expect_compound_columns_to_be_unique", column_list=["b", "a"]),
        on("expect_table_row_count_to_be_between", min_value=6),
        on("expect_table_row_count_to_equal", value=5),
        on("expect_column_unique_value_count_to_be_between", column="b", min_value=3),
        on("expect_column_proportion_of_non_null_values_to_be_between", column="f", min_value=0.9),
        on(f"{of}not_be_null", column="id", mostly=0.8),
        on(f"{of}not_be_null", column="id", mostly=0.81),
    ]
    return found


def test_pandas_and_spark_say_the_same(spark: SparkSession) -> None:
    wanted = tuple(grid())
    frame = spark.createDataFrame(arrow())
    here = Checker().check(Batch("v", Scope.ALL, COLUMNS, wanted, len(ROWS), rows=ROWS))
    there = Checker().check(Batch("v", Scope.ALL, COLUMNS, wanted, len(ROWS), frame=frame))
    differing = [
        (one.text, shown(a), shown(b)) for one, a, b in zip(wanted, here, there, strict=True) if shown(a) != shown(b)
    ]
    assert differing == []
    assert {one.success for one in here} == {True, False}
    assert [one.text for one, finding in zip(wanted, here, strict=True) if finding.error] == []


def test_sums_and_extremes_are_for_spark(spark: SparkSession) -> None:
    """On columns of Python objects pandas has no such thing beside a NULL: they never go there."""
    limits = {"m": Decimal("0.40"), "id": 2, "f": 0.5}
    wanted = tuple(
        Expectation(name, {"column": column, "min_value": low}, "")
        for name in sorted(SPARK_ONLY)
        for column, low in limits.items()
    )
    found = Checker().check(Batch("v", Scope.ALL, COLUMNS, wanted, 5, frame=spark.createDataFrame(arrow())))
    assert [finding.error for finding in found] == [""] * len(wanted)
    by = {(one.type.removeprefix("expect_column_").split("_")[0], one.arguments["column"]): finding.success
          for one, finding in zip(wanted, found, strict=True)}  # fmt: skip
    assert by["max", "m"] and by["sum", "m"] and by["mean", "m"]
    assert not by["min", "m"] and not by["min", "id"] and not by["min", "f"]


def shown(finding: Finding) -> Any:
    examples = sorted(repr(row[:5]) for row in finding.examples)
    return finding.success, finding.unexpected, examples, finding.observed, bool(finding.error)


def arrow() -> pa.Table:
    kinds = {"id": pa.int64(), "s": pa.string(), "d": pa.date32(), "m": pa.decimal128(10, 2),
             "t": pa.timestamp("us", "UTC"), "f": pa.float64(), "b": pa.bool_(),
             "a": pa.list_(pa.string())}  # fmt: skip
    arrays = [pa.array([row[i] for row in ROWS], kind) for i, kind in enumerate(kinds.values())]
    return pa.table(arrays, names=list(kinds))
