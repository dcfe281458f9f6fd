"""Constraints against their meaning, found by trying every value of small domains."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest
from tests.property.random_constraints import A, B, Maker, P, T, U, V, in_values, solutions
from tests.same_constraints import equivalent, same_sets

from foreset.constraints.decide import canonical, covered, entails, minus, satisfiable
from foreset.constraints.errors import Undecided
from foreset.constraints.form import FALSE, Constraint, Not, conjunction, constraint
from foreset.constraints.instances import contains, rows
from foreset.constraints.read import read_constraint
from foreset.constraints.simplify import project, simplify
from foreset.constraints.sorts import Variable
from foreset.constraints.text import print_constraint

LONG = bool(os.environ.get("FORESET_LONG"))
SEEDS = range(40 if LONG else 3)
EACH = 250 if LONG else 25
COLUMNS = ((A, B), (A, P), (T, U), (A, T), (A, V), (A, B, T))


def each(seed: int, check: Callable[[Constraint, tuple[Variable, ...], Random], None]) -> None:
    """Check constraints; the solver may give up now and then, and says so: no answer is no wrong answer."""
    rng = Random(seed)
    given_up = 0
    for _ in range(EACH):
        columns = rng.choice(COLUMNS)
        try:
            check(Maker(rng).closed(columns), columns, rng)
        except Undecided:
            given_up += 1
    assert given_up <= EACH // 10


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_SOLVER_SECONDS", "1")


def named(part: Constraint) -> bool:
    """Locals have stayed: their names, and so the order of literals, may differ."""
    return bool(part.locals) or any(isinstance(p, Not) and named(p.body) for p in part.literals)


@pytest.mark.parametrize("seed", SEEDS)
def test_simpler_forms_mean_the_same(seed: int) -> None:
    def check(part: Constraint, columns: tuple[Variable, ...], rng: Random) -> None:
        meant = solutions(part, columns)
        for form in (simplify, canonical):
            made = form(part)
            assert solutions(made, columns) == meant, (form.__name__, print_constraint(part), print_constraint(made))
            assert named(made) or form(made) == made, (form.__name__, print_constraint(part), print_constraint(made))
        assert satisfiable(part) == bool(meant), print_constraint(part)
        assert (canonical(part) == FALSE) == (not meant), print_constraint(part)

    each(seed, check)


@pytest.mark.parametrize("seed", SEEDS)
def test_projection_is_there_is(seed: int) -> None:
    def check(part: Constraint, columns: tuple[Variable, ...], rng: Random) -> None:
        kept = rng.sample(columns, len(columns) - 1)
        places = [columns.index(v) for v in kept]
        meant = {tuple(row[i] for i in places) for row in solutions(part, columns)}
        made = project(part, kept)
        assert made.free <= set(kept)
        assert solutions(made, kept) == meant, (print_constraint(part), print_constraint(made))

    each(100 + seed, check)


@pytest.mark.parametrize("seed", SEEDS)
def test_questions_are_answered_as_sets_would(seed: int) -> None:
    def check(part: Constraint, columns: tuple[Variable, ...], rng: Random) -> None:
        other = Maker(rng).closed(columns)
        if rng.random() < 0.3:
            other = conjunction(part, constraint(other.literals[:1], other.locals))
        ours, theirs = solutions(part, columns), solutions(other, columns)
        said = print_constraint(part), print_constraint(other)
        assert entails(part, other) == (ours <= theirs), said
        assert equivalent(part, other) == (ours == theirs), said
        assert solutions(conjunction(part, other), columns) == ours & theirs, said
        assert solutions(minus(part, (other,)), columns) == ours - theirs, said
        third = Maker(rng).closed(columns)
        assert covered(part, (other, third)) == (ours <= theirs | solutions(third, columns)), said
        halves = minus(part, (other,)), conjunction(part, other)
        assert same_sets(halves, (part,)), said

    each(200 + seed, check)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_solutions(seed: int) -> None:
    def check(part: Constraint, columns: tuple[Variable, ...], rng: Random) -> None:
        meant = in_values(solutions(part, columns), columns)
        found = list(rows(part, columns))
        assert frozenset(found) == meant, print_constraint(part)
        assert len(found) == len(meant), "each row once"
        somewhere = Maker(rng).closed(columns)
        for row in in_values(solutions(somewhere, columns), columns):
            assert contains(part, columns, row) == (row in meant), (print_constraint(part), row)
            break

    each(300 + seed, check)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_printed_reads_back(seed: int) -> None:
    def check(part: Constraint, columns: tuple[Variable, ...], rng: Random) -> None:
        for form in (part, simplify(part), canonical(part), Constraint((Not(part),))):
            back = read_constraint(print_constraint(form), columns)
            assert print_constraint(back) == print_constraint(form)
            assert back == form

    each(400 + seed, check)


def test_one_variable_has_one_form() -> None:
    """Constraints of one variable that mean the same are written the same."""
    forms: dict[frozenset[tuple[int | str, ...]], Constraint] = {}
    for seed in range(150):
        variable: Variable = (A, T, V)[seed % 3]
        part = Maker(Random(seed)).closed((variable,))
        made = simplify(part)
        if made.locals or any(isinstance(p, Not) and p.body.locals for p in made.literals):
            continue  # a local that cannot go keeps its name
        key = frozenset((variable.name, *row) for row in solutions(part, (variable,)))
        assert forms.setdefault(key, made) == made, print_constraint(made)
    assert len(forms) > 10
