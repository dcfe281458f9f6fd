"""Smaller constraints that say the same: no solver, nothing guessed.

Equations are solved for a variable and put into the rest (locals vanish by it), what concerns one variable
becomes its intervals, what is known outside of a `not` leaves it, and a `not` of one literal is its opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from foreset.constraints.boxes import empty
from foreset.constraints.eliminate import eliminate
from foreset.constraints.form import (
    FALSE,
    Constraint,
    Linear,
    Literal,
    Not,
    Text,
    apart,
    box,
    constraint,
    linear,
    negated,
    renamed,
    variables,
)  # fmt: skip
from foreset.constraints.intervals import literals_for, only_variable, values
from foreset.constraints.sorts import Variable
from foreset.constraints.substitute import Replacement, solved_for, substitute


def simplify(part: Constraint) -> Constraint:
    """The same set of solutions, said with less. Doing it twice changes nothing more, but for names of locals."""
    if part.is_box:
        return part if part.is_simplest_box else box(part.box)
    return _simplified(part)


@lru_cache(maxsize=50_000)
def _simplified(part: Constraint) -> Constraint:
    while True:
        smaller = _once(part)
        if smaller == part:
            return _tidy(part)
        part = smaller


def project(part: Constraint, onto: Iterable[Variable]) -> Constraint:
    """There are values for all variables but those of `onto`."""
    kept = set(onto)
    whole = Constraint(part.literals)
    if whole.is_box:
        ranges = whole.box
        if any(map(empty, ranges.values())):
            return FALSE
        return box({variable: said for variable, said in ranges.items() if variable in kept})
    return simplify(Constraint(part.literals, part.locals | (part.free - kept)))


@dataclass(slots=True)
class _Work:
    """Equations solved so far, and what is left."""

    locals: frozenset[Variable]
    rest: list[Literal]
    solved: dict[Variable, Literal] = field(default_factory=dict)
    false: bool = False

    def put(self, literals: Iterable[Literal | bool]) -> list[Literal]:
        """The literals among `literals`; a false one ends it all."""
        found = [literal for literal in literals if literal is not True]
        self.false = self.false or False in found
        return [literal for literal in found if not isinstance(literal, bool)]


def _once(part: Constraint) -> Constraint:
    if FALSE.literals[0] in part.literals:
        return FALSE
    work = _Work(part.locals, list(part.literals))
    _open_nots(work)
    _pinch(work)
    _solve(work)
    if not work.false:
        _intervals(work)
    if work.false:
        return FALSE
    whole = constraint([*work.solved.values(), *work.rest], work.locals)
    return eliminate(whole)


# ---------------------------------------------------------------- not
def _open_nots(work: _Work) -> None:
    """Simplify each body on its own, under what stands outside; turn single literals round."""
    outside = [literal for literal in work.rest if not isinstance(literal, Not)]
    made = [_opened(literal, outside) if isinstance(literal, Not) else literal for literal in work.rest]
    spliced: list[Literal | bool] = []
    for item in made:
        if isinstance(item, Not) and not item.body.locals and len(item.body.literals) == 1:
            inner = item.body.literals[0]
            if isinstance(inner, Not):  # not not: its literals stand here, its locals are ours
                taken = {v.name for lit in work.rest for v in variables(lit)} | {v.name for v in work.locals}
                body = apart(inner.body, taken)
                spliced.extend(body.literals)
                work.locals |= body.locals
                continue
            spliced.append(negated(inner))
            continue
        spliced.append(item)
    work.rest = list(dict.fromkeys(work.put(spliced)))


def _opened(literal: Not, outside: Sequence[Literal]) -> Not | bool:
    body = simplify(literal.body)
    if body == FALSE:
        return True
    kept = [part for part in body.literals if body.locals & set(variables(part)) or not _known(part, outside)]
    if not kept:
        return False
    body = constraint(kept, body.locals)
    return True if _contradicts(body, outside) else Not(body)


def _known(literal: Literal, outside: Sequence[Literal]) -> bool:
    if literal in outside:
        return True
    variable = only_variable(literal)
    if variable is None:
        return False
    here = values(variable, (o for o in outside if only_variable(o) == variable))
    return bool((here - values(variable, (literal,))).empty)


def _contradicts(body: Constraint, outside: Sequence[Literal]) -> bool:
    """A free variable of `body` has no value that fits what is said outside."""
    for variable in body.free:
        inner = [p for p in body.literals if only_variable(p) == variable]
        outer = [p for p in outside if only_variable(p) == variable]
        if inner and outer and values(variable, (*inner, *outer)).empty:
            return True
    return False


# ---------------------------------------------------------------- equations
def _pinch(work: _Work) -> None:
    """`X <= Y, Y <= X` is `X = Y`."""
    for literal in [p for p in work.rest if isinstance(p, Linear) and p.op == "<="]:
        turned = Linear(tuple((v, -c) for v, c in literal.terms), "<=", -literal.bound)
        if literal in work.rest and turned in work.rest:
            others = [p for p in work.rest if p not in (literal, turned)]
            work.rest = others + work.put([linear(dict(literal.terms), "=", literal.bound)])


def _solve(work: _Work) -> None:
    while not work.false:
        step = next(_solvable(work), None)
        if step is None:
            return
        equation, variable, replacement = step
        others = [literal for literal in work.rest if literal != equation]
        work.rest = list(dict.fromkeys(work.put(new for o in others for new in substitute(o, variable, replacement))))
        for known, literal in list(work.solved.items()):
            for new in work.put(substitute(literal, variable, replacement)):
                work.solved[known] = new
        mentioned = any(variable in variables(o) for o in work.rest)
        if variable not in work.locals or mentioned:  # calls keep a variable that is no single value
            work.solved[variable] = equation


def _solvable(work: _Work) -> Iterator[tuple[Literal, Variable, Replacement]]:
    """Equations with a variable to solve for: locals first, then the last name."""
    found = []
    for literal in work.rest:
        if not (isinstance(literal, Linear | Text) and literal.op == "="):
            continue
        for variable in set(variables(literal)) - work.solved.keys():
            replacement = solved_for(literal, variable)
            if replacement is not None:
                found.append((variable in work.locals, variable, literal, replacement))
    for _, variable, literal, replacement in sorted(found, key=lambda f: (f[0], f[1]), reverse=True):
        yield literal, variable, replacement


# ---------------------------------------------------------------- one variable
def _intervals(work: _Work) -> None:
    about: dict[Variable, list[Literal]] = {}
    for literal in work.rest:
        variable = only_variable(literal)
        if variable is not None:
            about.setdefault(variable, []).append(literal)
    for variable, literals in about.items():
        if len(literals) == 1 and isinstance(literals[0], Linear) and variable.sort.kind != "boolean":
            continue
        said = work.put(literals_for(variable, values(variable, literals)))
        work.rest = [literal for literal in work.rest if literal not in literals] + said


# ---------------------------------------------------------------- names
def _tidy(part: Constraint) -> Constraint:
    """Locals are called `_1`, `_2` ... in the order in which they stand."""
    if not part.locals:
        return part
    order = dict.fromkeys(v for literal in part.literals for v in variables(literal) if v in part.locals)
    taken = {v.name for v in part.free}
    numbers = (name for n in range(1, len(order) + len(taken) + 1) if (name := f"_{n}") not in taken)
    names = {v: Variable(next(numbers), v.sort) for v in order}
    steps = {v: Variable(f"__{w.name}", w.sort) for v, w in names.items()}  # two steps: no name meets another
    return renamed(renamed(part, steps), {steps[v]: w for v, w in names.items()})
