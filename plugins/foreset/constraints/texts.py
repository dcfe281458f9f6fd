"""The order of texts, for a solver that knows integers only.

Each text has a next one (itself and a NUL more), none that is no such successor has one before it, and "" is the
first. So a text becomes a position: constants keep their order, between two of them lies exactly what lies there, or,
where that is without end, more room than the variables at hand can use, all of it away from the greater one.

Existential texts inside `not` are eliminated before: in `low <= X < high` X may be the greatest of its lower bounds.
Comparisons are `left + k < right + j`, with k and j next ones; that is closed under denial and elimination.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from foreset.constraints.errors import Undecided
from foreset.constraints.form import Constraint, Literal, Member, Not, Operand, Text, negated, variables
from foreset.constraints.sorts import TEXT, Variable
from foreset.constraints.text import print_constraint

MAX_CASES = 256


@dataclass(frozen=True, slots=True)
class Before:
    """`left`, `k` next ones further, lies before `right`, `j` next ones further; k or j is 0."""

    left: Variable | str
    k: int
    right: Variable | str
    j: int


Item = Before | Literal
Case = tuple[Item, ...]


def before(left: Variable | str, k: int, right: Variable | str, j: int) -> Before:
    """Equal numbers of steps on both sides cancel out."""
    less = min(k, j)
    return Before(left, k - less, right, j - less)


def denied(item: Before) -> Before:
    """What holds where `item` does not."""
    return before(item.right, item.j, item.left, item.k + 1)


# ---------------------------------------------------------------- positions
@dataclass(frozen=True)
class Positions:
    """Where constants lie, and where variables may."""

    of: dict[str, int]
    zones: tuple[tuple[int, int | None], ...]  # both ends belong to it; None: no end


def positions(part: Constraint) -> Positions:
    """Room for the texts of `part`."""
    words, names = set[str](), set[Variable]()
    _collect(part, words, names)
    step = len(names) + 2  # no comparison has more next ones than there are variables
    room = (len(names) + 1) * (step + 1)
    ordered = sorted({"", *words})
    of = {"": 0}
    zones: list[tuple[int, int | None]] = []
    for word, following in zip(ordered, [*ordered[1:], None], strict=True):
        start = of[word]
        if following is None:
            zones.append((start, None))
        elif following.startswith(word) and not following[len(word) :].strip("\0"):
            of[following] = start + len(following) - len(word)
            zones.append((start, of[following] - 1))
        else:
            of[following] = start + room + step + 1
            zones.append((start, start + room))
    return Positions(of, tuple(zones))


def _collect(part: Constraint, words: set[str], names: set[Variable]) -> None:
    names |= {v for v in (*part.variables, *part.locals) if v.sort == TEXT}
    for literal in part.literals:
        match literal:
            case Text(right=str() as word):
                words.add(word)
            case Member(outputs=outputs, args=args):
                words |= {o for o in (*outputs, *args) if isinstance(o, str)}
            case Not(body=body):
                _collect(body, words, names)
            case _:
                continue


# ---------------------------------------------------------------- elimination
def cases(body: Constraint) -> list[Case]:
    """`body` as a union of conjunctions without its text locals; other locals stay."""
    hidden = {v for v in body.locals if v.sort == TEXT}
    choices = [list(_alternatives(literal, hidden)) for literal in body.literals]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MAX_CASES:
        raise Undecided(print_constraint(body), "too many cases")
    found = [tuple(item for case in chosen for item in case) for chosen in product(*choices)]
    for variable in sorted(hidden):
        found = [_without(variable, case, body) for case in found]
    return found


def text_items(literal: Text) -> list[Case]:
    """A comparison as alternatives of conjunctions of `Before`."""
    a, b = literal.left, literal.right
    below, above = before(a, 0, b, 0), before(b, 0, a, 0)
    match literal.op:
        case "<":
            return [(below,)]
        case ">":
            return [(above,)]
        case "<=":
            return [(denied(above),)]
        case ">=":
            return [(denied(below),)]
        case "=":
            return [(denied(above), denied(below))]
        case _:
            return [(below,), (above,)]


def _alternatives(literal: Literal, hidden: set[Variable]) -> Iterator[Case]:
    match literal:
        case Text():
            yield from text_items(literal)
        case Not(body=inner) if hidden & set(variables(literal)):
            if any(v.sort != TEXT for v in inner.locals):
                raise Undecided(print_constraint(inner), "texts and numbers are both existential in nested `not`")
            yield from _denied_cases(cases(inner))
        case Member() if hidden & set(variables(literal)):
            raise Undecided(
                print_constraint(Constraint((literal,))), "an existential text is ordered and passed to a call"
            )
        case _:
            yield (literal,)


def _denied_cases(inner: list[Case]) -> Iterator[Case]:
    """One item of each case fails."""
    total = 1
    for case in inner:
        total *= len(case)
    if total > MAX_CASES:
        raise Undecided("not(...) in not(...)", "too many cases")
    for chosen in product(*inner):
        made: list[Item] = []
        impossible = False
        for item in chosen:
            other = denied(item) if isinstance(item, Before) else negated(item)
            impossible = impossible or other is False
            if not isinstance(other, bool):
                made.append(other)
        if not impossible:
            yield tuple(made)


def _without(variable: Variable, case: Case, body: Constraint) -> Case:
    lower: list[tuple[Operand, int]] = [("", 0)]  # X is not before it
    upper: list[Before] = []
    rest: list[Item] = []
    for item in case:
        if not isinstance(item, Before) or variable not in (item.left, item.right):
            rest.append(item)
        elif item.left == item.right:
            if item.k >= item.j:
                rest.append(before("", 0, "", 0))  # never
        elif item.left == variable:
            upper.append(item)
        elif item.j <= 1:
            lower.append((item.left, item.k + 1 - item.j))
        else:
            raise Undecided(print_constraint(body), "texts that are next to each other, in nested `not`")
    for low, steps in lower:
        assert isinstance(low, Variable | str)
        rest += [before(low, steps + high.k, high.right, high.j) for high in upper]
    return tuple(rest)
