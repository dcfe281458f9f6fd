"""Questions about constraints: can it hold, does it follow, do two say the same.

Literals that share no variable are decided apart: one variable by its intervals, the rest by the solver.
Of calls nothing is known here: a call may answer anything, so long as it always answers the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from foreset.constraints.form import FALSE, Constraint, Literal, Member, Not, conjunction, constraint, variables
from foreset.constraints.intervals import only_variable, values
from foreset.constraints.simplify import simplify


def satisfiable(part: Constraint) -> bool:
    """Some values of the variables satisfy `part`, if calls answer well."""
    part = simplify(part)
    return part != FALSE if part.is_box else _satisfiable(part)


@lru_cache(maxsize=50_000)
def _satisfiable(part: Constraint) -> bool:
    from foreset.constraints.solver import solvable

    if part == FALSE:
        return False
    for literals in components(part):
        if _alone(literals):
            continue  # simplify has seen that the intervals are not empty
        if not solvable(Constraint(literals, part.locals)):
            return False
    return True


def _alone(literals: tuple[Literal, ...]) -> bool:
    """Literals that cannot fail once `simplify` has passed them: one variable, or calls that nothing denies."""
    if all(isinstance(literal, Member) for literal in literals):
        return True
    variable = only_variable(literals[0])
    if variable is None:
        return False
    return all(only_variable(p) == variable for p in literals) and not values(variable, literals).empty


def components(part: Constraint) -> list[tuple[Literal, ...]]:
    """The literals in groups that share no variable; calls of one function stay together with their denials."""
    groups: list[tuple[set[object], list[Literal]]] = []
    denied = {(call.domain, call.function) for p in part.literals if isinstance(p, Not) for call in p.body.calls}
    for literal in part.literals:
        keys: set[object] = set(variables(literal))
        if denied:
            keys |= {(c.domain, c.function) for c in Constraint((literal,)).calls} & denied
        joined = [group for group in groups if group[0] & keys] if keys else []
        for group in joined:
            groups.remove(group)
            keys |= group[0]
        literals = [p for group in joined for p in group[1]]
        groups.append((keys, [*literals, literal]))
    return [tuple(literals) for _, literals in groups]


def covered(part: Constraint, by: Iterable[Constraint]) -> bool:
    """Every solution of `part` is one of at least one of `by`."""
    return not satisfiable(minus(part, by))


def entails(part: Constraint, other: Constraint) -> bool:
    """Every solution of `part` is one of `other`."""
    return covered(part, (other,))


def minus(part: Constraint, others: Iterable[Constraint]) -> Constraint:
    """The solutions of `part` that are none of any of `others`."""
    return conjunction(part, *(constraint([Not(other)]) for other in others))


def canonical(part: Constraint) -> Constraint:
    """`part` without literals that follow from the others, also inside `not`; for storing and showing."""
    part = simplify(part)
    if part.is_box:
        return part
    if not _satisfiable(part):
        return FALSE
    for literal in reversed(part.literals):
        rest = tuple(other for other in part.literals if other != literal)
        if not _linked(literal, rest):
            continue
        if _follows(rest, literal):
            return canonical(constraint(rest, part.locals))
        if isinstance(literal, Not):
            own = literal.body.locals  # of which nothing is known outside, even under the same name
            kept = [p for p in literal.body.literals if own & set(variables(p)) or not _told(rest, p)]
            if len(kept) < len(literal.body.literals):
                return canonical(constraint([*rest, Not(constraint(kept, literal.body.locals))], part.locals))
    return part


def _told(rest: tuple[Literal, ...], literal: Literal) -> bool:
    return _linked(literal, rest) and _follows(rest, literal)


def _linked(literal: Literal, others: Iterable[Literal]) -> bool:
    """`literal` has all its variables among those of `others`: else it cannot follow from them."""
    known = {v for other in others for v in variables(other)}
    return known >= set(variables(literal))


def _follows(rest: Iterable[Literal], literal: Literal) -> bool:
    """`literal` holds wherever `rest` does; locals are the same on both sides, so they count as free here."""
    return not satisfiable(constraint([*rest, Not(Constraint((literal,)))]))
