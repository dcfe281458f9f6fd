"""What Foreset relies on in Great Expectations, held against the installed version; no network, no Spark."""

from __future__ import annotations

import datetime
import shutil
import socket
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from foreset.diagnostics import Report
from foreset.ir.expectations import DENY, KNOWN, SHORT, Arg, Expectation, Scope, Severity, sentence
from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, STRING, parse_type
from foreset.quality.batches import Batch, Finding
from foreset.quality.checker import Checker
from foreset.spec.load import load_file
from foreset.spec.suites import suite_files

ROOT = Path(__file__).resolve().parents[2]
SAMPLES: dict[Arg, Any] = {
    Arg.COLUMN: "c", Arg.COLUMNS: ["c", "d"], Arg.VALUE: datetime.date(2026, 1, 1), Arg.VALUES: ["x", "y"],
    Arg.NUMBER: 2.5, Arg.WHOLE: 3, Arg.SHARE: 0.5, Arg.FLAG: True, Arg.REGEX: "^a", Arg.REGEXES: ["^a", "b"],
    Arg.ANY_OR_ALL: "all",
}  # fmt: skip
UNIQUENESS = {"expect_column_values_to_be_unique", "expect_compound_columns_to_be_unique"}
NOT_TAKEN = {
    "rows of a set have no order": {
        "expect_column_values_to_be_increasing", "expect_column_values_to_be_decreasing"},
    "declared columns are checked anyway": {
        "expect_column_to_exist", "expect_column_type_to_be", "expect_column_values_to_be_of_type",
        "expect_column_values_to_be_in_type_list", "expect_table_column_count_to_be_between",
        "expect_table_column_count_to_equal", "expect_table_columns_to_match_ordered_list",
        "expect_table_columns_to_match_set"},
    "SQL, or another table: `deny:` says it": {
        "unexpected_rows_expectation", "expect_query_results_to_match_comparison",
        "expect_table_row_count_to_equal_other_table"},
    "statistics of a distribution": {
        "expect_column_kl_divergence_to_be_less_than", "expect_column_quantile_values_to_be_between",
        "expect_column_median_to_be_between", "expect_column_stdev_to_be_between",
        "expect_column_value_z_scores_to_be_less_than", "expect_column_values_to_not_be_outliers",
        "expect_column_most_common_value_to_be_in_set", "expect_column_proportion_of_unique_values_to_be_between"},
    "not for both pandas and Spark, or not alike": {
        "expect_column_values_to_match_like_pattern", "expect_column_values_to_match_like_pattern_list",
        "expect_column_values_to_not_match_like_pattern", "expect_column_values_to_not_match_like_pattern_list",
        "expect_column_values_to_be_dateutil_parseable", "expect_column_values_to_match_strftime_format",
        "expect_column_values_to_be_json_parseable", "expect_column_values_to_match_json_schema"},
    "`deny:` says it shorter": {
        "expect_multicolumn_sum_to_equal", "expect_multicolumn_values_to_be_equal",
        "expect_select_column_values_to_be_unique_within_record", "expect_column_pair_values_to_be_in_set"},
}  # fmt: skip


def implementation(name: str) -> Any:
    from great_expectations.expectations.registry import get_expectation_impl

    return get_expectation_impl(name)


@pytest.mark.parametrize("name", KNOWN)
def test_the_table_is_true(name: str) -> None:
    """Its arguments exist, what must be given must be given here too, and it can be built."""
    from great_expectations.expectations import expectation as theirs

    signature, kind = KNOWN[name], implementation(name)
    fields = kind.__fields__
    assert set(signature.arguments) <= set(fields)
    assert {field for field, its in fields.items() if its.required} <= set(signature.required)
    assert ("mostly" in signature.arguments) == ("mostly" in fields)
    by_row = (theirs.ColumnMapExpectation, theirs.ColumnPairMapExpectation, theirs.MulticolumnMapExpectation)
    assert signature.row_local == (issubclass(kind, by_row) and name not in UNIQUENESS)
    given = {argument: SAMPLES[what] for argument, what in signature.arguments.items()}
    built = kind(**given, severity="warning", notes="why", meta={"foreset": 1})
    assert {argument: getattr(built, argument) for argument in given} == given
    assert "{" not in sentence(name, given)


def test_every_expectation_is_taken_or_left_for_a_reason() -> None:
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    left = {name for names in NOT_TAKEN.values() for name in names}
    assert not left & set(KNOWN)
    assert set(list_registered_expectation_implementations()) == left | set(KNOWN)


def test_short_names_are_for_arguments_that_there_are() -> None:
    for name, short in SHORT.items():
        assert set(short.words.values()) <= set(KNOWN[short.type].arguments), name
        assert set(KNOWN[short.type].required) <= set(short.words.values()), name
        assert not short.bare or short.bare in short.words.values()


# ---------------------------------------------------------------- a run of it
COLUMNS = (Column("n", BIGINT), Column("s", STRING))
SCRIPT = "<script>alert(1)</script>"
ROWS: list[Row] = [(1, "a"), (None, SCRIPT), (2**53 + 1, "b & c\x1b")]


def found(*expectations: Expectation, rows: list[Row] = ROWS, columns: tuple[Column, ...] = COLUMNS) -> list[Finding]:
    return Checker().check(Batch("v", Scope.ALL, columns, expectations, len(rows), rows=rows))


def expect(name: str, **arguments: Any) -> Expectation:
    return Expectation(name, arguments, sentence(name, arguments))


def test_a_failure_without_a_word_is_a_failure() -> None:
    class Odd:
        def __ge__(self, _: object) -> bool:
            raise AssertionError

    (one,) = found(expect("expect_column_values_to_be_between", column="n", min_value=1), rows=[(Odd(), "a")])  # type: ignore[list-item]
    assert (one.success, one.error) == (False, "an exception without a message")


def test_offending_rows_are_the_rows_themselves() -> None:
    """Not what pandas makes of them: a whole number beside a NULL stays what it is."""
    in_set, null, unique = found(
        expect("expect_column_values_to_be_in_set", column="n", value_set=[1]),
        expect("expect_column_values_to_not_be_null", column="n"),
        expect("expect_compound_columns_to_be_unique", column_list=["n", "s"]),
    )
    assert (in_set.unexpected, in_set.examples) == (1, ((2**53 + 1, "b & c\x1b"),))
    assert null.examples == ((None, SCRIPT),)
    assert unique == Finding(success=True)


def test_decimals_are_compared_as_they_read() -> None:
    """Limits become doubles, where 0.1 is more than 0.1."""
    columns = (Column("m", parse_type("decimal(4,2)") or STRING),)
    limit = expect("expect_column_values_to_be_between", column="m", min_value=Decimal("0.10"))
    (finding,) = found(limit, rows=[(Decimal("0.10"),), (Decimal("0.09"),)], columns=columns)
    assert finding.examples == ((Decimal("0.09"),),)


def test_nothing_is_looked_for_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    checker = Checker()
    checker.check(Batch("v", Scope.ALL, COLUMNS, (expect("expect_table_row_count_to_equal", value=3),), 3, rows=ROWS))
    assert set(checker.pages("g")) == {"index.html", "v.html", "style.css"}


def test_pages_show_values_as_text_and_load_nothing_from_outside() -> None:
    checker = Checker()
    deny = Expectation(DENY, {"body": "v(X), X < 3"}, "no row matches v(X), X < 3", columns=COLUMNS)
    wanted = (
        expect("expect_column_values_to_be_in_set", column="s", value_set=["a", "<b>x</b>"]),
        expect("expect_column_values_to_match_regex", column="s", regex=r"^<i>\w+$"),
        expect("expect_column_proportion_of_non_null_values_to_be_between", column="n", min_value=0.9),
        expect("expect_column_distinct_values_to_contain_set", column="s", value_set=["<u>"]),
    )
    checker.check(Batch("v", Scope.ALL, COLUMNS, wanted, 3, rows=ROWS))
    checker.check(Batch("v", Scope.CHANGES, COLUMNS, (deny,), 3, rows=ROWS))
    checker.check(Batch("w", Scope.ALL, COLUMNS, (expect("expect_table_row_count_to_equal", value=3),), 3, rows=ROWS))
    pages = checker.pages("g")
    text = "".join(pages.values())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages["v.html"]
    assert "no row matches v(X), X &lt; 3" in pages["v.html"]
    assert r"^&lt;i&gt;\w+$" in pages["v.html"], "the expression as it was written"
    assert "b &amp; c" in pages["v.html"]
    assert "✗ not as expected" in pages["index.html"]
    assert "✓ as expected" in pages["index.html"]
    assert loads(text) == {"style.css"}
    assert not {"script", "style", "img", "iframe", "object", "embed", "form"} & elements(text)


class Parts(HTMLParser):
    """The elements of a page, what it loads, and attributes that could do something."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        for name, value in attrs:
            assert not name.startswith("on") and name != "style", (tag, name)
            if name in ("src", "srcset", "data", "action", "poster") or (name == "href" and tag != "a"):
                self.loaded.add(value or "")
            if name == "href" and tag == "a":
                assert value and (value.startswith("#") or value in ("index.html", "v.html", "w.html")), value


def loads(text: str) -> set[str]:
    parts = Parts()
    parts.feed(text)
    return parts.loaded


def elements(text: str) -> set[str]:
    parts = Parts()
    parts.feed(text)
    return parts.elements


def test_suites_that_great_expectations_writes_are_read(tmp_path: Path) -> None:
    """Its tools, in the context of this repository, name a suite `group.view`; Foreset finds the file."""
    import great_expectations as gx
    from great_expectations import expectations as theirs

    shutil.copytree(ROOT / "expectations", tmp_path / "expectations")
    before = {path.relative_to(tmp_path) for path in tmp_path.rglob("*")}
    context = gx.get_context(context_root_dir=str(tmp_path / "expectations"))
    assert context.config.analytics_enabled is False
    assert "supply_chain.maintainer_at_risk" in {suite.name for suite in context.suites.all()}
    wanted = [
        theirs.ExpectColumnValuesToNotBeNull(column="a", severity="warning", notes="why"),
        theirs.ExpectColumnValuesToBeUnique(column="a", meta={"foreset": {"on": "all"}}),
    ]
    context.suites.add(gx.ExpectationSuite(name="shop.orders", expectations=wanted))
    written = {path for path in tmp_path.rglob("*") if path.is_file() and path.relative_to(tmp_path) not in before}
    assert written == {tmp_path / "expectations" / "suites" / "shop" / "orders.json"}

    spec = tmp_path / "specs" / "shop.yaml"
    spec.parent.mkdir()
    source = "sources: {e: {table: raw/e, columns: {a: string}}}\n"
    spec.write_text(
        f'group: shop\n{source}views: {{orders: {{columns: {{a: string}}, rules: ["orders(A) :- e(A)"]}}}}\n'
    )
    loaded = load_file(spec)
    assert loaded.program is not None
    null, unique = loaded.program.views[0].expectations
    assert (null.type, null.severity, null.note, null.on) == (
        "expect_column_values_to_not_be_null", Severity.WARNING, "why", Scope.CHANGES)  # fmt: skip
    assert (unique.text, unique.on) == ("a is unique", Scope.ALL)
    assert null.origin.startswith(str(tmp_path / "expectations" / "suites" / "shop" / "orders.json:"))
    report = Report()
    assert list(suite_files(str(spec), "shop", report)) == [str(tmp_path / "expectations/suites/shop/orders.json")]
    assert not list(report)
