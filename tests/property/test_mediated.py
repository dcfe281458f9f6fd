"""Random programs of constrained clauses and random updates of their views: theorems of paper 003 as properties.

Sets are compared by the solver; in two tests row by row, over a window wider than every bound in the programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from tests.same_constraints import equivalent, same_sets

from foreset.constraints.calls import equals, resolve
from foreset.constraints.decide import covered
from foreset.constraints.form import Constraint, Linear, Literal, Member, Not, constraint, linear
from foreset.constraints.instances import contains
from foreset.constraints.simplify import simplify
from foreset.constraints.sorts import NUMBER, Variable
from foreset.ir.terms import Row
from foreset.mediated import dred
from foreset.mediated.entries import View
from foreset.mediated.fixpoint import materialise, t_p, w_p
from foreset.mediated.program import Atom, Clause, Program, Region, asserting, without
from foreset.mediated.update import delete, insert, to_add

LONG = bool(os.environ.get("FORESET_LONG"))
SEEDS = range(20 if LONG else 3)
EACH = 250 if LONG else 40
SMALL = range(10)  # seeds of 100 small programs each, always; the long form has 5,000 more of full size
WINDOW = range(-5, 6)
X, Y, Z = (Variable(name, NUMBER) for name in "XYZ")
COLUMNS = {"e": (X, Y), "a": (X,), "b": (X,), "p": (X, Y), "q": (X, Y)}


def random_program(rng: Random, *, small: bool = False) -> Program:
    """Base clauses of e and a; b, p and q above them, q recursive in half of the programs, over rows that end."""
    rules: list[tuple[Atom, Constraint, tuple[Atom, ...]]] = [
        *((Atom("e", (X, Y)), _base(rng, (X, Y)), ()) for _ in range(rng.randint(1, 2 if small else 3))),
        *((Atom("a", (X,)), _bounds(rng, X), ()) for _ in range(1 if small else rng.randint(1, 2))),
    ]
    rules.append((Atom("b", (X,)), _some(rng, (X,)), (Atom("a", (X,)),)))
    if rng.random() < (0.3 if small else 0.6):
        rules.append((Atom("b", (X,)), _some(rng, (X, Y)), (Atom("e", rng.choice(((X, Y), (Y, X)))),)))
    rules.append((Atom("p", (X, Y)), _some(rng, (X, Y)), (Atom("b", (X,)), Atom("a", (Y,)))))
    if rng.random() < (0.25 if small else 0.5):
        rules.append((Atom("p", (X, Z)), _some(rng, (X, Z)), (Atom("e", (X, Y)), Atom("e", (Y, Z)))))
    rules.append((Atom("q", (X, Y)), _some(rng, (X, Y)), (Atom("p", (X, Y)),)))
    if rng.random() < 0.5:  # upwards only, so that derivations end
        step = constraint([linear({Y: 1, X: -1}, ">=", 2), linear({Z: 1}, "<=", 3), linear({X: 1}, ">=", -3)])
        step = constraint([*step.literals, linear({Y: 1}, "<=", rng.randint(0, 3))])
        rules.append((Atom("q", (X, Z)), step, (Atom("e", (X, Y)), Atom("q", (Y, Z)))))
    clauses = tuple(Clause(n, head, said, body) for n, (head, said, body) in enumerate(rules, 1))
    return Program(COLUMNS, clauses)


def _base(rng: Random, columns: tuple[Variable, ...]) -> Constraint:
    """A row, or a small region."""
    if rng.random() < 0.5:
        return constraint(linear({v: 1}, "=", rng.randint(-2, 2)) for v in columns)
    return constraint([*(p for v in columns for p in _bounds(rng, v).literals), *_some(rng, columns).literals])


def _bounds(rng: Random, variable: Variable) -> Constraint:
    low = rng.randint(-3, 1)
    literals = [linear({variable: 1}, ">=", low), linear({variable: 1}, "<=", low + rng.randint(0, 4))]
    return constraint(rng.choice((literals, literals, literals[:1], literals[1:])))


def _some(rng: Random, variables: tuple[Variable, ...]) -> Constraint:
    """Up to two literals: equations, differences, holes, `not` of a region."""
    literals: list[Literal | bool] = []
    for _ in range(rng.choice((0, 1, 1, 2))):
        chosen = rng.sample(variables, min(len(variables), rng.choice((1, 2))))
        terms = dict(zip(chosen, (1, -1), strict=False))
        literal = linear(terms, rng.choice(("<=", ">=", "!=", "=")), rng.randint(-2, 2))
        if rng.random() < 0.2 and not isinstance(literal, bool):
            literal = Not(Constraint((literal, *_bounds(rng, rng.choice(variables)).literals)))
        literals.append(literal)
    made = constraint(literals)
    return Constraint() if any(isinstance(p, Linear) and not p.terms for p in made.literals) else made


def random_region(rng: Random) -> Region:
    """Something to delete or to insert: a row, a region, a half space."""
    predicate = rng.choice(list(COLUMNS))
    columns = COLUMNS[predicate]
    said = rng.choice((_base, _base, lambda r, c: _bounds(r, c[0])))(rng, columns)
    return Region(predicate, said)


def instances(parts: Iterable[Constraint], columns: tuple[Variable, ...]) -> frozenset[Row]:
    """The rows in the window."""
    found = set()
    simple = [simplify(part) for part in parts]
    for row in product(WINDOW, repeat=len(columns)):
        env = dict(zip(columns, row, strict=True))
        if any(_holds(part, env, columns, row) for part in simple):
            found.add(row)
    return frozenset(found)


def _holds(part: Constraint, env: dict[Variable, int], columns: tuple[Variable, ...], row: Row) -> bool:
    if part.locals or any(isinstance(p, Not) and p.body.locals for p in part.literals):
        return contains(part, columns, row)
    return all(_true(p, env) for p in part.literals)


def _true(literal: Literal, env: dict[Variable, int]) -> bool:
    match literal:
        case Linear(terms=terms, op=op, bound=bound):
            total = sum(c * env[v] for v, c in terms)
            return total <= bound if op == "<=" else (total == bound) == (op == "=")
        case Not(body=body):
            return not all(_true(p, env) for p in body.literals)
        case _:
            raise AssertionError(literal)


def alike(left: View, right: View) -> bool:
    """The same derivations, each with the same meaning: more than the same sets."""
    pairs = ((entry, right.entries.get(support)) for support, entry in left.entries.items())
    return left.entries.keys() == right.entries.keys() and all(
        theirs is not None and (ours == theirs or equivalent(ours.constraint, theirs.constraint))
        for ours, theirs in pairs
    )


def same(view: View, other: View | dred.Sets) -> bool:
    """The same sets, by the solver."""
    theirs = other.constraints if isinstance(other, View) else lambda name: other.get(name, ())
    return all(same_sets(view.constraints(name), theirs(name)) for name in COLUMNS)


def meaning(source: View | dred.Sets) -> dict[str, frozenset[Row]]:
    """The instances of each predicate in the window."""
    parts = source.constraints if isinstance(source, View) else lambda name: source.get(name, ())
    return {name: instances(parts(name), columns) for name, columns in COLUMNS.items()}


def fixpoint_of_rows(program: Program) -> dict[str, frozenset[Row]]:
    """Rows of the window, by trying every row for every variable: no constraint is ever combined with another."""
    known: dict[str, set[Row]] = {name: set() for name in COLUMNS}
    grown = True
    while grown:
        grown = False
        for clause in program.clauses:
            for row in _derivable(clause, known):
                env = dict(zip(COLUMNS[clause.head.predicate], row, strict=True))
                denied = any(instances_hold(region, env) for region in clause.denied)
                if not denied and row not in known[clause.head.predicate]:
                    known[clause.head.predicate].add(row)
                    grown = True
    return {name: frozenset(rows) for name, rows in known.items()}


def instances_hold(part: Constraint, env: dict[Variable, int]) -> bool:
    """A region without locals holds for these values."""
    return all(_true(p, env) for p in part.literals)


def _derivable(clause: Clause, known: dict[str, set[Row]]) -> Iterable[Row]:
    bindings: list[dict[Variable, int]] = [{}]
    for atom in clause.body:
        bindings = [
            {**env, **dict(zip(atom.args, row, strict=True))}
            for env in bindings
            for row in known[atom.predicate]
            if all(env.get(v, x) == x for v, x in zip(atom.args, row, strict=True))
        ]
    for env in bindings:
        missing = [v for v in dict.fromkeys((*clause.head.args, *sorted(clause.constraint.free))) if v not in env]
        for chosen in product(WINDOW, repeat=len(missing)):
            whole = {**env, **dict(zip(missing, chosen, strict=True))}
            if instances_hold(clause.constraint, whole):
                yield tuple(whole[v] for v in clause.head.args)


@pytest.mark.parametrize("seed", SMALL)
def test_all_ways_of_deleting_agree_in_small(seed: int) -> None:
    """The same for many programs that are small."""
    rng = Random(9000 + seed)
    for number in range(100):
        _deleted(random_program(rng, small=True), rng, (seed, number), times=1)


@pytest.mark.parametrize("seed", SEEDS if LONG else SEEDS[:1])
def test_all_ways_of_deleting_agree(seed: int) -> None:
    """Theorems 1 and 2, Lemma 1: StDel, Extended DRed and the fixpoint of P' have one meaning."""
    rng = Random(seed)
    for number in range(EACH):
        _deleted(random_program(rng), rng, (seed, number), times=2)


def _deleted(program: Program, rng: Random, which: tuple[int, int], times: int) -> None:
    view, sets = materialise(program), dred.fixpoint(program)
    for _ in range(times):
        region = random_region(rng)
        done = delete(program, view, region)
        afresh = materialise(done.program)
        assert alike(done.view, afresh), which
        _, left, out = dred.delete(program, sets, region)
        assert same(done.view, left), which
        for entry in done.changed:
            assert covered(entry.constraint, out[entry.predicate]), "P_OUT of DRed has all that StDel takes out"
        program, view, sets = done.program, done.view, left


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_mean_what_rows_mean(seed: int) -> None:
    """The fixpoint against rows, where the window cuts nothing off."""
    rng = Random(1000 + seed)
    for number in range(EACH // 10):
        program = random_program(rng)
        inside = [
            c if c.body else replace(c, constraint=constraint([*c.constraint.literals, *_window(c)]))
            for c in program.clauses
        ]
        program = Program(COLUMNS, tuple(inside))
        region = random_region(rng)
        changed = without(program, region) if rng.random() < 0.5 else program
        assert meaning(materialise(changed)) == fixpoint_of_rows(changed), (seed, number)


def _window(clause: Clause) -> Iterable[Literal | bool]:
    for v in COLUMNS[clause.head.predicate]:
        yield linear({v: 1}, ">=", WINDOW[0])
        yield linear({v: 1}, "<=", WINDOW[-1])


@pytest.mark.parametrize("seed", SEEDS)
def test_insertion_is_the_fixpoint_of_p_flat(seed: int) -> None:
    """Theorem 3; the part not yet there, or all of it, give one view; deleting it again is the identity."""
    rng = Random(2000 + seed)
    for number in range(EACH // 2):
        program = random_program(rng)
        view, region = materialise(program), random_region(rng)
        added = Region(region.predicate, to_add(view, region))
        done = insert(program, view, added)
        assert done.view.entries == materialise(asserting(program, added)).entries, (seed, number)
        assert same(done.view, insert(program, view, region).view), (seed, number)
        assert covered(region.constraint, done.view.constraints(region.predicate)), (seed, number)
        undone = delete(done.program, done.view, added)
        assert same(undone.view, view), (seed, number)


# ---------------------------------------------------------------- domains
def with_calls(program: Program, rng: Random) -> Program:
    """Some clauses ask a domain: for a value of their own column, for a test, or that there is none."""
    clauses = []
    for clause in program.clauses:
        variable = rng.choice([v for v in clause.head.args if isinstance(v, Variable)])
        if rng.random() < 0.5 and clause.body:
            call = rng.choice(
                (
                    Member((variable,), "d", "f", (rng.randint(0, 2),)),
                    Member((), "d", "g", (variable,)),
                    Not(Constraint((Member((variable,), "d", "f", (rng.randint(0, 2),)),))),
                )
            )
            clauses.append(replace(clause, constraint=constraint([*clause.constraint.literals, call])))
        else:
            clauses.append(clause)
    return Program(COLUMNS, tuple(clauses))


def random_answers(rng: Random):
    """What the domain says at one time, for every argument of the window."""
    table = {("f", n): frozenset(rng.sample(range(-2, 3), rng.randint(0, 4))) for n in WINDOW}
    some = frozenset(rng.sample(WINDOW, 6))

    def answers(call: Member, args: Row) -> list[Row]:
        if call.function == "f":
            return [(x,) for x in table["f", args[0]]]
        return [(1,)] if args[0] in some else []

    return answers


def ground_rows(view: View, name: str, answers) -> frozenset[Row]:
    """The rows of the window by the answers of now: the values of a row are bound, then calls are made."""
    columns = COLUMNS[name]
    parts = view.constraints(name)
    found = set()
    for row in product(range(-3, 4), repeat=len(columns)):
        said = [equals(v, x) for v, x in zip(columns, row, strict=True)]
        if any(resolve(constraint([*part.literals, *said], part.locals), answers) for part in parts):
            found.add(row)
    return frozenset(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_w_p_means_t_p_at_every_time(seed: int) -> None:
    """Theorem 4 and Corollary 1: one view of W_P has the instances of T_P by the answers of each time."""
    rng = Random(3000 + seed)
    for number in range(EACH // 20):
        program = with_calls(_bounded(random_program(rng)), rng)
        lasting = materialise(program, w_p)
        for _ in range(2):
            answers = random_answers(rng)
            now = materialise(program, t_p(answers))
            assert now.entries.items() <= lasting.entries.items(), "the same entries, some of them not there"
            for name in ("b", "q"):
                assert ground_rows(lasting, name, answers) == ground_rows(now, name, answers), (seed, number, name)


def _bounded(program: Program) -> Program:
    """Every clause within a small window, so that arguments of calls have few values."""
    return Program(
        COLUMNS,
        tuple(
            replace(c, constraint=constraint([*c.constraint.literals, *(p for v in _all(c) for p in _small(v))]))
            for c in program.clauses
        ),
    )


def _all(clause: Clause) -> list[Variable]:
    return sorted({v for atom in (clause.head, *clause.body) for v in atom.args if isinstance(v, Variable)})


def _small(variable: Variable) -> list[Literal | bool]:
    return [linear({variable: 1}, ">=", -3), linear({variable: 1}, "<=", 3)]
