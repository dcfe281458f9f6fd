"""Calls of domains replaced by what they answer.

A constraint with calls becomes a union of constraints without: one for each answer. Calls inside `not`
are taken one answer at a time too: no answer may make the body true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from foreset.constraints.decide import satisfiable
from foreset.constraints.errors import Unanswered, Unbound
from foreset.constraints.form import FALSE, Constraint, Linear, Literal, Member, Not, Text, constraint, linear, text
from foreset.constraints.intervals import only_variable, values
from foreset.constraints.simplify import simplify
from foreset.constraints.sorts import Variable, from_ticks, sort_of_value, ticks
from foreset.constraints.text import print_call
from foreset.ir.terms import Row, Value

# What a domain answers: rows of its result columns, or of the named places only.
Answers = Callable[[Member, Row], Collection[Row]]
Resolver: TypeAlias = Callable[[Constraint, Answers], list[Constraint]]
MAX_VALUES = 1000


def resolve(part: Constraint, answers: Answers) -> list[Constraint]:
    """`part` by the answers of now, as a union; Unbound where an argument has no value.

    What depends on a call without an answer is left out: nobody knows whether it holds.
    """
    try:
        return _resolved(part, answers, resolve)
    except Unanswered:
        return []


def _known(part: Constraint, answers: Answers) -> list[Constraint]:
    """The same inside `not`, where leaving something out would make more hold: Unanswered instead."""
    return _resolved(part, answers, _known)


def _resolved(part: Constraint, answers: Answers, go_on: Resolver) -> list[Constraint]:
    part = simplify(part)
    if part == FALSE:
        return []
    if not part.calls:
        return [part]
    call = next((lit for lit in part.literals if isinstance(lit, Member) and _bound(lit)), None)
    if call is not None:
        rest = [literal for literal in part.literals if literal != call]
        branches = (_answered(call, row) for row in _rows(call, answers))
        return [
            found
            for branch in branches
            for found in go_on(constraint([*rest, *branch], part.locals), answers)
        ]  # fmt: skip
    denied = next((lit for lit in part.literals if isinstance(lit, Not) and _ready(lit)), None)
    return _by_values(part, answers, go_on) if denied is None else _opened(part, denied, answers, go_on)


def _opened(part: Constraint, denied: Not, answers: Answers, go_on: Resolver) -> list[Constraint]:
    """No answer may make the body of `denied` true."""
    rest = [literal for literal in part.literals if literal != denied]
    inner = [Not(body) for body in _known(denied.body, answers)]
    return go_on(constraint([*rest, *inner], part.locals), answers)


def _bound(call: Member) -> bool:
    return not any(isinstance(arg, Variable) for arg in call.args)


def _ready(denied: Not) -> bool:
    """Its calls need no value from outside: arguments that are variables are bound by other calls inside."""
    if not denied.body.calls:
        return False
    known: set[Variable] = set()
    left = list(denied.body.literals)
    while ready := [p for p in left if _runs(p, known)]:
        for literal in ready:
            if isinstance(literal, Member):
                known |= {o for o in literal.outputs if isinstance(o, Variable)}
            left.remove(literal)
    return not any(isinstance(p, Member) or (isinstance(p, Not) and p.body.calls) for p in left)


def _runs(literal: Literal, known: set[Variable]) -> bool:
    match literal:
        case Member(args=args):
            return all(arg in known for arg in args if isinstance(arg, Variable))
        case Not(body=body) if body.calls:
            wanted = {arg for call in body.calls for arg in call.args if isinstance(arg, Variable)}
            return wanted <= known | body.locals
        case _:
            return False


def _asked(denied: Not) -> set[Variable]:
    return {arg for call in denied.body.calls for arg in call.args if isinstance(arg, Variable)}


def _rows(call: Member, answers: Answers) -> list[Row]:
    return sorted(set(answers(call, tuple(arg for arg in call.args if not isinstance(arg, Variable)))), key=repr)


def _answered(call: Member, row: Row) -> list[Literal | bool]:
    """The outputs have the values of `row`."""
    if not call.outputs:
        return []
    return [_equals(output, value) for output, value in zip(call.outputs, row, strict=True)]


def _equals(output: Variable | Value, value: Value) -> Literal | bool:
    """NULL is equal to nothing, as everywhere."""
    if value is None:
        return False
    if not isinstance(output, Variable):
        return output == value
    return equals(output, value)


def equals(variable: Variable, value: Value) -> Literal | bool:
    """`variable = value`; false where the value is of another kind or between two ticks."""
    if isinstance(value, str):
        return variable.sort.kind == "text" and text(variable, "=", value)
    sort = sort_of_value(value)
    number = ticks(value, variable.sort) if sort else None
    if number is None or number.denominator != 1:
        return False
    return linear({variable: 1}, "=", number.numerator)


def _by_values(part: Constraint, answers: Answers, go_on: Resolver) -> list[Constraint]:
    """An argument that has few values without a call takes each of them."""
    wanted = {arg for call in part.calls for arg in call.args if isinstance(arg, Variable) and arg in part.variables}
    for variable in sorted(wanted):
        about = [p for p in part.literals if isinstance(p, Linear | Text | Not) and only_variable(p) == variable]
        found = few_values(variable, about)
        if found is not None:
            branches = (constraint([*part.literals, equals(variable, value)], part.locals) for value in found)
            return [done for branch in branches for done in go_on(branch, answers)]
    if not satisfiable(part):
        return []
    for literal in part.literals:
        if isinstance(literal, Not) and literal.body.calls and not _asked(literal) & literal.body.free:
            return _opened(part, literal, answers, go_on)  # its arguments are its own: perhaps they have few values
    call = part.calls[0]
    names = ", ".join(f"`{arg.name}`" for arg in call.args if isinstance(arg, Variable))
    raise Unbound(
        f"{print_call(call)} cannot be called: {names} has no value",
        "bind it by another literal, or by a key when reading",
    )


def few_values(variable: Variable, about: Sequence[Literal]) -> list[Value] | None:
    """All values, if they are known to be few."""
    found = values(variable, about)
    if any(not isinstance(part.lower, int) or not isinstance(part.upper, int) for part in found):
        return None
    if sum(part.upper - part.lower for part in found) > MAX_VALUES:
        return None
    return [from_ticks(n, variable.sort) for part in found for n in range(part.lower, part.upper)]
