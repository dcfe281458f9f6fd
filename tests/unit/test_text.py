"""Rules read as they were written, in either notation."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from tests.unit.test_analyse_cases import prepared

from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.text import Notation, print_rule, print_term, print_value
from foreset.ir.types import INT
from foreset.ir.versions import Version
from foreset.spec.load import load_text

X, Y, Z = Var("X"), Var("Y"), Var("Z")


def test_versions_are_words_or_suffixes() -> None:
    rule = Rule(
        Atom("closure", (X, Y), version=Version.DEL),
        (
            Atom("edge", (X, Z), version=Version.OLD),
            Atom("closure", (Z, Y), version=Version.DEL_NEXT),
            Negation(Atom("gone", (X,), version=Version.NEW)),
        ),
    )
    assert print_rule(rule) == "del closure(X, Y) :- old edge(X, Z), del_next closure(Z, Y), not new gone(X)"
    paper = "closure_del(X, Y) :- edge(X, Z), closure_del_next(Z, Y), not gone_new(X)"
    assert print_rule(rule, Notation.PAPER) == print_rule(rule, "paper") == paper


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Call("+", (Call("*", (X, Y)), Z)), "X * Y + Z"),
        (Call("*", (Call("+", (X, Y)), Z)), "(X + Y) * Z"),
        (Call("-", (X, Call("-", (Y, Z)))), "X - (Y - Z)"),
        (Call("-", (Call("-", (X, Y)), Z)), "X - Y - Z"),
        (Call("/", (X, Call("*", (Y, Z)))), "X / (Y * Z)"),
        (Call("neg", (Call("+", (X, Y)),)), "-(X + Y)"),
        (Call("*", (Call("neg", (X,)), Y)), "-X * Y"),
        (Call("substr", (X, Const(1, INT), Call("+", (Y, Z)))), "substr(X, 1, Y + Z)"),
    ],
)
def test_terms_have_the_parentheses_that_they_need(term: Term, text: str) -> None:
    assert print_term(term) == text


def test_values_are_written_as_in_specs() -> None:
    values = (True, 5, Decimal("1.50"), 1e300, 'a "b" \\ \n', dt.date(2026, 11, 18), ("a", None))
    written = ["true", "5", "1.50", "1e+300", r'"a \"b\" \\ \n"', 'date("2026-11-18")', '["a", NULL]']
    assert [print_value(value) for value in values] == written
    assert print_value(dt.datetime(2026, 11, 18, 20, 15)) == 'timestamp("2026-11-18 20:15:00")'


SPEC = """group: g
sources:
  e: {table: raw/e, columns: {a: string, n: int, d: date}}
views:
  v:
    columns: {a: string, n: int}
    rules: |
"""
RULES = (
    "v(X, N) :- e(X, N, _)",
    'v(X, N - (2 - 1)) :- e(X, N, D), not e("a \\"b\\"", N, D), N * (N + 1) >= -5, D != date("2026-11-18")',
    'v(a=upper(X), n=1) :- e(a=X, d=D), not is_null(D), starts_with(X, "a"), v(X, N), N > 1',
)


def test_what_is_printed_reads_as_the_same_rule() -> None:
    written = load_text(SPEC + "".join(f"      {rule}.\n" for rule in RULES)).program
    assert written is not None
    assert tuple(print_rule(rule) for rule in written.rules) == RULES


def test_normal_form_is_a_fixpoint() -> None:
    found = prepared(SPEC + "".join(f"      {rule}.\n" for rule in RULES)).program
    assert found is not None
    again = prepared(SPEC + "".join(f"      {print_rule(rule)}.\n" for rule in found.rules)).program
    assert again is not None
    assert again.rules == found.rules
