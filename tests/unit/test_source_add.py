"""`foreset source add`: a table in a spec, with what stands there left as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset

SPEC = """\
# head
group: shop   # the group

# about sources
sources:
  # one
  order: {table: orders, columns: {id: bigint}}   # tail
    # end of one

# about views
views:
  v:
    columns: {id: bigint}
    rules:
      - v(X) :- order(X)
"""
LINES = """\
  rate:
    table: money/rate
    columns: {country: string, percent: "decimal(18,2)"}
    key: [country]
"""
BRACES = 'rate: {table: money/rate, columns: {country: string, percent: "decimal(18,2)"}, key: [country]}}'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rate.csv").write_text("Country,percent\nDE,19.00\n")
    assert foreset("import", "rate.csv", "money/rate", "--key", "country").code == 0
    Path("view_specs").mkdir()


def spec(text: str, name: str = "shop") -> Path:
    path = Path("view_specs", f"{name}.yaml")
    path.write_text(text)
    return path


def test_comments_and_layout_stay() -> None:
    path = spec(SPEC)
    shown = foreset("source", "add", "money/rate")
    assert path.read_text() == SPEC.replace("    # end of one\n", f"    # end of one\n{LINES}")
    assert LINES in shown.out
    assert shown.out.endswith("Next:\n  foreset check --against-warehouse\n  foreset refresh shop\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("sources: {a: {table: x, columns: {n: int}}} # all", f"columns: {{n: int}}}}, {BRACES} # all"),
        ("sources:", f"sources:\n{LINES}"),
        ("", f"sources:\n{LINES}\nviews:"),
        ("sources:\n    a:\n        table: x\n        columns: {n: int}\n\n    b: {table: x, columns: {n: int}}",
         "    b: {table: x, columns: {n: int}}\n\n    rate:\n      table: money/rate\n"),
    ],
    ids=["in braces", "empty", "none", "four blanks, apart"],
)  # fmt: skip
def test_each_way_to_write_sources(before: str, after: str) -> None:
    path = spec(f"group: shop\n{before}\nviews:\n  v: {{columns: {{n: string}}, rules: ['v(X) :- rate(X, _)']}}\n")
    assert foreset("source", "add", "money/rate").code == 0
    assert after in path.read_text()
    assert "rate" in path.read_text()
    assert foreset("check").code == 0


def test_windows_line_ends_stay() -> None:
    path = spec("")
    path.write_bytes(SPEC.replace("\n", "\r\n").encode())
    assert foreset("source", "add", "money/rate").code == 0
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == SPEC.count("\n") + 4


def test_a_spec_that_is_not_there_is_made_and_works() -> None:
    shown = foreset("source", "add", "money/rate", "--group", "tax")
    assert shown.code == 0
    assert foreset("check").out == "1 group, 1 view, 1 rule: ok\n"
    assert foreset("refresh", "tax", "-q").code == 0
    assert foreset("show", "tax.rate_view", "--format", "csv").out == ""  # csv goes to the buffer of stdout
    assert foreset("show", "tax.rate_view", "--json").data == [{"country": "DE", "percent": "19.00"}]


def test_only_printed() -> None:
    shown = foreset("source", "add", "money/rate", "--print", "--name", "vat")
    assert shown.out == f"sources:\n{LINES.replace('rate:', 'vat:', 1)}"
    assert not list(Path("view_specs").iterdir())
    assert foreset("source", "add", "money/rate", "--print", "--json").data["columns"] == {
        "country": "string", "percent": "decimal(18,2)"}  # fmt: skip


def test_columns_that_rules_cannot_read_are_told() -> None:
    import pyarrow as pa

    write_deltalake("warehouse/odd", pa.table({"Id": [1], "a b": [1], "s": [{"x": 1}], "Big-": [1]}))
    shown = foreset("source", "add", "odd", "--print").out
    assert "columns: {id: bigint}" in shown
    assert all(f"# left out: {what}" in shown for what in ("a b (rules cannot name it)", "s (struct)", "Big- (rules"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("money/rat",), "did you mean `money/rate`?"),
        (("money/rate", "--name", "order"), "has a source `order` already, with table orders"),
        (("money/rate", "--name", "v"), "has a view `v` already"),
        (("money/rate", "--name", "Rate"), "`Rate` cannot be the name of a source"),
        (("money/rate", "--file", "x.txt"), "x.txt is not a spec"),
        (("money/rate", "--group", "a", "--file", "x.yaml"), "--group and --file cannot be used together"),
        (("money/rate", "--group", "A-b"), "`A-b` cannot be the name of a group"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(arguments: tuple[str, ...], said: str) -> None:
    path = spec(SPEC)
    shown = foreset("source", "add", *arguments)
    assert shown.code in (1, 2)
    assert said in shown.err
    assert path.read_text() == SPEC
    assert [one.name for one in Path("view_specs").iterdir()] == ["shop.yaml"]


def test_which_spec_is_meant_is_asked() -> None:
    assert "give the new group a name: `--group NAME`" in foreset("source", "add", "money/rate").err
    spec(SPEC)
    spec(SPEC.replace("group: shop", "group: b"), "b")
    assert "there are 2 groups: b, shop" in foreset("source", "add", "money/rate").err


def test_a_broken_spec_is_not_made_worse() -> None:
    path = spec("group: shop\nsources: [a\n")
    shown = foreset("source", "add", "money/rate")
    assert (shown.code, path.read_text()) == (2, "group: shop\nsources: [a\n")
