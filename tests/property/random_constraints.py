"""Random constraints over small domains, and their meaning by trying every value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count, product
from random import Random

from foreset.constraints.form import Constraint, Linear, Literal, Member, Not, Text, constraint, linear, text
from foreset.constraints.sorts import NUMBER, TEXT, TRUTH, Sort, Variable, from_ticks
from foreset.ir.terms import Row

LOW, HIGH = -2, 2
WORDS = ("", "a", "a\0", "b", "ba")
A, B = Variable("A", NUMBER), Variable("B", NUMBER)
P = Variable("P", Sort("number", 1))
T, U = Variable("T", TEXT), Variable("U", TEXT)
V = Variable("V", TRUTH)
Env = Mapping[Variable, int | str]


def values_of(variable: Variable) -> Iterable[int | str]:
    """All values that constraints of `Maker` leave to a variable; numbers in ticks."""
    if variable.sort == TEXT:
        return WORDS
    return (0, 1) if variable.sort == TRUTH else range(LOW, HIGH + 1)


def domain(variable: Variable) -> list[Literal | bool]:
    """The literals that leave exactly `values_of`."""
    if variable.sort == TEXT:
        others = constraint([text(variable, "!=", word) for word in WORDS])
        return [Not(others)]
    if variable.sort == TRUTH:
        return []
    return [linear({variable: 1}, ">=", LOW), linear({variable: 1}, "<=", HIGH)]


def holds(part: Constraint, env: Env) -> bool:
    """Whether `part` is true, by trying every value of its locals."""
    hidden = sorted(part.locals)
    return any(
        all(_true(literal, {**env, **dict(zip(hidden, chosen, strict=True))}) for literal in part.literals)
        for chosen in product(*(values_of(v) for v in hidden))
    )


def _true(literal: Literal, env: Env) -> bool:
    match literal:
        case Linear(terms=terms, op=op, bound=bound):
            total = sum(c * int(env[v]) for v, c in terms)
            return total <= bound if op == "<=" else (total == bound) == (op == "=")
        case Text(left=left, op=op, right=right):
            a, b = str(env[left]), str(env[right]) if isinstance(right, Variable) else right
            return {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
        case Not(body=body):
            return not holds(body, env)
        case Member():
            raise AssertionError(literal)


def solutions(part: Constraint, columns: Iterable[Variable]) -> frozenset[tuple[int | str, ...]]:
    """Every choice of values for `columns` that satisfies `part`."""
    order = list(columns)
    chosen: Iterator[tuple[int | str, ...]] = product(*(values_of(v) for v in order))
    return frozenset(c for c in chosen if holds(part, dict(zip(order, c, strict=True))))


class Maker:
    """Constraints in which every variable has a small domain."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.numbers = count(1)

    def closed(self, columns: Iterable[Variable]) -> Constraint:
        """A constraint over `columns` that leaves each of them its small domain, and no more."""
        order = list(columns)
        free = self.part(order, depth=2)
        return constraint([*free.literals, *(p for v in order for p in domain(v))], free.locals)

    def part(self, known: list[Variable], depth: int) -> Constraint:
        """Up to four literals, over `known` and locals of its own."""
        hidden = []
        while self.rng.random() < 0.3 and len(hidden) < 2:
            sort = TEXT if any(v.sort == TEXT for v in known) and self.rng.random() < 0.5 else NUMBER
            hidden.append(Variable(f"L{next(self.numbers)}", sort))
        literals: list[Literal | bool] = [p for v in hidden for p in domain(v)]
        literals += [self.literal([*known, *hidden], depth) for _ in range(self.rng.randint(1, 4))]
        return constraint(literals, hidden)

    def literal(self, known: list[Variable], depth: int) -> Literal | bool:
        """A comparison or a `not`."""
        if depth and self.rng.random() < 0.3:
            return Not(self.part(known, depth - 1))
        variable = self.rng.choice(known)
        alike = [v for v in known if v.sort.kind == variable.sort.kind]
        if variable.sort == TEXT:
            other = self.rng.choice((*alike, *WORDS))
            return text(variable, self.rng.choice(("=", "=", "!=", "<", "<=", ">", ">=")), other)
        if variable.sort == TRUTH:
            return linear({variable: 1}, self.rng.choice(("=", "!=")), self.rng.randint(0, 1))
        chosen = self.rng.sample(alike, min(len(alike), self.rng.choice((1, 1, 2, 2, 3))))
        terms = {v: self.rng.choice((1, 1, -1, -1, 2, -2, 3)) for v in chosen}
        return linear(terms, self.rng.choice(("=", "!=", "<", "<=", ">", ">=")), self.rng.randint(-4, 4))


def in_values(rows: Iterable[tuple[int | str, ...]], columns: Iterable[Variable]) -> frozenset[Row]:
    """Rows of ticks as rows of values."""
    order = list(columns)
    return frozenset(
        tuple(x if isinstance(x, str) else from_ticks(x, v.sort) for x, v in zip(row, order, strict=True))
        for row in rows
    )
