"""The normal form of constraints, as data.

A constraint is a conjunction of literals. Variables in `locals` are existential: "there is a
value such that". Inside `Not`, the locals of its body are existential too, so that the whole says
"there are none such that". Literals are sorted, and no two are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import gcd
from typing import Literal as OneOf
from typing import assert_never

from foreset.constraints.boxes import Range, empty, narrowed
from foreset.constraints.sorts import Variable
from foreset.ir.terms import Value

TextOp = OneOf["=", "!=", "<", "<=", ">", ">="]
_OPPOSITE: Mapping[str, TextOp] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRROR: Mapping[str, TextOp] = {"=": "=", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of coefficient times ticks, compared with `bound`; made by `linear` only."""

    terms: tuple[tuple[Variable, int], ...]
    op: OneOf["<=", "=", "!="]
    bound: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text variable compared with a text or with another variable; made by `text` only."""

    left: Variable
    op: TextOp
    right: Variable | str


Operand = Variable | Value


@dataclass(frozen=True, slots=True)
class Member:
    """`in(outputs, domain:function(args))`; without outputs it asks whether there is any answer."""

    outputs: tuple[Operand, ...]
    domain: str
    function: str
    args: tuple[Operand, ...]
    places: tuple[str, ...] | None = None  # names of result columns, where only some are taken


@dataclass(frozen=True, slots=True)
class Not:
    """No values of the locals of `body` make it true."""

    body: Constraint


Literal = Linear | Text | Member | Not


@dataclass(frozen=True)
class Constraint:
    """All of `literals`, for some values of `locals`."""

    literals: tuple[Literal, ...] = ()
    locals: frozenset[Variable] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # constraints are looked up often, and may be deep
        return hash((self.literals, self.locals))

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """Every variable that stands outside of `Not` or is free inside."""
        return frozenset(v for literal in self.literals for v in variables(literal))

    @cached_property
    def free(self) -> frozenset[Variable]:
        """The variables that are not existential."""
        return self.variables - self.locals

    @cached_property
    def box(self) -> Mapping[Variable, Range]:
        """The ranges of those free variables of which comparisons with a constant speak."""
        found: dict[Variable, Range] = {}
        for literal in self.literals:
            said = range_of(literal)
            if said is not None and said[0] not in self.locals:
                variable, leaves = said
                found[variable] = narrowed(found[variable], leaves) if variable in found else leaves
        return found

    @cached_property
    def is_box(self) -> bool:
        """The ranges say all of it: comparisons of whole numbers and days with a constant, and fixed texts."""
        return not self.locals and all(map(_ranged, self.literals))

    @cached_property
    def is_simplest_box(self) -> bool:
        """Nothing can be said with less."""
        return self.is_box and box(self.box).literals == self.literals

    @cached_property
    def calls(self) -> tuple[Member, ...]:
        """Every call of a domain, also inside `Not`."""
        found: list[Member] = []
        for literal in self.literals:
            match literal:
                case Member():
                    found.append(literal)
                case Not(body=body):
                    found.extend(body.calls)
                case _:
                    continue
        return tuple(found)


_NEVER = Linear((), "<=", -1)
TRUE = Constraint()
FALSE = Constraint((_NEVER,))


def range_of(literal: Literal) -> tuple[Variable, Range] | None:
    """What a comparison of one variable with a constant leaves to it, perhaps with more; None for other literals."""
    match literal:
        case Linear(terms=((variable, 1),), op="=", bound=bound):
            return variable, (bound, bound)
        case Linear(terms=((variable, coefficient),), op="<=", bound=bound):  # one term is divided by its coefficient
            return variable, (None, bound) if coefficient == 1 else (-bound, None)
        case Text(left=variable, op=op, right=str() as word) if op != "!=":
            return variable, (None if op in ("<", "<=") else word, None if op in (">", ">=") else word)
        case _:
            return None


def _ranged(literal: Literal) -> bool:
    """Its range says all of it, and two ranges of its variable make one. Truth values have ends of their own."""
    match literal:
        case Linear(terms=((variable, _),), op="=" | "<="):
            return variable.sort.kind != "boolean"
        case Text(op="=", right=str()):
            return True
        case _:
            return False


def box(ranges: Mapping[Variable, Range]) -> Constraint:
    """The constraint that says these ranges and no more, in its simplest form; FALSE where one is empty."""
    if any(map(empty, ranges.values())):
        return FALSE
    literals: list[Literal] = []
    for variable, (low, high) in sorted(ranges.items()):
        if isinstance(low, str):
            literals.append(Text(variable, "=", low))
        elif low is not None and low == high:
            literals.append(Linear(((variable, 1),), "=", low))
        else:
            literals += [] if low is None else [Linear(((variable, -1),), "<=", -low)]
            literals += [] if high is None else [Linear(((variable, 1),), "<=", high)]
    made = Constraint(tuple(literals))
    vars(made).update(box=ranges, is_box=True, is_simplest_box=True)  # as it would find out by itself
    return made


def variables(literal: Literal) -> Iterator[Variable]:
    """Every occurrence of a variable that is free in `literal`."""
    match literal:
        case Linear(terms=terms):
            yield from (v for v, _ in terms)
        case Text(left=left, right=right):
            yield left
            if isinstance(right, Variable):
                yield right
        case Member(outputs=outputs, args=args):
            yield from (v for v in (*outputs, *args) if isinstance(v, Variable))
        case Not(body=body):
            yield from body.free
        case _:
            assert_never(literal)


# ---------------------------------------------------------------- literals in normal form
def linear(terms: Mapping[Variable, int], op: str, bound: int) -> Linear | bool:
    """The literal for `sum terms op bound`, or what it says where it says nothing about variables."""
    found = {v: c for v, c in terms.items() if c}
    if op in (">", ">="):
        found, bound = {v: -c for v, c in found.items()}, -bound
        op = "<" if op == ">" else "<="
    if op == "<":
        op, bound = "<=", bound - 1
    if not found:
        return {"<=": bound >= 0, "=": bound == 0, "!=": bound != 0}[op]
    ordered = sorted(found.items())
    divisor = gcd(*found.values())
    if op == "<=":
        bound = bound // divisor  # tightened to the next integer
    elif bound % divisor:
        return op == "!="
    else:
        divisor = divisor if ordered[0][1] > 0 else -divisor
        bound = bound // divisor
    shape: OneOf["<=", "=", "!="] = "<=" if op == "<=" else "=" if op == "=" else "!="
    return Linear(tuple((v, c // divisor) for v, c in ordered), shape, bound)


def text(left: Variable | str, op: str, right: Variable | str) -> Text | bool:
    """The literal for a comparison of texts, in the order of their code points."""
    if isinstance(left, str) and isinstance(right, str):
        return {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right,
                ">": left > right, ">=": left >= right}[op]  # fmt: skip
    if left == right:
        return op in ("=", "<=", ">=")
    turn = isinstance(left, str) or (
        isinstance(right, Variable) and (right < left if op in ("=", "!=") else op in (">", ">="))
    )
    if turn:
        left, op, right = right, _MIRROR[op], left
    assert isinstance(left, Variable)
    if (op, right) == (">=", ""):
        return True
    return False if (op, right) == ("<", "") else Text(left, _MIRROR[_MIRROR[op]], right)


def negated(literal: Literal) -> Literal | bool:
    """The literal that holds where `literal` does not, if one says it; else `Not`."""
    match literal:
        case Linear(terms=terms, op="<=", bound=bound):
            return linear(dict(terms), ">", bound)
        case Linear(terms=terms, op=op, bound=bound):
            return linear(dict(terms), "!=" if op == "=" else "=", bound)
        case Text(left=left, op=op, right=right):
            return text(left, _OPPOSITE[op], right)
        case Not(body=Constraint(literals=(only,), locals=none)) if not none:
            return only
        case Member() | Not():
            return Not(Constraint((literal,)))
        case _:
            assert_never(literal)


# ---------------------------------------------------------------- conjunctions
def constraint(literals: Iterable[Literal | bool], local: Iterable[Variable] = ()) -> Constraint:
    """The conjunction, sorted; locals that occur nowhere are gone."""
    found: dict[Literal, None] = {}
    for literal in literals:
        if literal is False or literal == _NEVER:
            return FALSE
        if literal is not True:
            found[literal] = None
    made = tuple(sorted(found, key=_place))
    used = {v for literal in made for v in variables(literal)}
    return Constraint(made, frozenset(local) & used)


_OPS = ("=", ">", ">=", "<", "<=", "!=")
Place = tuple[int, list[str], int, tuple[object, ...]]


def _place(literal: Literal) -> Place:
    """Comparisons by their variables, equations and lower bounds first; then calls; then `not`."""
    match literal:
        case Linear(terms=terms, op=op, bound=bound):
            rank = _OPS.index(">=" if op == "<=" and terms and terms[0][1] < 0 else op)
            return 0, [v.name for v, _ in terms], rank, (*(c for _, c in terms), bound)
        case Text(left=left, op=op, right=Variable(name=name)):
            return 0, [left.name, name], _OPS.index(op), ()
        case Text(left=left, op=op, right=right):
            return 0, [left.name], _OPS.index(op), (right,)
        case Member():
            return 1, sorted(v.name for v in variables(literal)), 0, (repr(literal),)
        case Not(body=body):
            inner = tuple(_place(part) for part in body.literals)
            return 2, sorted(v.name for v in body.free), len(body.locals), inner
        case _:
            assert_never(literal)


def conjunction(*parts: Constraint) -> Constraint:
    """All of `parts`; locals that would meet variables of another part get names of their own."""
    literals: list[Literal] = []
    local: set[Variable] = set()
    taken: set[str] = {v.name for part in parts for v in part.free}
    for part in parts:
        fresh = apart(part, taken)
        literals += fresh.literals
        local |= fresh.locals
        taken |= {v.name for v in fresh.locals}
    return constraint(literals, local)


def apart(part: Constraint, taken: Iterable[str]) -> Constraint:
    """`part` with its locals renamed where `taken` has their names."""
    names = set(taken)
    clash = sorted(v for v in part.locals if v.name in names)
    if not clash:
        return part
    names |= {v.name for v in part.variables}
    numbers = (f"_{n}" for n in count(1) if f"_{n}" not in names)
    new = {v: Variable(next(numbers), v.sort) for v in clash}
    return Constraint(renamed(part, new).literals, frozenset(new.get(v, v) for v in part.locals))


def renamed(part: Constraint, names: Mapping[Variable, Variable]) -> Constraint:
    """`part` with variables for variables of the same sort. Names that `Not` uses inside step aside."""
    literals = [_renamed(literal, names) for literal in part.literals]
    return constraint(literals, (names.get(v, v) for v in part.locals))


def _renamed(literal: Literal, names: Mapping[Variable, Variable]) -> Literal | bool:
    match literal:
        case Linear(terms=terms, op=op, bound=bound):
            total: dict[Variable, int] = {}
            for v, c in terms:
                total[names.get(v, v)] = total.get(names.get(v, v), 0) + c
            return linear(total, op, bound)
        case Text(left=left, op=op, right=right):
            return text(names.get(left, left), op, names.get(right, right) if isinstance(right, Variable) else right)
        case Member():
            return map_operands(literal, lambda v: names.get(v, v))
        case Not(body=body):
            outer = {v: w for v, w in names.items() if v in body.free}
            inner = apart(body, {w.name for w in outer.values()})
            return Not(renamed(inner, outer)) if outer else literal
        case _:
            assert_never(literal)


def map_operands(call: Member, change: Callable[[Variable], Operand]) -> Member:
    """`call` with `change` applied to its variables."""
    outputs = tuple(change(v) if isinstance(v, Variable) else v for v in call.outputs)
    args = tuple(change(v) if isinstance(v, Variable) else v for v in call.args)
    return Member(outputs, call.domain, call.function, args, call.places)
