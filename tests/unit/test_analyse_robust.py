"""Whatever reads as a spec is analysed without a crash; and the order of evaluation keeps its law."""

from __future__ import annotations

from itertools import islice

from hypothesis import example, given
from hypothesis import strategies as st

from foreset.analyse.binding import bound_by_atoms
from foreset.analyse.order import can_fail, classified, ordered
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, literal_variables
from foreset.ir.terms import Call, Const, Var, variables
from foreset.ir.types import INT
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text

HEAD = """group: g
sources:
  e: {table: raw/e, columns: {a: string, b: int}}
  t: {table: raw/t, columns: {k: date, p: "decimal(9,2)", x: double, l: array<int>, on: boolean}}
views:
"""
TERMS = (
    "X", "Y", "Z", "_", "_1", "E1", "5", "-3", "2.5", "1e3", '"a"', "true", 'date("2026-01-01")', "X + 1", "Y / 0",
    "lower(X)", "nosuch(X)", "coalesce(X, 1)", "round(Z, 2)", "decimal(Y, 3, 1)", "-X", "is_null(Y)",
    "length(X, Y)",
)  # fmt: skip
SANE = (*("X", "Y", "Z") * 3, "_", "5", "2.5", '"a"', 'date("2026-01-01")', "X + 1", "Y / 2", "lower(X)", "-Z")
WIDTHS = {"e": 2, "t": 5, "v": 2, "w": 2}
terms_of = {True: st.sampled_from(SANE), False: st.sampled_from(TERMS)}


def atoms(*, sane: bool) -> st.SearchStrategy[str]:
    """Atoms of the right width, or of any."""
    term = terms_of[sane]
    if sane:
        name = st.sampled_from(sorted(WIDTHS))
        return name.flatmap(
            lambda n: st.lists(term, min_size=WIDTHS[n], max_size=WIDTHS[n]).map(lambda a: called(n, a))
        )
    columns = st.lists(
        st.tuples(st.sampled_from(("a", "b", "k", "p", "zz")), term), min_size=1, unique_by=lambda p: p[0]
    )
    named = columns.map(lambda pairs: [f"{name}={value}" for name, value in pairs])
    return st.builds(called, st.sampled_from((*WIDTHS, "ee")), st.one_of(st.lists(term, max_size=5), named))


def called(name: str, args: list[str]) -> str:
    return f"{name}({', '.join(args)})"


def bodies_of(*, sane: bool) -> st.SearchStrategy[str]:
    """Literals of every kind."""
    term, atom = terms_of[sane], atoms(sane=sane)
    comparison = st.builds(lambda a, op, b: f"{a} {op} {b}", term, st.sampled_from(("=", "!=", "<", ">=")), term)
    names = ("is_null", "is_nan") if sane else ("is_null", "contains", "lower", "is_nan")
    test = st.builds(called, st.sampled_from(names), st.lists(term, min_size=sane, max_size=1 if sane else 3))
    literal = st.one_of(atom, atom, atom.map(lambda a: f"not {a}"), comparison, test, test.map(lambda t: f"not {t}"))
    return st.lists(literal, min_size=1, max_size=5).map(", ".join)


strategy = st.sampled_from(("auto", "counting", "insert", "stdel", "dred"))


@st.composite
def specs(draw: st.DrawFn) -> str:
    text = HEAD
    sane = draw(st.booleans())
    terms = st.lists(terms_of[sane], min_size=2 if sane else 0, max_size=2 if sane else 4)
    for name, columns in (("v", "a: string, b: int"), ("w", 'a: "decimal(5,1)", b: date')):
        text += f"  {name}:\n    columns: {{{columns}}}\n    strategy: {draw(strategy)}\n    rules: |\n"
        for head, body in draw(st.lists(st.tuples(terms, bodies_of(sane=sane)), min_size=1, max_size=3)):
            text += f"      {called(name, head)} :- {body}.\n"
    return text


@given(specs())
@example(  # too many arguments for a view that is kept by constraints
    HEAD
    + """\
  v:
    columns: {a: string, b: int}
    rules: |
      v(X, Y) :- e(X, Y), w(X, X, 5).
  w:
    columns: {a: "decimal(5,1)", b: date}
    rules: |
      w(Y) :- e(decimal(Y, 3, 1)).
"""
)
def test_analysis_never_crashes(text: str) -> None:
    loaded = load_text(text)
    if loaded.program is None:
        return
    found = prepare(loaded.program)
    assert (found.program is None) == (found.layering is None) == bool(found.report.errors)
    lines = text.count("\n")
    for fault in found.report:
        assert fault.message
        assert fault.file == "spec.yaml"
        assert 1 <= fault.line <= lines
        assert fault.column > 1


NAMES = tuple("ABCDEF")
safe_terms = st.one_of(st.sampled_from(NAMES).map(Var), st.just(Const(1, INT)))
terms = st.one_of(safe_terms, st.builds(lambda a, b: Call("/", (a, b)), safe_terms, safe_terms))
bodies = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(lambda name: Atom("p", (Var(name),))),
        st.sampled_from(NAMES).map(lambda name: Negation(Atom("p", (Var(name),)))),
        st.builds(Comparison, st.sampled_from(("=", "=", "<")), terms, terms),
    ),
    max_size=7,
)


def needs(one: Literal) -> set[str]:
    return {v.name for v in (variables(one.term) if isinstance(one, Let) else literal_variables(one))}


@given(bodies)
def test_an_expression_that_can_fail_waits_for_all_that_does_not_depend_on_it(written: list[Literal]) -> None:
    before = classified(written)
    result = ordered(before)
    assert sorted(map(repr, result)) == sorted(map(repr, before))
    given_by = {one.var.name for one in result if isinstance(one, Let)}
    known = set(bound_by_atoms(result))
    for position, one in enumerate(result):
        assert needs(one) & given_by <= known
        known |= {one.var.name} if isinstance(one, Let) else set()
        if can_fail(one):
            # what comes later cannot fail only if it waits for a value that could
            waiting = {one.var.name} if isinstance(one, Let) else set()
            for later in islice(result, position + 1, None):
                if isinstance(later, Let) and (can_fail(later) or needs(later) & waiting):
                    waiting.add(later.var.name)
                assert can_fail(later) or needs(later) & waiting, result
