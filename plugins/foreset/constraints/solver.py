"""Constraints as z3 sees them: integers of ticks, positions of texts, calls as relations of which nothing is known.

Texts that are only told apart are numbered; where their order matters, `texts.py` gives them positions. So all is
arithmetic of integers, which can be decided. An answer is yes or no; `unknown` raises.
"""

from __future__ import annotations

import os
import threading
from typing import Any, TypeAlias, assert_never

from foreset.constraints.errors import BadConstraint, Undecided
from foreset.constraints.form import Constraint, Linear, Literal, Member, Not, Operand, Text
from foreset.constraints.sorts import TEXT, Sort, Variable, sort_of_value, ticks
from foreset.constraints.text import print_constraint
from foreset.constraints.texts import Before, Item, Positions, cases, positions, text_items
from foreset.ir.terms import Value

Expr: TypeAlias = Any  # z3 has no types of its own
_LOCAL = threading.local()  # a z3 context belongs to one thread


def time_limit() -> float:
    """Seconds that one question may take."""
    return float(os.environ.get("FORESET_SOLVER_SECONDS", "10"))


def solvable(part: Constraint, seconds: float | None = None) -> bool:
    """True when some values of all variables, and some answers of all domains, satisfy `part`."""
    import z3

    encoder = _Encoder(part)
    solver = z3.Solver(ctx=encoder.context)
    solver.set("timeout", max(1, int((time_limit() if seconds is None else seconds) * 1000)))
    solver.add(encoder.body(part, {}))
    solver.add(*encoder.ranges)
    answer = solver.check()
    if answer == z3.unknown:
        raise Undecided(print_constraint(part), solver.reason_unknown())
    return bool(answer == z3.sat)


def least(part: Constraint, variable: Variable, *, greatest: bool = False) -> int | None:
    """The least (or greatest) ticks that `variable` takes in `part`; None when there is no end."""
    import z3

    encoder = _Encoder(part)
    solver = z3.Optimize(ctx=encoder.context)
    solver.set("timeout", max(1, int(time_limit() * 1000)))
    names: dict[Variable, Expr] = {}
    solver.add(encoder.body(part, names))
    solver.add(*encoder.ranges)
    goal = encoder.variable(variable, names)
    handle = solver.maximize(goal) if greatest else solver.minimize(goal)
    if solver.check() != z3.sat:
        raise Undecided(print_constraint(part), solver.reason_unknown() or "no solution")
    bound = solver.upper(handle) if greatest else solver.lower(handle)
    return int(bound.as_long()) if z3.is_int_value(bound) else None


class _Encoder:
    """One constraint in one context; `ranges` holds what sorts say of their variables."""

    def __init__(self, part: Constraint) -> None:
        import z3

        if not hasattr(_LOCAL, "context"):
            _LOCAL.context = z3.Context()
        self.z3 = z3
        self.context = _LOCAL.context
        self.positions = positions(part) if _orders_text(part) else None
        self.numbers: dict[str, int] = {}
        self.ranges: list[Expr] = []

    def body(self, part: Constraint, names: dict[Variable, Expr]) -> Expr:
        """The conjunction; variables new to `names` are put there."""
        return self.all_of([self.literal(literal, names) for literal in part.literals])

    def all_of(self, found: list[Expr]) -> Expr:
        return self.z3.And(*found, self.context) if found else self.z3.BoolVal(val=True, ctx=self.context)

    def literal(self, literal: Literal, names: dict[Variable, Expr]) -> Expr:
        match literal:
            case Linear(terms=(), bound=bound):
                return self.z3.BoolVal(bound >= 0, ctx=self.context)
            case Linear(terms=terms, op=op, bound=bound):
                total = sum(c * self.variable(v, names) for v, c in terms)
                return total <= bound if op == "<=" else total == bound if op == "=" else total != bound
            case Text(left=left, op=op, right=right) if self.positions is None:
                a, b = self.variable(left, names), self.text(right, names)
                return a == b if op == "=" else a != b
            case Text():
                ways = [self.all_of([self.item(item, names) for item in case]) for case in text_items(literal)]
                return self.z3.Or(*ways, self.context)
            case Member():
                return self._member(literal, names)
            case Not(body=body):
                return self._not(body, names)
            case _:
                assert_never(literal)

    def item(self, item: Item, names: dict[Variable, Expr]) -> Expr:
        """A literal, or a comparison of texts with steps."""
        if not isinstance(item, Before):
            return self.literal(item, names)
        return self.text(item.left, names) + item.k < self.text(item.right, names) + item.j

    def _not(self, body: Constraint, names: dict[Variable, Expr]) -> Expr:
        for v in sorted(body.free):
            self.variable(v, names)
        inner = {v: e for v, e in names.items() if v not in body.locals}
        outer_ranges, self.ranges = self.ranges, []
        if self.positions is None or not any(v.sort == TEXT for v in body.locals):
            said = self.body(body, inner)
        else:
            ways = [self.all_of([self.item(item, inner) for item in case]) for case in cases(body)]
            said = self.z3.Or(*ways, self.context)
        ranges, self.ranges = self.ranges, outer_ranges
        bound = [inner[v] for v in sorted(body.locals) if v in inner]
        said = self.z3.And(said, *ranges) if ranges else said
        return self.z3.Not(self.z3.Exists(bound, said) if bound else said)

    def variable(self, v: Variable, names: dict[Variable, Expr]) -> Expr:
        """The expression for `v`, made at its first occurrence."""
        if v not in names:
            names[v] = self.z3.FreshConst(self.z3.IntSort(self.context), v.name)
            if v.sort.kind == "boolean":
                self.ranges += [names[v] >= 0, names[v] <= 1]
            if v.sort == TEXT and self.positions is not None:
                self.ranges.append(self._somewhere(names[v], self.positions))
        return names[v]

    def _somewhere(self, place: Expr, known: Positions) -> Expr:
        ways = [place >= low if high is None else self.z3.And(place >= low, place <= high) for low, high in known.zones]
        return self.z3.Or(*ways, self.context)

    def text(self, word: Variable | str, names: dict[Variable, Expr]) -> Expr:
        """A text variable or a text."""
        if isinstance(word, Variable):
            return self.variable(word, names)
        number = self.positions.of[word] if self.positions else self.numbers.setdefault(word, len(self.numbers))
        return self.z3.IntVal(number, self.context)

    def _member(self, call: Member, names: dict[Variable, Expr]) -> Expr:
        operands = [self._operand(o, names) for o in (*call.outputs, *call.args)]
        places = "" if call.places is None else ",".join(call.places)
        name = f"{call.domain}:{call.function}/{places}/{len(call.outputs)}"
        truth = self.z3.BoolSort(self.context)
        function = self.z3.Function(name, *(o.sort() for o in operands), truth)
        return function(*operands)

    def _operand(self, operand: Operand, names: dict[Variable, Expr]) -> Expr:
        if isinstance(operand, str):
            return self.text(operand, names)
        if isinstance(operand, Variable):
            found, sort = self.variable(operand, names), operand.sort
        else:
            found, sort = self._constant(operand)
        return self.z3.ToReal(found) / 10**sort.scale if sort.kind == "number" else found

    def _constant(self, value: Value) -> tuple[Expr, Sort]:
        sort = sort_of_value(value)
        number = ticks(value, sort) if sort else None
        if sort is None or number is None:
            raise BadConstraint(f"{value!r} cannot be part of a constraint")
        return self.z3.IntVal(int(number), self.context), sort


def _orders_text(part: Constraint) -> bool:
    return any(
        _orders_text(literal.body) if isinstance(literal, Not) else _orders(literal) for literal in part.literals
    )


def _orders(literal: Literal) -> bool:
    return isinstance(literal, Text) and literal.op not in ("=", "!=")
