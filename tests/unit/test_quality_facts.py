"""Expectations as facts and sentences, and Great Expectations' pages without what could do harm: pure functions."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from foreset.cli.refresh import expected
from foreset.ir.expectations import DENY, Expectation, Scope, Severity, sentence
from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING, decimal
from foreset.quality import pages
from foreset.quality.batches import EXAMPLES, SPARK_ONLY, Finding, fits_in_process
from foreset.quality.outcome import LONGEST, cell, failures, identity, line, summed, told

COLUMNS = (Column("src", STRING), Column("n", BIGINT))
NULL = Expectation("expect_column_values_to_not_be_null", {"column": "src"}, "src is never null")
LOOP = Expectation(DENY, {"body": "e(X, X)"}, "no row matches e(X, X)", columns=(Column("X", STRING),))


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("expect_column_values_to_be_between", {"column": "n", "min_value": 1, "max_value": 5},
         "n is at least 1 and at most 5"),
        ("expect_column_values_to_be_between", {"column": "n", "min_value": 1, "strict_min": True}, "n is above 1"),
        ("expect_column_values_to_be_between",
         {"column": "n", "max_value": datetime.date(2026, 1, 2), "strict_max": True}, "n is below 2026-01-02"),
        ("expect_column_values_to_not_be_null", {"column": "n", "mostly": 0.995},
         "n is never null, in at least 99.5 % of the rows"),
        ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "a", "column_B": "b"}, "a is greater than b"),
        ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "a", "column_B": "b", "or_equal": True},
         "a is at least b"),
        ("expect_column_values_to_match_regex_list", {"column": "s", "regex_list": ["a", "b"]},
         "s matches any of a, b"),
        ("expect_table_row_count_to_be_between", {"min_value": 0}, "the number of rows is at least 0"),
        ("expect_column_values_to_be_in_set", {"column": "s", "value_set": ["a", ""]}, 's is one of a, ""'),
    ],
)  # fmt: skip
def test_sentences(name: str, arguments: dict[str, Any], text: str) -> None:
    assert sentence(name, arguments) == text


def test_a_failure_in_words() -> None:
    rows = tuple((None, n) for n in range(5))
    entry = told(NULL, COLUMNS, Finding(success=False, unexpected=5, examples=rows), 1234)
    said = "v: expected that src is never null; 5 of 1,234 rows do not fit: (NULL, 0), (NULL, 1), (NULL, 2), ..."
    assert line("v", entry) == said
    one = told(LOOP, COLUMNS, Finding(success=False, unexpected=1, examples=(("a",),)), 7)
    assert line("v", one) == "v: expected that no row matches e(X, X); 1 row matches: (a)"
    assert one.columns == ("X",)
    count = told(NULL, COLUMNS, Finding(success=False, observed="3"), 3)
    assert line("v", count).endswith("; found 3")
    broken = told(NULL, COLUMNS, Finding(success=False, error="no such thing"), 3)
    assert line("v", broken).endswith("; it could not be checked: no such thing")


def test_the_verdict() -> None:
    good, bad = Finding(success=True), Finding(success=False, unexpected=1)
    warning = replace(NULL, severity=Severity.WARNING)

    def status(*pairs: tuple[Expectation, Finding, int]) -> str:
        return summed({"v": [told(e, COLUMNS, finding, rows) for e, finding, rows in pairs]}, 0.1, None).status

    assert status() == "nothing to check"
    assert status((NULL, good, 0)) == "nothing to check"
    assert status((NULL, good, 3)) == "passed"
    assert status((warning, bad, 3), (NULL, good, 3)) == "warned"
    assert status((warning, bad, 3), (NULL, bad, 3)) == "failed"
    record = summed({"v": [told(warning, COLUMNS, bad, 3)], "w": [told(NULL, COLUMNS, bad, 3)]}, 0.1, "data_docs")
    assert (record.checked, record.failed, record.warned, record.docs) == (2, 1, 1, "data_docs")
    assert [view for view, _ in failures(record.views, Severity.CRITICAL)] == ["w"]
    assert [view for view, _ in failures(record.views, Severity.WARNING)] == ["v"]


def test_identity_is_what_is_said_and_of_which_columns() -> None:
    """What the refresh before checked is known by it: wording and place do not count, meaning and weight do."""
    same = identity(NULL, COLUMNS)
    assert identity(replace(NULL, note="why", text="other words"), COLUMNS) == same
    others = [
        identity(replace(NULL, on=Scope.ALL), COLUMNS),
        identity(replace(NULL, severity=Severity.WARNING), COLUMNS),
        identity(replace(NULL, arguments={"column": "n"}), COLUMNS),
        identity(NULL, COLUMNS[:1]),
        identity(LOOP, COLUMNS),
    ]
    assert len({same, *others}) == 6


def test_examples_are_text_and_bounded() -> None:
    values = (None, b"\x00\xff", Decimal("1.10"), datetime.datetime(2026, 1, 2, 3), ("a", None), True, "<b>\x1b")
    assert [cell(value) for value in values] == [
        "NULL", "0x00ff", "1.10", "2026-01-02 03:00:00", "[a, NULL]", "True", "<b>\x1b"
    ]  # fmt: skip
    assert all(len(cell(value)) <= LONGEST for value in ("x" * 10_000, b"x" * 10_000, ("x" * 300,) * 100))
    assert cell("x" * 10_000).endswith("...")
    finding = Finding(success=False, unexpected=99, examples=tuple((str(n), n) for n in range(99)))
    assert len(told(NULL, COLUMNS, finding, 99).examples) == EXAMPLES


def test_what_pandas_would_not_answer_as_spark_goes_to_spark() -> None:
    assert fits_in_process(COLUMNS, [NULL])
    assert fits_in_process((Column("m", decimal(15, 2)),), [NULL])
    assert not fits_in_process((Column("m", decimal(16, 2)),), [NULL])
    assert not any(fits_in_process(COLUMNS, [replace(NULL, type=name)]) for name in SPARK_ONLY)


def test_what_the_command_line_says() -> None:
    good, bad = Finding(success=True), Finding(success=False, unexpected=1, examples=(("\x1b[31m", 1),))
    warning = replace(NULL, severity=Severity.WARNING)
    assert expected(None) == []
    assert expected(summed({}, 0.0, None)) == []
    assert expected(summed({"v": [told(NULL, COLUMNS, good, 3)]}, 0.0, None)) == ["  quality: 1 expectation holds"]
    both = summed({"v": [told(NULL, COLUMNS, good, 3), told(warning, COLUMNS, bad, 3)]}, 0.0, None)
    assert expected(both) == [
        "  quality: 1 of 2 expectations warns",
        "    v: expected that src is never null; 1 of 3 rows does not fit: (\N{REPLACEMENT CHARACTER}[31m, 1)",
    ]


# ---------------------------------------------------------------- pages
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("<p>a <b>b</b></p>", "<p>a b</p>"),
        ("<script>alert(1)</script>x", "x"),
        ("<ScRiPt src=//x>alert(1)</sCrIpT>x", "x"),
        ("<p onclick=alert(1) style='x' id=a class='b c'>x</p>", '<p id="a" class="b c">x</p>'),
        ("<img src=x onerror=alert(1)>x", "x"),
        ("<a href='javascript:alert(1)'>x</a>", "<a>x</a>"),
        ("<a href='#part'>x</a>", '<a href="#part">x</a>'),
        ("<a href='//outside/x'>x</a>", "<a>x</a>"),
        ("<svg><script>1</script><p>x</p></svg>y", "y"),
        ("<iframe src=x></iframe>y", "y"),
        ("&lt;script&gt;x", "&lt;script&gt;x"),
        ("<p>x", "<p>x</p>"),
        ("<td>x</p></td>", "<td>x</td>"),
        ("<i class='fas fa-check-circle text-success'></i>", "✓ "),
        ('<p title="&quot;><script>">x</p>', '<p title="&quot;&gt;&lt;script&gt;">x</p>'),
        ("<div class='sticky'><div>Show <p>All</div></div><p>x</p>", "<p>x</p>"),
        ("<style>p{background:url(//x)}</style><p>x</p>", "<p>x</p>"),
    ],
)
def test_only_harmless_parts_of_a_page_are_kept(written: str, kept: str) -> None:
    assert pages.cleaned(written) == kept


@pytest.mark.parametrize("value", ["<script>alert(1)</script>", "a & b &amp; c", "1 < 2 > 0", "plain"])
def test_veiled_values_come_out_as_text(value: str) -> None:
    """Whether the renderer escapes what it is given or not."""
    from html import escape, unescape

    veiled = pages.veiled(value)
    for rendered in (f"<td>{veiled}</td>", f"<td>{escape(veiled)}</td>"):
        assert unescape(pages.cleaned(rendered)) == f"<td>{value}</td>"
        assert "<script" not in pages.cleaned(rendered)


def test_the_style_sheet_loads_nothing() -> None:
    assert not any(word in pages.style() for word in ("url(", "@import", "//"))
