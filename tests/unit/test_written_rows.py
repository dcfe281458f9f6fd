"""Rows as people write them, and as tables show them; conditions on rows as text."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset as run

import foreset
from foreset.cli.reading import ordered
from foreset.errors import EvaluationError, ForesetError, UsageError
from foreset.ir.program import Column, View
from foreset.ir.types import BOOLEAN, DATE, DOUBLE, INT, STRING, array, decimal
from foreset.questions.query_view import region
from foreset.refresh.written_rows import row_of, shown

ITEM = View("item", (Column("s", STRING), Column("n", INT)), ())
SETS = View("sets", (Column("s", STRING), Column("all", array(STRING)), Column("n", array(INT))), ())
KINDS = View("kinds", (Column("b", BOOLEAN), Column("d", DATE), Column("x", DOUBLE), Column("p", decimal(5, 2))), ())


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("item-42, 1", ("item-42", 1)),
        ("items, 1", ("items", 1)),
        ('"item-42", 1', ("item-42", 1)),
        ('item("item-42", 1)', ("item-42", 1)),
        ("item(item-42, 1)", ("item-42", 1)),
        ("item (a b, -1)", ("a b", -1)),
        ("(a, 1)", ("a", 1)),
        ("item(3), 5", ("item(3)", 5)),
        ("NULL, 2", (None, 2)),
        ("null,NULL", (None, None)),
        ('"NULL", 2', ("NULL", 2)),
        ("'NULL', 2", ("NULL", 2)),
        ('" padded ", 3', (" padded ", 3)),
        ('  padded  ,  "3" ', ("padded", 3)),
        ('"a, b", 1', ("a, b", 1)),
        ("it's, 1", ("it's", 1)),
        ("'it''s', 1", ("it's", 1)),
        (r'"say \"no\"\n", 1', ('say "no"\n', 1)),
        (r'"C:\dir", 1', (r"C:\dir", 1)),
        ("[x], 1", ("[x]", 1)),
        (", 1", ("", 1)),
    ],
)
def test_a_row_of_text(text: str, row: tuple[object, ...]) -> None:
    assert row_of(ITEM, text) == row


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("vader, [palpatine, yoda], [1, 2]", ("vader", ("palpatine", "yoda"), (1, 2))),
        ('"vader", ["palpatine", "a, b"], []', ("vader", ("palpatine", "a, b"), ())),
        ('a, [NULL, "NULL"], [ 1 , -2 ]', ("a", (None, "NULL"), (1, -2))),
        ("a, NULL, [NULL]", ("a", None, (None,))),
    ],
)
def test_a_row_with_sets(text: str, row: tuple[object, ...]) -> None:
    assert row_of(SETS, text) == row
    again = ", ".join(f'"{value}"' if isinstance(value, str) else shown(value) for value in row)
    assert row_of(SETS, again) == row


def test_moments_may_be_written_as_rules_write_them() -> None:
    row = (True, dt.date(2026, 1, 31), 1.5, __import__("decimal").Decimal("2.50"))
    assert row_of(KINDS, 'true, date("2026-01-31"), 1.5, 2.5') == row
    assert row_of(KINDS, "TRUE, 2026-01-31, 1.5, 2.50") == row


@pytest.mark.parametrize(
    ("view", "text", "message"),
    [
        (ITEM, "a", "`item` has 2 columns, but the row has 1"),
        (ITEM, "", "`item` has 2 columns, but the row has 0"),
        (ITEM, "a, 1, [b, c]", "`item` has 2 columns, but the row has 4"),
        (ITEM, '"a" b, 1', "expected `,` after value 1, at character 5"),
        (ITEM, '"a, 1', 'the " is never closed, at character 1'),
        (ITEM, 'a, "NULL"', "column n: 'NULL' is not a value of type int"),
        (SETS, "a, [b, c", "expected `,` or `]`, at character 9"),
        (SETS, "a, b, [1]", "column all: 'b' is not a value of type array<string>"),
    ],
)
def test_what_is_no_row_is_said_so(view: View, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        row_of(view, text)
    assert message in str(caught.value)


# ---------------------------------------------------------------- tables with sets
def test_rows_with_sets_have_an_order() -> None:
    lists = pa.array([["b"], None, ["a", None], []], pa.list_(pa.string()))
    rows = pa.table({"k": ["x", "x", "x", None], "s": lists})
    assert ordered(rows).to_pylist() == [
        {"k": "x", "s": ["a", None]},
        {"k": "x", "s": ["b"]},
        {"k": "x", "s": None},
        {"k": None, "s": []},
    ]


SPEC = """group: sw
sources:
  t: {table: s/t, columns: {v: string, d: string, n: bigint}}
views:
  beaten:
    columns: {v: string, s: array<string>}
    rules: ["beaten(V, S) :- setof(D, N^t(V, D, N), S)"]
  counted:
    columns: {v: string, n: bigint}
    rules: ["counted(V, N) :- t(V, _, N)"]
  few:
    columns: {i: tinyint}
    rules: ["few(X) :- X >= 3, X <= 2000"]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sets")
    (root / "sw.yaml").write_text(SPEC)
    rows = pa.table({"v": ["yoda", "yoda", "vader"], "d": ["vader", "a, b", "yoda"], "n": pa.array([1, 2, 3])})
    write_deltalake(root / "wh" / "s" / "t", rows, configuration={"delta.enableChangeDataFeed": "true"})
    foreset.open(warehouse=str(root / "wh"), specs=str(root), spark="nowhere").refresh("sw")
    return root


def asked(project: Path, *arguments: str):
    return run(*arguments, "--specs", str(project), "--warehouse", str(project / "wh"))


def test_sets_are_shown_in_every_form(project: Path) -> None:
    assert asked(project, "show", "sw.beaten").out.splitlines()[2:] == ["vader  [yoda]", 'yoda   ["a, b", vader]']
    assert asked(project, "show", "sw.beaten", "--format", "json").data[1] == {"v": "yoda", "s": ["a, b", "vader"]}
    assert asked(project, "show", "sw.beaten", "--where", 'v = "yoda"', "--json").data[0]["s"] == ["a, b", "vader"]
    assert asked(project, "changes", "sw.beaten").out.splitlines() == ["+ vader, [yoda]", '+ yoda, ["a, b", vader]']
    assert asked(project, "changes", "sw.beaten", "--json").data["plus"][0] == {"v": "vader", "s": ["yoda"]}


def test_a_row_with_a_set_is_explained_as_it_is_shown(project: Path) -> None:
    shown = asked(project, "why", "sw.beaten", 'yoda, ["a, b", vader]')
    assert (shown.code, shown.out.splitlines()[0]) == (0, 'beaten("yoda", ["a, b", "vader"])')
    missing = asked(project, "why", "sw.beaten", "yoda, [vader]")
    assert (missing.code, missing.err.splitlines()[0]) == (
        2, 'error: beaten("yoda", ["vader"]) is not in refresh 1',
    )  # fmt: skip
    assert asked(project, "why-not", "sw.beaten", "yoda, [vader]").code == 0


def test_reading_says_what_it_cannot_do(project: Path) -> None:
    warehouse = foreset.open(warehouse=str(project / "wh"), specs=str(project), spark="nowhere")
    with pytest.raises(UsageError, match="`counted` holds rows, not ranges"):
        warehouse.regions("sw.counted", "n > 3")
    with pytest.raises(UsageError, match="text is not a number: 'b'"):
        warehouse.rows("sw.counted", 'n * "b" > 3')
    with pytest.raises(UsageError, match="text is not a number: 'b'"):
        warehouse.edit("sw.counted", delete='n * "b" > 3', who="t")
    with pytest.raises(EvaluationError, match="column `i` of `few` cannot hold a value: 128 is not a value of type ti"):
        warehouse.rows("sw.few", "i > 125, i < 130")
    assert warehouse.rows("sw.few", "i > 125, i < 128").num_rows == 2


WORDS = (
    "s", "n", "b", "d", "x", "p", "S", "1", "2.5", '"a"', "'b'", "true", "false", "not(", "(", ")", "<", "<=", "=",
    "!=", "+", "-", "*", ",", ", ", 'date("2026-01-01")', 'timestamp("x")', "in(", "for some ", "y int", ":", "NULL",
)  # fmt: skip


def test_no_condition_ends_in_anything_but_a_refusal() -> None:
    rng, columns = random.Random(7), (*ITEM.columns, *KINDS.columns)
    read = 0
    for _ in range(6000):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 9)))
        try:
            region(text, "v", columns)
            read += 1
        except ForesetError:
            continue
    print(f"{read} of 6000 are conditions")
    assert read > 20
