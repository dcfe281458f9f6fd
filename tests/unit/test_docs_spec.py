"""docs/spec.md: its tables are generated (REWRITE=1 writes them), and its examples are specs that work."""

from __future__ import annotations

import json
import os
import re
import textwrap
from pathlib import Path

import pytest

from foreset.ir.aggregates import BUILTINS
from foreset.ir.functions import FUNCTIONS, OPERATORS
from foreset.ir.program import STRATEGIES
from foreset.ir.types import TYPE_NAMES
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.spec.model import AGGREGATE, CHANGE, COLUMN, DOMAIN, FUNCTION, SOURCE, SPEC, TEST, VIEW
from foreset.testing.run import run_tests

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spec.md"


def functions() -> str:
    rows = ["| function | | can fail |", "|---|---|---|"]
    for name, signature in FUNCTIONS.items():
        called, _, meaning = signature.doc.partition(": ")
        if name in OPERATORS or not called.startswith(name):
            called, meaning = ("-X" if name == "neg" else f"X {name} Y"), signature.doc
        notes = "" if signature.null_propagating else " (takes NULL)"
        rows.append(f"| `{called}` | {meaning}{notes} | {'yes' if signature.fallible else ''} |")
    return "\n".join(rows)


RECORDS = (
    ("", SPEC),
    ("sources.NAME.", SOURCE),
    ("domains.NAME.", DOMAIN),
    ("domains.NAME.functions.NAME.", FUNCTION),
    ("views.NAME.", VIEW),
    ("sources.NAME.columns.NAME.", COLUMN),
    ("tests[].", TEST),
    ("tests[].change.NAME.", CHANGE),
    ("aggregates.NAME.", AGGREGATE),
)


def keys() -> str:
    rows = ["| key | | default |", "|---|---|---|"]
    for title, record in RECORDS:
        for key in record.keys:
            doc = key.doc.replace("|", "\\|")
            rows.append(f"| `{title}{key.name}` | {doc} | {'**required**' if key.required else default(key.default)} |")
    return "\n".join(rows)


def default(value: object) -> str:
    return "" if value is None else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def types() -> str:
    return textwrap.fill(", ".join(f"`{name}`" for name in TYPE_NAMES) + ".", 120)


def aggregates() -> str:
    rows = ["| aggregate | | of | kept |", "|---|---|---|---|"]
    for one in BUILTINS.values():
        of = {0: "X", 1: "X", 2: "Value, Key"}[one.components]
        parameter = f"({one.parameter.name})" if one.parameter and one.parameter.default is None else ""
        optional = f"[({one.parameter.name})]" if one.parameter and one.parameter.default is not None else ""
        rows.append(f"| `{one.name}{parameter}{optional}{{{of} \\| ...}}` | {one.doc} | {one.takes} | {one.upkeep} |")
    return "\n".join(rows)


GENERATED = {"aggregates": aggregates, "functions": functions, "keys": keys, "types": types}
MARK = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def test_the_tables_are_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    current = MARK.sub(lambda m: f"<!-- generated: {m[1]} -->\n{GENERATED[m[1]]()}\n<!-- end -->", text)
    if os.environ.get("REWRITE"):
        PAGE.write_text(current, encoding="utf-8")
    assert set(MARK.findall(text)) == GENERATED.keys()
    assert PAGE.read_text(encoding="utf-8") == current, "run this test with REWRITE=1"


EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES, ids=[re.search(r"group: (\w+)", text)[1] for text in EXAMPLES])
def test_the_examples_work(text: str) -> None:
    loaded = load_text(text)
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert not list(loaded.report)
    assert not list(found.report)
    assert all(outcome.passed for outcome in run_tests(loaded.program, found.program, found.layering))


def test_every_strategy_is_described() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{strategy}` |" in text for strategy in STRATEGIES)


MEANING = """group: meaning
sources:
  p: {table: raw/p, columns: {a: int, b: int}}
  q: {table: raw/q, columns: {a: int}}
views:
  same: {columns: {a: int}, rules: ["same(X) :- p(X, _), X = X"]}
  only: {columns: {a: int}, rules: ["only(X) :- p(X, _), not q(X)"]}
  ratio: {columns: {r: double}, rules: ["ratio(R) :- p(A, B), R = A / B, B != 0"]}
  next: {columns: {a: bigint}, rules: ["next(bigint(X) + 1) :- q(X)"]}
tests:
  - name: NULL satisfies no comparison, is in no relation, and is in a view once
    given: {p: [[null, 1], [null, 2], [1, 1]], q: [[null], [1]]}
    state: {same: [[1]], only: [[null]], next: [[null], [2]]}
  - name: a division is guarded wherever the guard stands
    given: {p: [[1, 0], [1, 2]]}
    state: {ratio: [[0.5]]}
"""


def test_what_the_page_says_of_null_and_of_order() -> None:
    loaded = load_text(MEANING)
    assert loaded.program is not None
    found = prepare(loaded.program)
    assert not list(found.report)
    outcomes = list(run_tests(loaded.program, found.program, found.layering))
    assert len(outcomes) == 2
    assert all(outcome.passed for outcome in outcomes), outcomes
