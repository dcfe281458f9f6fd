"""Entries of constrained views are joined by what they fix, and compared with those alone that they can meet."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from foreset.constraints.boxes import meet
from foreset.constraints.form import Constraint, constraint, linear, text
from foreset.constraints.simplify import project, simplify
from foreset.constraints.sorts import NUMBER, TEXT, Sort, Variable
from foreset.errors import EvaluationError
from foreset.mediated import derive, dred, fixpoint
from foreset.mediated.fixpoint import Limits, materialise
from foreset.mediated.pools import Pool, meetings
from foreset.mediated.program import Atom, Clause, Program, Region, without

K, X, Y = (Variable(name, NUMBER) for name in "kxy")
T = Variable("t", TEXT)
MONEY = Variable("m", Sort("number", 2))


def said(*literals: object) -> Constraint:
    return constraint(literals)  # type: ignore[arg-type]


def keyed(key: int, low: int, high: int) -> Constraint:
    return said(linear({K: 1}, "=", key), linear({X: 1}, ">=", low), linear({X: 1}, "<=", high))


def two_views(size: int) -> Program:
    """`both(K, X) <- ok(K, X), no(K, X)` over `size` entries of each."""
    kx = (K, X)
    facts = [Clause(0, Atom(name, kx), keyed(n, n, n + 5)) for name in ("ok", "no") for n in range(size)]
    rule = Clause(0, Atom("both", kx), Constraint(), (Atom("ok", kx), Atom("no", kx)))
    clauses = (Clause(i, c.head, c.constraint, c.body) for i, c in enumerate((*facts, rule), 1))
    return Program({"ok": kx, "no": kx, "both": kx}, tuple(clauses))


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[Clause]:
    """Every derivation that is tried, by its clause."""
    made: list[Clause] = []

    def counted(program, clause, children):
        made.append(clause)
        return derive.derived(program, clause, children)

    monkeypatch.setattr(fixpoint, "derived", counted)
    monkeypatch.setattr(dred, "derived", counted)
    return made


@pytest.mark.parametrize("way", [materialise, dred.fixpoint])
def test_a_join_meets_only_entries_that_fix_the_same(derivations: list[Clause], way) -> None:
    found = way(two_views(300))
    both = found["both"] if isinstance(found, dict) else found.constraints("both")
    assert set(both) == {keyed(n, n, n + 5) for n in range(300)}
    assert len(derivations) == 600 + 300


def test_entries_that_fix_nothing_are_met_by_their_ranges(derivations: list[Clause]) -> None:
    low = [Clause(n, Atom("a", (X,)), said(linear({X: 1}, ">=", n), linear({X: 1}, "<=", n))) for n in range(1, 41)]
    span = Clause(41, Atom("b", (X,)), said(linear({X: 1}, ">=", 10), linear({X: 1}, "<=", 12)))
    rule = Clause(42, Atom("c", (X,)), Constraint(), (Atom("a", (X,)), Atom("b", (X,))))
    view = materialise(Program({"a": (X,), "b": (X,), "c": (X,)}, (*low, span, rule)))
    assert len(view.constraints("c")) == 3
    assert len(derivations) == 40 + 1 + 3


def test_a_new_entry_is_compared_with_those_that_it_can_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def covered(part, by):
        listed = list(by)
        compared.append(len(listed))
        return False if not listed else any(other == part for other in listed)

    monkeypatch.setattr(dred, "covered", covered)
    dred.fixpoint(two_views(200))
    assert sum(compared) == 0, "no two of these entries have a row in common"


def test_an_edit_asks_the_solver_of_what_it_touches_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Constraint] = []
    monkeypatch.setattr(derive, "project", lambda part, onto: (asked.append(part), project(part, onto))[1])
    less = without(two_views(200), Region("ok", said(linear({X: 1}, "=", 7))))
    view = materialise(less)
    assert len(asked) == 6 + 4, "six entries of `ok` have 7; in four of them it leaves a hole, which `both` has too"
    assert len(view.constraints("both")) == 200


@pytest.mark.parametrize("seed", range(20))
def test_quick_ways_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins and derivations by ranges give the entries that all pairs and the general way give, literal by literal."""
    program = random_program(Random(seed))
    quick = materialise(program)
    monkeypatch.setattr(derive, "_by_ranges", lambda *_: None)
    monkeypatch.setattr(fixpoint, "meetings", lambda _, pools: product(*(range(len(pool)) for pool in pools)))
    assert materialise(program).entries == quick.entries


def random_program(rng: Random) -> Program:
    """Rows and ranges of numbers, money and texts, joined by variables, constants and repeated variables."""
    columns = {"p": (K, X, T), "q": (K, MONEY), "v": (K, X, T), "w": (X, K, T)}

    def fact(number: int, name: str) -> Clause:
        literals = [_random_range(rng, column) for column in columns[name]]
        return Clause(number, Atom(name, columns[name]), said(*(one for some in literals for one in some)))

    a, b, c = (Variable(name, NUMBER) for name in "ABC")
    u, m = Variable("U", TEXT), Variable("M", MONEY.sort)
    bodies = [
        (Atom("v", (a, b, u)), (Atom("p", (a, b, u)), Atom("q", (a, m)))),
        (Atom("v", (a, a, "x")), (Atom("p", (a, a, u)), Atom("q", (b, m)))),
        (Atom("v", (a, 3, u)), (Atom("p", (a, 2, u)), Atom("q", (a, b)))),
        (Atom("w", (a, c, u)), (Atom("p", (a, b, u)), Atom("p", (b, c, u)))),
        (Atom("w", (b, a, "y")), (Atom("v", (a, b, "x")),)),
    ]
    facts = [fact(n, rng.choice("ppq")) for n in range(1, 16)]
    region = said(*_random_range(rng, X))
    rules = [
        Clause(20 + n, head, said(*_random_range(rng, a)), body, (region,) if rng.random() < 0.3 else ())
        for n, (head, body) in enumerate(bodies)
    ]
    return Program(columns, (*facts, *rules))


def _random_range(rng: Random, column: Variable) -> list[object]:
    if column.sort == TEXT:
        return rng.choice(([], [text(column, "=", rng.choice("xy"))], [text(column, ">=", "x")]))
    low = rng.randint(0, 3) * 10**column.sort.scale
    below, above = linear({column: 1}, ">=", low), linear({column: 1}, "<=", low + rng.randint(0, 2))
    return rng.choice(([linear({column: 1}, "=", low)], [linear({column: 1}, "=", low)], [below, above], [below], []))


# ---------------------------------------------------------------- ranges
@pytest.mark.parametrize("seed", range(5))
def test_a_box_is_simplified_as_everything_else(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    parts = [said(*(one for v in (K, X, MONEY, T) for one in _random_range(rng, v) + _random_range(rng, v)))
             for _ in range(200)]  # fmt: skip
    quick = [(simplify(part), project(part, (K, T))) for part in parts]
    assert sum(part.is_box for part in parts) > 50
    monkeypatch.setattr(Constraint, "is_box", property(lambda _: False))
    assert [(simplify(Constraint(p.literals)), project(Constraint(p.literals), (K, T))) for p in parts] == quick


def test_ranges_meet() -> None:
    assert meet((1, 3), (3, None))
    assert meet((None, None), (5, 5))
    assert not meet((1, 2), (3, None))
    assert not meet(("b", None), (None, "a"))


def test_values_of_other_sorts_are_no_keys() -> None:
    """A whole number and money may be equal though their ticks are not: such a join goes the general way."""
    pool = Pool((MONEY,)).extend([said(linear({MONEY: 1}, "=", 300)), said(linear({MONEY: 1}, "=", 3))])
    rule = Clause(1, Atom("v", (K,)), said(linear({K: 1}, "=", 3)), (Atom("q", (K,)),))
    assert sorted(meetings(rule, [pool])) == [(0,), (1,)]
    program = Program({"v": (K,), "q": (MONEY,)}, (rule,))
    assert [derive.derived(program, rule, [part]) for part in pool.parts] == [
        said(linear({K: 1}, "=", 3)),
        constraint([False]),
    ]


# ---------------------------------------------------------------- limits
def endless_program() -> Program:
    step = Clause(2, Atom("o", (Y,)), said(linear({Y: 1, X: -1}, "=", 3)), (Atom("o", (X,)),))
    start = Clause(1, Atom("o", (X,)), said(linear({X: 1}, ">=", 1), linear({X: 1}, "<=", 2)))
    return Program({"o": (X,)}, (start, step))


def test_recursion_obeys_max_rounds() -> None:
    heard: list[int] = []
    with pytest.raises(EvaluationError, match="the recursion of o has not ended after 200 rounds") as fault:
        dred.fixpoint(endless_program(), Limits(rounds=200, told=heard.append))
    assert "raise `max_rounds:`" in fault.value.hint
    assert heard == list(range(1, 202, 10)), "whoever listens hears how many entries there are"


def test_recursion_that_ends_in_time_is_not_stopped() -> None:
    start, step = endless_program().clauses
    bounded = Clause(2, step.head, said(*step.constraint.literals, linear({Y: 1}, "<=", 29)), step.body)
    program = Program({"o": (X,)}, (start, bounded))
    assert len(dred.fixpoint(program, Limits(rounds=10))["o"]) == 10
    with pytest.raises(EvaluationError, match="after 8 rounds"):
        dred.fixpoint(program, Limits(rounds=8))


def test_too_many_entries_are_told_at_once() -> None:
    heard: list[int] = []
    with pytest.raises(EvaluationError, match="more than 1,500 derivations"):
        materialise(two_views(1000), limits=Limits(entries=1500, told=heard.append))
    assert heard == [1000]
