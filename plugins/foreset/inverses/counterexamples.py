"""Counterexamples by a solver: members after which `remove` or `merge` of an aggregate does not do what it promises.

States are unrolled, so that each is reached by adds. What holds of those may still break later: then every state is
asked about that keeps the bounds which hold from `zero` on and which `add` keeps. All questions have a fixed effort, so
that the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foreset.inverses.fold_laws import Law, Machine, after, in_any_order, merged_from, undone
from foreset.inverses.fold_solver import Encoder, Expr, Typed, Unsupported, ticks_of, value_of
from foreset.ir.aggregates import STATE, Fold, InPython
from foreset.ir.terms import Call, Const, Row, Term, Value
from foreset.values.errors import Failure

_DEEPEST = 5  # adds before the law is asked about
_TOO_HARD = 2  # questions without an answer: the deeper ones are no easier
_SIZES = (10, 2_000, None)  # of members: small ones are easier to read


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solver found: the law that breaks, and whether adds lead to such a state; or that none breaks."""

    text: str = ""
    reached: bool = False
    proved: bool = False


UNKNOWN = Answer()


def counterexample(machine: Machine, effort: int) -> Answer:
    """The first law that breaks, in `effort` units of the solver for each question."""
    fold = machine.fold
    if any(isinstance(part, InPython) for part in (fold.zero, fold.add, fold.remove, fold.merge)):
        return UNKNOWN
    try:
        search = _Search(machine, effort)
        answers = (search.reached(law, depth) for law in _laws(fold) for depth in range(_DEEPEST))
        if broken := next(filter(None, answers), None):
            return broken
        everywhere = [search.anywhere(law) for law in _laws(fold)]
    except Unsupported:
        return UNKNOWN
    return next((one for one in everywhere if one.text), Answer(proved=all(one.proved for one in everywhere)))


@dataclass(frozen=True, slots=True)
class _Question:
    """A law as a formula on a state and so many members."""

    law: Law
    part: str
    members: int


def _laws(fold: Fold) -> Iterator[_Question]:
    if fold.remove is not None:
        yield _Question(undone, "remove", 1)
        yield _Question(in_any_order, "add", 2)
    if fold.merge is not None:
        yield _Question(merged_from, "merge", 1)
        yield _Question(merged_from, "merge", 2)


class _Search:
    """One fold in one z3 context."""

    def __init__(self, machine: Machine, effort: int) -> None:
        import z3

        self.z3 = z3
        self.machine, self.fold, self.effort = machine, machine.fold, effort
        self.context = z3.Context()
        self.encoder = Encoder(self.context, machine.fold.types)
        self._bounds: list[tuple[str, int]] | None = None
        self._decided = False  # whether the last question was
        self._hard = 0  # questions that were not

    # ------------------------------------------------------------ questions
    def reached(self, question: _Question, depth: int) -> Answer | None:
        """A break after `depth` adds from `zero`."""
        members = self._members(depth + question.members)
        state = self._zero()
        for member in members[:depth]:
            state = self._add(state, member)
        broken = self._broken(question, state, members[depth:])
        for size in _SIZES:
            near = [] if size is None else self._small(members, size)
            rows = self._solved([broken, *near], members)
            if rows is not None:
                return self._confirmed(question, rows[:depth], rows[depth:])
        return None

    def anywhere(self, question: _Question) -> Answer:
        """A break in a state of which nobody knows whether adds lead there."""
        if self._bounds is None:
            self._bounds = self._kept_bounds()
        self._fresh()
        state = self.encoder.variable(STATE, self.fold.state)
        inside = self._inside(state.ticks, self._bounds)
        members = self._members(question.members)
        broken = self._broken(question, state, members)
        for size in _SIZES:
            near = [] if size is None else self._small(members, size)
            model = self._model([broken, *inside, *near])
            if model is not None:
                start = self._value(model, state)
                rows = tuple(tuple(self._value(model, one) for one in member) for member in members)
                try:
                    text = question.law(self.machine, start, rows)
                except Failure:
                    return UNKNOWN
                return Answer(text)
        return Answer(proved=self._decided)

    def _confirmed(self, question: _Question, way: Sequence[Row], sample: Sequence[Row]) -> Answer | None:
        """What the expressions themselves say of it."""
        try:
            text = question.law(self.machine, self.machine.gathered(way), sample)
        except Failure:
            return None
        return Answer(text + after(self.fold, way), reached=True) if text else None

    # ------------------------------------------------------------ formulas
    def _fresh(self) -> None:
        self.encoder.ranges.clear()

    def _members(self, count: int) -> list[list[Typed]]:
        self._fresh()
        return [[self.encoder.variable(name, kind) for name, kind in self.fold.takes] for _ in range(count)]

    def _zero(self) -> Typed:
        return self._part(self.fold.zero, {})

    def _add(self, state: Typed, member: Sequence[Typed]) -> Typed:
        return self._part(self.fold.add, self._given(state, member))

    def _given(self, state: Typed, member: Sequence[Typed]) -> dict[str, Typed]:
        return {STATE: state, **{name: one for (name, _), one in zip(self.fold.takes, member, strict=True)}}

    def _part(self, part: object, given: dict[str, Typed]) -> Typed:
        assert isinstance(part, Term)
        return self.encoder.as_type(self.encoder.term(part, given), self.fold.state)

    def _broken(self, question: _Question, state: Typed, members: list[list[Typed]]) -> Expr:
        """The formula that says that the law does not hold."""
        if question.part == "remove":
            (member,) = members
            back = self._part(self.fold.remove, self._given(self._add(state, member), member))
            return back.ticks != state.ticks
        if question.part == "add":
            a, b = members
            return self._add(self._add(state, a), b).ticks != self._add(self._add(state, b), a).ticks
        whole, other = state, self._zero()
        for member in members:
            whole, other = self._add(whole, member), self._add(other, member)
        return self._part(self.fold.merge, {STATE: state, "B": other}).ticks != whole.ticks

    def _small(self, members: list[list[Typed]], size: int) -> list[Expr]:
        return [
            bound
            for member in members
            for one in member
            for bound in (one.ticks <= size * 10**one.type.scale, one.ticks >= -size * 10**one.type.scale)
        ]

    # ------------------------------------------------------------ bounds that every reached state keeps
    def _kept_bounds(self) -> list[tuple[str, int]]:
        """Bounds that hold at `zero` and after each `add`; those tried are constants of the expressions."""
        zero = self.z3.simplify(self._zero().ticks).as_long()
        marks = {zero, *(m + d for m in _constants(self.fold) for d in (-1, 0, 1))}
        bounds = [(">=", m) for m in sorted(marks) if zero >= m] + [("<=", m) for m in sorted(marks) if zero <= m]
        while bounds:
            members = self._members(1)
            state = self.encoder.variable(STATE, self.fold.state)
            after = self._add(state, members[0]).ticks
            inside = self._inside(state.ticks, bounds)
            model = self._model([*inside, self.z3.Or(*(self.z3.Not(one) for one in self._inside(after, bounds)))])
            if model is None:
                return bounds if self._decided else []
            reached = model.eval(after, model_completion=True).as_long()
            bounds = [(op, m) for op, m in bounds if (reached >= m if op == ">=" else reached <= m)]
        return []

    def _inside(self, ticks: Expr, bounds: Sequence[tuple[str, int]]) -> list[Expr]:
        return [ticks >= m if op == ">=" else ticks <= m for op, m in bounds]

    # ------------------------------------------------------------ answers
    def _solved(self, formulas: list[Expr], members: list[list[Typed]]) -> tuple[Row, ...] | None:
        model = self._model(formulas)
        if model is None:
            return None
        return tuple(tuple(self._value(model, one) for one in member) for member in members)

    def _model(self, formulas: list[Expr]) -> Expr | None:
        solver = self.z3.Solver(ctx=self.context)
        solver.set("rlimit", self.effort)
        solver.add(*formulas, *self.encoder.ranges)
        answer = solver.check()
        self._decided = answer != self.z3.unknown
        self._hard += not self._decided
        if self._hard > _TOO_HARD:
            raise Unsupported("what the solver cannot decide")
        return solver.model() if answer == self.z3.sat else None

    def _value(self, model: Expr, one: Typed) -> Value:
        return value_of(model.eval(one.ticks, model_completion=True).as_long(), one.type)


def _constants(fold: Fold) -> set[int]:
    """Ticks of the state's type that the expressions name."""
    found: set[int] = set()
    todo: list[object] = [fold.add, fold.remove, fold.merge]
    while todo:
        match todo.pop():
            case Const(value=value, type=kind) if kind.is_numeric and not kind.is_fractional:
                found.add(ticks_of(value, kind) * 10 ** max(0, fold.state.scale - kind.scale))
            case Call(args=args):
                todo.extend(args)
    return found
