"""Examples 3 to 8 of paper 003: entries, supports and results as printed, constraints simplified."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from tests.mediated_programs import lines, program, region, shown
from tests.same_constraints import same_sets

from foreset.constraints.calls import resolve
from foreset.constraints.form import Member
from foreset.constraints.instances import rows
from foreset.constraints.text import print_constraint
from foreset.ir.terms import Row
from foreset.mediated import dred
from foreset.mediated.entries import View, support_rows, supports_from_rows
from foreset.mediated.fixpoint import materialise, t_p, w_p
from foreset.mediated.program import Program
from foreset.mediated.update import delete, insert, to_add, to_delete

LAW = program(
    {"seenwith": "X string, Y string", "swlndc": "X string, Y string"},
    'seenwith("Don Corleone", "John") <-',
    'seenwith("Don Corleone", "Ed") <-',
    "swlndc(X, Y) <- || seenwith(X, Y)",
)
INTERVALS = program(
    {"A": "X int", "B": "X int", "C": "X int"},
    "A(X) <- X <= 3",
    "A(X) <- || B(X)",
    "B(X) <- X >= 5",
    "C(X) <- || A(X)",
)
RECURSIVE = program(
    {"P": "X string, Y string", "A": "X string, Y string"},
    'P(X, Y) <- X = "a", Y = "b"',
    'P(X, Y) <- X = "a", Y = "c"',
    'P(X, Y) <- X = "c", Y = "d"',
    "A(X, Y) <- || P(X, Y)",
    "A(X, Y) <- || P(X, Z), A(Z, Y)",
)


def instances(made: Program, view: View, predicate: str) -> set[Row]:
    """Every row of a finite view."""
    return {row for said in view.constraints(predicate) for row in rows(said, made.columns[predicate])}


def same(made: Program, view: View, sets: dred.Sets) -> bool:
    """Both have the same instances, by the solver."""
    return all(same_sets(view.constraints(name), sets.get(name, ())) for name in made.columns)


def said(sets: dred.Sets) -> dict[str, set[str]]:
    """Constraints as text."""
    return {name: {print_constraint(part) for part in parts} for name, parts in sets.items()}


# ---------------------------------------------------------------- deletion
def test_example_3_deletes_a_fact_and_what_followed() -> None:
    forged = region(LAW, "seenwith", 'X = "Don Corleone", Y = "John"')
    less, left, out = dred.delete(LAW, dred.fixpoint(LAW), forged)
    john, ed = 'X = "Don Corleone", Y = "John"', 'X = "Don Corleone", Y = "Ed"'
    assert said(out) == {"seenwith": {john}, "swlndc": {john}}
    assert said(left) == {"seenwith": {ed}, "swlndc": {ed}}
    after = delete(LAW, materialise(LAW), forged)
    assert shown(after.view) == {f"seenwith: {ed} <2>", f"swlndc: {ed} <3, <2>>"}
    assert after.program == less


def test_example_4_rederives_what_has_another_proof() -> None:
    """Example 4 with X = 3, as its text goes on (the deletion of X = 6 is a slip of the print)."""
    made = program(
        {"A": "X int", "B": "X int", "C": "X int"},
        "A(X) <- X <= 3",
        "A(X) <- || B(X)",
        "B(X) <- X <= 5",
        "C(X) <- || A(X)",
    )
    view = materialise(made)
    assert shown(view) == lines("""
        A: X <= 3 <1>
        A: X <= 5 <2, <3>>
        B: X <= 5 <3>
        C: X <= 3 <4, <1>>
        C: X <= 5 <4, <2, <3>>>
    """)
    gone = region(made, "B", "X = 3")
    assert [print_constraint(part) for part in to_delete(view, gone)] == ["X = 3"]
    _, left, out = dred.delete(made, dred.fixpoint(made), gone)
    assert said(out) == {"B": {"X = 3"}, "A": {"X = 3"}, "C": {"X = 3"}}
    assert same(made, materialise(made), {**left, "B": dred.fixpoint(made)["B"]}), "A and C are as they were"
    after = delete(made, view, gone).view
    assert same(made, after, left)
    assert shown(after) == lines("""
        A: X <= 3 <1>
        A: X <= 5, X != 3 <2, <3>>
        B: X <= 5, X != 3 <3>
        C: X <= 3 <4, <1>>
        C: X <= 5, X != 3 <4, <2, <3>>>
    """)


def test_example_4_as_printed_deletes_nothing() -> None:
    made = program({"B": "X int"}, "B(X) <- X <= 5")
    assert to_delete(materialise(made), region(made, "B", "X = 6")) == ()
    assert delete(made, materialise(made), region(made, "B", "X = 6")).changed == ()


def test_example_5_follows_supports() -> None:
    view = materialise(INTERVALS)
    assert shown(view) == lines("""
        A: X <= 3 <1>
        A: X >= 5 <2, <3>>
        B: X >= 5 <3>
        C: X <= 3 <4, <1>>
        C: X >= 5 <4, <2, <3>>>
    """)
    gone = region(INTERVALS, "B", "X = 6")
    after = delete(INTERVALS, view, gone)
    assert shown(after.view) == lines("""
        A: X <= 3 <1>
        A: X >= 5, X != 6 <2, <3>>
        B: X >= 5, X != 6 <3>
        C: X <= 3 <4, <1>>
        C: X >= 5, X != 6 <4, <2, <3>>>
    """)
    assert [str(entry) for entry in after.changed] == [
        "B <- X = 6 <3>",
        "A <- X = 6 <2, <3>>",
        "C <- X = 6 <4, <2, <3>>>",
    ], "P_OUT, in the order of the paper"
    assert after.view.entries == materialise(after.program).entries, "the view of P', entry by entry"
    _, left, _ = dred.delete(INTERVALS, dred.fixpoint(INTERVALS), gone)
    assert same(INTERVALS, after.view, left)


def test_example_6_recursion() -> None:
    view = materialise(RECURSIVE)
    assert shown(view) == lines("""
        P: X = "a", Y = "b" <1>
        P: X = "a", Y = "c" <2>
        P: X = "c", Y = "d" <3>
        A: X = "a", Y = "b" <4, <1>>
        A: X = "a", Y = "c" <4, <2>>
        A: X = "c", Y = "d" <4, <3>>
        A: X = "a", Y = "d" <5, <2>, <4, <3>>>
    """)
    after = delete(RECURSIVE, view, region(RECURSIVE, "P", 'X = "c", Y = "d"'))
    assert shown(after.view) == lines("""
        P: X = "a", Y = "b" <1>
        P: X = "a", Y = "c" <2>
        A: X = "a", Y = "b" <4, <1>>
        A: X = "a", Y = "c" <4, <2>>
    """)
    assert {str(entry.support) for entry in after.changed} == {"<3>", "<4, <3>>", "<5, <2>, <4, <3>>>"}


def test_projected_variables_keep_what_another_value_gives() -> None:
    """Why entries are said anew from their support: A(1) stands by Y = 4 when only B(1, 3) goes."""
    made = program({"A": "X int", "B": "X int, Y int"}, "A(X) <- || B(X, Y)", "B(X, Y) <- X = 1, Y >= 3, Y <= 4")
    view = materialise(made)
    once = delete(made, view, region(made, "B", "Y = 3"))
    assert instances(made, once.view, "A") == {(1,)}
    twice = delete(once.program, once.view, region(made, "B", "Y = 4"))
    assert len(twice.view) == 0


# ---------------------------------------------------------------- insertion
def test_insertion_adds_what_is_new_and_what_follows() -> None:
    view = materialise(INTERVALS)
    asked = region(INTERVALS, "B", "X >= 4, X <= 6")
    assert print_constraint(to_add(view, asked)) == "X = 4"
    after = insert(INTERVALS, view, asked)
    assert shown(after.view) - shown(view) == lines("""
        B: X >= 4, X <= 6 <5>
        A: X >= 4, X <= 6 <2, <5>>
        C: X >= 4, X <= 6 <4, <2, <5>>>
    """)
    assert same(INTERVALS, after.view, dred.fixpoint(after.program))


def test_two_new_atoms_in_one_body() -> None:
    """Deletion takes exactly one changed atom of a body, insertion one or more."""
    made = program({"P": "X int", "Q": "X int, Y int"}, "P(X) <- X = 1", "Q(X, Y) <- || P(X), P(Y)")
    after = insert(made, materialise(made), region(made, "P", "X = 2"))
    assert instances(made, after.view, "Q") == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert after.view.entries == materialise(after.program).entries


# ---------------------------------------------------------------- domains
def domain(*answers: tuple[str, tuple[object, ...], set[object]]):
    """A function of one result by its arguments."""
    table = {(name, args): found for name, args, found in answers}

    def answer(call: Member, args: Row) -> Collection[Row]:
        return [(value,) for value in table.get((call.function, args), set())]

    return answer


def nobody(call: Member, args: Row) -> Collection[Row]:
    raise AssertionError("W_P asks no domain")


def evaluated(made: Program, view: View, predicate: str, answers) -> set[Row]:
    """The instances of the view by the answers of now."""
    parts = [part for said in view.constraints(predicate) for part in resolve(said, answers)]
    return {row for part in parts for row in rows(part, made.columns[predicate])}


def test_example_7_an_answer_that_goes() -> None:
    made = program({"B": "X string"}, 'B(X) <- in(X, d:g("b"))')
    then, now = domain(("g", ("b",), {"a"})), domain(("g", ("b",), set()))
    assert shown(materialise(made, t_p(then))) == {'B: in(X, d:g("b")) <1>'}
    assert shown(materialise(made, t_p(now))) == set()
    lasting = materialise(made, w_p)
    assert evaluated(made, lasting, "B", then) == {("a",)}
    assert evaluated(made, lasting, "B", now) == set()


def test_example_8_w_p_needs_no_maintenance() -> None:
    made = program(
        {"A": "X string", "B": "X string, Y string"},
        'B("a", "b") <-',
        'B("b", "b") <-',
        "A(X) <- in(X, d:f(X)) || B(X, Y)",
    )
    then, now = domain(("f", ("b",), {"b"})), domain(("f", ("a",), {"a"}))
    lasting = materialise(made, w_p)
    assert shown(lasting) == lines("""
        B: X = "a", Y = "b" <1>
        B: X = "b", Y = "b" <2>
        A: X = "a", in("a", d:f("a")) <3, <1>>
        A: X = "b", in("b", d:f("b")) <3, <2>>
    """)
    at_t, at_t1 = materialise(made, t_p(then)), materialise(made, t_p(now))
    assert shown(lasting) - shown(at_t) == {'A: X = "a", in("a", d:f("a")) <3, <1>>'}
    assert shown(lasting) - shown(at_t1) == {'A: X = "b", in("b", d:f("b")) <3, <2>>'}
    assert evaluated(made, lasting, "A", then) == {("b",)} == evaluated(made, at_t, "A", then)
    assert evaluated(made, lasting, "A", now) == {("a",)} == evaluated(made, at_t1, "A", now)


def test_w_p_never_asks() -> None:
    made = program({"B": "X string"}, 'B(X) <- in(X, d:g("b"))')
    with pytest.raises(AssertionError, match="asks no domain"):
        materialise(made, t_p(nobody))
    view = materialise(made, w_p)
    assert len(delete(made, view, region(made, "B", 'X = "a"'), w_p).view) == 1


# ---------------------------------------------------------------- supports
def test_supports_are_rows_and_come_back() -> None:
    view = materialise(RECURSIVE)
    stored = support_rows(view.entries)
    assert set(supports_from_rows(stored).values()) == set(view.entries)
    below = {name for name, _, _, child in stored if child is not None}
    assert len(below) == 4
    children = {child for _, _, _, child in stored if child is not None}
    assert children <= {name for name, *_ in stored}, "every child is a support itself"
