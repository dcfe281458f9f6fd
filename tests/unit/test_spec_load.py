"""What callers of the loader rely on: names, spans, one report, and nothing heavy until a spec is read."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from foreset.ir.program import Column, Source, View
from foreset.ir.rules import Atom, Comparison, Negation, Rule
from foreset.ir.rules import Test as BooleanTest
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import BIGINT, DATE, DOUBLE, INT, Type, decimal
from foreset.spec.load import load_file, load_folder, load_text

SPECS = Path(__file__).resolve().parents[2] / "view_specs"
HEAD = """\
group: g
sources:
  e: {table: raw/e, columns: {a: string, b: string}}
views:
  v:
    columns: {a: string}
    rules:
"""


def body(rule: str) -> tuple[object, ...]:
    loaded = load_text(f"{HEAD}      - '{rule}'\n")
    assert loaded.program is not None, list(loaded.report)
    return loaded.program.rules[0].body


def constant(text: str) -> tuple[object, Type]:
    comparison = body(f"v(X) :- e(X, Y), X = {text}")[1]
    assert isinstance(comparison, Comparison)
    assert isinstance(comparison.right, Const)
    return comparison.right.value, comparison.right.type


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0", INT),
        ("2147483647", INT),
        ("-2147483648", INT),
        ("2147483648", BIGINT),
        ("-9223372036854775808", BIGINT),
        ("9223372036854775808", decimal(19, 0)),
        ("1.5", decimal(2, 1)),
        ("0.05", decimal(2, 2)),
        ("10.50", decimal(4, 2)),
        ("1e3", DOUBLE),
        ("1.5e-3", DOUBLE),
        ('date("2026-11-18")', DATE),
    ],
)
def test_constants_have_the_types_of_spark(text: str, kind: Type) -> None:
    assert constant(text)[1] == kind


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"a""b"', 'a"b'),
        ('"a\\"b\\\\"', 'a"b\\'),
        ('"\\n\\t"', "\n\t"),
        ("\"it''s\"", "it's"),  # the YAML item is in single quotes: two of them are one
        ('""', ""),
        ('"% . ,"', "% . ,"),
        ("- -1", 1),
        ("-0.50", Decimal("-0.50")),
    ],
)
def test_constants_have_their_values(text: str, value: object) -> None:
    assert constant(text)[0] == value


def test_literals_become_what_they_are() -> None:
    found = body("v(X) :- e(a=X), not e(_, X), X != Y + 1, contains(X, X), not is_null(X), f(X)")
    assert [type(literal) for literal in found] == [Atom, Negation, Comparison, BooleanTest, BooleanTest, Atom]
    assert found[0] == Atom("e", (Var("X"),), ("a",))
    assert found[4] == BooleanTest(Call("is_null", (Var("X"),)), negated=True)


WRITTEN = """group: g
sources:
  e: {table: raw/e, columns: {a: int, b: int}}
views:
  v:
    columns: {a: int, n: bigint}
    rules: |
      % one for each a
      v(X, N) :-   N = count{Y | e(X, Y)},
          X > 1.
      v(a=X,n=0):-e(X,X).
  w:
    columns: {a: int}
    rules: ["w(X)  :- e(X, _)"]
"""


def test_rules_keep_the_text_that_was_written() -> None:
    program = load_text(WRITTEN).program
    assert [rule.text for rule in program.rules] == [
        "% one for each a\nv(X, N) :-   N = count{Y | e(X, Y)},\n    X > 1", "v(a=X,n=0):-e(X,X)", "w(X)  :- e(X, _)"
    ]  # fmt: skip


def test_descriptions_mean_nothing_to_a_refresh() -> None:
    """Nothing is built anew because somebody said what a column means."""
    from foreset.plan.fingerprint import fingerprints
    from foreset.rewrite.pipeline import prepare

    plain = "group: g\nsources:\n  e: {table: raw/e, columns: {a: int, b: int}}\nviews:\n  v:\n    columns: {a: int}\n"
    plain += "    rules: ['v(X) :- e(X, Y), Y > 1']\n"
    told = plain.replace("{a: int", "{a: {type: int, description: how many}")
    found = [prepare(load_text(text).program) for text in (plain, told)]
    assert told != plain
    assert found[0].program == found[1].program
    assert len({str(fingerprints(one.program, one.layering)) for one in found}) == 1


def test_rules_are_named_by_view_and_number() -> None:
    loaded = load_text(HEAD + "      - v(X) :- e(X, _). v(X) :- e(_, X)\n      - v(X) :- e(X, X)\n")
    assert loaded.program is not None
    assert [rule.name for rule in loaded.program.rules] == ["v#1", "v#2", "v#3"]


def text_at(node: Term | Atom | Comparison | Column | Source | View, lines: list[str]) -> str:
    assert node.span is not None
    span = node.span
    return lines[span.line - 1][span.column - 1 : span.column - 1 + span.width]


def check_term(term: Term, lines: list[str]) -> None:
    shown = text_at(term, lines)
    if isinstance(term, Var):
        assert shown == term.name
    elif isinstance(term, Call):
        assert term.function in shown or term.function == "neg"
        for arg in term.args:
            check_term(arg, lines)
    else:
        assert shown


def terms(rule: Rule) -> Iterator[Term]:
    for literal in (rule.head, *rule.body):
        if isinstance(literal, Atom):
            yield from literal.args
        elif isinstance(literal, Comparison):
            yield from (literal.left, literal.right)


@pytest.mark.parametrize("path", sorted(SPECS.glob("*.yaml")), ids=lambda path: path.name)
def test_every_span_of_the_samples_shows_its_node(path: Path) -> None:
    loaded = load_file(path)
    assert loaded.program is not None, list(loaded.report)
    lines = loaded.source.splitlines()
    for rule in loaded.program.rules:
        for literal in (rule.head, *rule.body):
            assert not isinstance(literal, Atom) or text_at(literal, lines).startswith(f"{literal.relation}(")
        for term in terms(rule):
            check_term(term, lines)
    for relation in (*loaded.program.sources, *loaded.program.views):
        assert text_at(relation, lines) == relation.name
        assert [text_at(column, lines) for column in relation.columns] == [column.name for column in relation.columns]


def test_a_folder_is_read_in_the_order_of_its_names() -> None:
    found = [one.program.group for one in load_folder(SPECS) if one.program]
    assert found == ["law_enforcement", "reach", "supply_chain"]
    assert [one.program for one in load_folder(SPECS / "nowhere")] == [None]


def test_half_a_character_is_a_fault_too() -> None:
    assert [diagnostic.code for diagnostic in load_text("group: \ud800").report] == ["FS004"]


def test_threads_do_not_mix_their_files() -> None:
    def load(number: int) -> set[str]:
        loaded = load_text(f"{HEAD}      - v(X) :- e(X, y{number})\n" * 1, f"{number}.yaml")
        return {f"{diagnostic.file} {diagnostic.message.split()[0]}" for diagnostic in loaded.report}

    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(load, range(100))):
            assert found == {f"{number}.yaml `y{number}`"}


def test_the_package_itself_loads_nothing() -> None:
    probe = "import sys, foreset, foreset.spec; print({'lark', 'yaml', 'pydantic'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", probe], text=True).strip() == "set()"


def test_a_thousand_rules_are_read_in_a_moment() -> None:
    """The time is printed (`pytest -s`), the aim 0.3 s of CPU; the bound only catches what is not linear."""
    views = "".join(
        f"  v{n}:\n    columns: {{a: string}}\n    rules:\n"
        + f"      - v{n}(X) :- e(X, A), e(A, B), e(B, Y), X != Y, length(Y) > 2 + 1\n" * 5
        for n in range(200)
    )
    text = "group: g\nsources:\n  e: {table: raw/e, columns: {a: string, b: string}}\nviews:\n" + views
    load_text(HEAD + "      - v(X) :- e(X, X)\n")
    start = time.process_time()
    loaded = load_text(text)
    spent = time.process_time() - start
    print(f"1,000 rules: {spent * 1000:.0f} ms")
    assert loaded.program is not None
    assert len(loaded.program.rules) == 1000
    assert spent < 3


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("width", [20, 33, 80])
def test_rules_that_a_program_has_written(width: int, line_end: str) -> None:
    """PyYAML breaks long texts in double quotes with `\\` and indents what follows: the constant must not grow."""
    rule = 'v(X) :- e(X, "a\\t\'R\' is a value   of some length, and longer than a line", "R"), X != "  R"'
    spec = {
        "group": "g",
        "sources": {"e": {"table": "raw/e", "columns": {"a": "string", "b": "string", "c": "string"}}},
        "views": {"v": {"columns": {"a": "string"}, "rules": [rule]}},
    }
    text = yaml.safe_dump(spec, width=width, default_style='"')
    assert "\\\n" in text
    broken, whole = (load_text(one) for one in (text.replace("\n", line_end), yaml.safe_dump(spec, width=10**6)))
    assert broken.program is not None, list(broken.report)
    assert whole.program is not None, list(whole.report)
    assert broken.program.rules == whole.program.rules
