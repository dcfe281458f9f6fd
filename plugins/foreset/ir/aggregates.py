"""How a set is boiled down to one row: accumulators, their classes, and what users may call.

An aggregate that a rule names is planned as *accumulators*, which a view of groups keeps as
its columns, and a *finish*, an ordinary term over them that the rule itself computes. So
`avg` is a total, a number of values, and a division.

The class of an accumulator says what a refresh must read to bring it up to date: the old
row and the change; the members of the group once its extremum has gone; or the members of
every group that was touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, count
from typing import Any

from foreset.diagnostics import Span
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    Type,
    array,
    decimal,
)


class Upkeep(StrEnum):
    """What keeping an accumulator up to date needs."""

    INVERTIBLE = "invertible"  # the old value and the change
    EXTREMUM = "extremum"  # the members of the group, only when the extremum goes
    ANEW = "anew"  # the members of each touched group


class Kind(StrEnum):
    """What an accumulator holds. Members with a NULL among the inputs count for the first and the sets only."""

    MEMBERS = "members"  # how many members there are
    FILLED = "filled"  # how many have no NULL among the inputs
    TOTAL = "total"  # the exact sum; NULL of none
    TRUES = "trues"  # how many are true; NULL of none
    FALSES = "falses"
    SET = "set"  # the members themselves, sorted; the only input is the whole element
    LEAST = "least"  # of the first input
    GREATEST = "greatest"
    AT_LEAST = "at_least"  # the least value (first input) among those whose key (second) is least
    AT_GREATEST = "at_greatest"  # the greatest value among those whose key is greatest
    FLOAT_TOTAL = "float_total"  # compensated, in canonical order; NULL of none
    DEVIATION = "deviation"  # of a sample; NULL of fewer than two
    PERCENTILE = "percentile"  # interpolated, at the share `parameter`
    TEXT = "text"  # in canonical order, joined by `parameter`; NULL of none
    LIST = "list"  # every value, sorted, also those that occur twice and NULL
    FOLD = "fold"  # user-defined


_UPKEEP = {
    **dict.fromkeys((Kind.MEMBERS, Kind.FILLED, Kind.TOTAL, Kind.TRUES, Kind.FALSES, Kind.SET), Upkeep.INVERTIBLE),
    **dict.fromkeys((Kind.LEAST, Kind.GREATEST, Kind.AT_LEAST, Kind.AT_GREATEST), Upkeep.EXTREMUM),
}
SUMS = (Kind.TOTAL, Kind.TRUES, Kind.FALSES)  # NULL where FILLED of the same inputs is zero
STATE = "A"  # the accumulator in the expressions of a fold; the other one in `merge` is B
OTHER = "B"
ELEMENT = "X"  # the value of a member in them; X1, X2 ... where there are several
THE_SET = "S"  # the set in the expression of a composed aggregate


@dataclass(frozen=True, slots=True)
class InPython:
    """A part of a fold that the deployment gives as a function of A and the values; it is told by name and version."""

    name: str
    version: str
    function: Callable[..., Any] = field(compare=False, repr=False)


Part = Term | InPython


@dataclass(frozen=True, slots=True)
class Fold:
    """What a user defines element by element: A is what has been gathered, `takes` names the values of a member."""

    name: str
    takes: tuple[tuple[str, Type], ...]
    state: Type
    zero: Part
    add: Part
    remove: Part | None = None
    merge: Part | None = None

    @property
    def types(self) -> dict[str, Type]:
        """The variables that its expressions may use."""
        return {STATE: self.state, OTHER: self.state, **dict(self.takes)}


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One column of a view of groups; `inputs` are positions in the element."""

    kind: Kind
    inputs: tuple[int, ...]
    type: Type
    parameter: Value = None
    fold: Fold | None = None

    @property
    def upkeep(self) -> Upkeep:
        """Its class."""
        if self.fold is not None and self.fold.remove is not None:
            return Upkeep.INVERTIBLE
        return _UPKEEP.get(self.kind, Upkeep.ANEW)

    @property
    def label(self) -> str:
        """What people read of it: `total_1`, or `members`. It is no identity: it says nothing of the parameter."""
        places = "_".join(str(i + 1) for i in self.inputs)
        kind = f"{self.kind.value}_{self.fold.name}" if self.fold else self.kind.value
        return f"{kind}_{places}" if places else kind


def column_labels(accumulators: Sequence[Accumulator]) -> tuple[str, ...]:
    """A name for each accumulator, no two alike: those with one label are numbered."""
    found: list[str] = []
    for each in accumulators:
        numbered = (f"{each.label}_{n}" for n in count(2))
        found.append(next(name for name in chain((each.label,), numbered) if name not in found))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What a view of groups holds: the group in the first `groups` columns, then its accumulators.

    The first accumulator counts members: a group without any has no row. `members` has the
    rows that are grouped, with the same leading columns and then the element; it is a view
    where they are `stored`, and is derived on the way where no step reads it twice.
    """

    groups: int
    accumulators: tuple[Accumulator, ...]
    members: str
    element: tuple[Type, ...]
    stored: bool

    @property
    def upkeep(self) -> Upkeep:
        """The most demanding class among its accumulators."""
        found = {accumulator.upkeep for accumulator in self.accumulators}
        return next(each for each in (Upkeep.ANEW, Upkeep.EXTREMUM, Upkeep.INVERTIBLE) if each in found)

    @property
    def own(self) -> tuple[str, ...]:
        """The aggregates of the spec among them that remove or merge by expressions of their own."""
        folds = [one.fold for one in self.accumulators if one.fold is not None]
        return tuple(fold.name for fold in folds if fold.remove or fold.merge)

    def place(self, kind: Kind, inputs: tuple[int, ...]) -> int:
        """The position of an accumulator among them."""
        return next(i for i, one in enumerate(self.accumulators) if one.kind is kind and one.inputs == inputs)


# ---------------------------------------------------------------- what rules may call
@dataclass(frozen=True, slots=True)
class Need:
    """An accumulator over the chosen components: `inputs` are places among them, not yet in the element."""

    kind: Kind
    type: Type
    inputs: tuple[int, ...] = (0,)
    parameter: Value = None
    fold: Fold | None = None


Finish = Callable[[tuple[Var, ...]], Term]


@dataclass(frozen=True, slots=True)
class Plan:
    """The accumulators that an aggregate needs, and the term over them that is its value."""

    needs: tuple[Need, ...]
    finish: Finish = lambda held: held[0]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant that an aggregate takes beside the set."""

    name: str
    kinds: tuple[str, ...]  # of the constant, as its type is called
    default: Value = None
    low: float | None = None
    high: float | None = None


Planner = Callable[[tuple[Type, ...], Value], Plan | None]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: over how many components of an element, and how it is planned for their types."""

    name: str
    components: int  # 0: the element as a whole
    plan: Planner  # None: it does not take these types
    doc: str
    takes: str
    upkeep: str
    parameter: Parameter | None = None


def _call(function: str, *args: Term) -> Call:
    return Call(function, args)


def _whole(value: int) -> Const:
    return Const(value, INT)


def _count(_kinds: tuple[Type, ...], _: Value) -> Plan | None:
    return Plan((Need(Kind.MEMBERS, BIGINT, ()),))


def _total(kind: Type) -> Need | None:
    if kind.is_integral:
        return Need(Kind.TOTAL, decimal(MAX_PRECISION, 0))
    if kind.name == "decimal":
        return Need(Kind.TOTAL, decimal(MAX_PRECISION, kind.scale))
    return Need(Kind.FLOAT_TOTAL, DOUBLE) if kind.is_fractional else None


_FILLED = Need(Kind.FILLED, BIGINT)


def _sum(kinds: tuple[Type, ...], _: Value) -> Plan | None:
    (kind,) = kinds
    total = _total(kind)
    if total is None:
        return None
    if kind.is_integral:
        return Plan((total, _FILLED), lambda held: _call("bigint", held[0]))
    if kind.name == "decimal":
        digits = min(kind.precision + 10, MAX_PRECISION)
        return Plan((total, _FILLED), lambda held: _call("decimal", held[0], _whole(digits), _whole(kind.scale)))
    return Plan((total,))


def _avg(kinds: tuple[Type, ...], _: Value) -> Plan | None:
    (kind,) = kinds
    total = _total(kind)
    if total is None:
        return None
    if kind.is_integral:
        return Plan((total, _FILLED), lambda held: _call("/", _call("double", held[0]), held[1]))
    return Plan((total, _FILLED), lambda held: _call("/", held[0], held[1]))


def _extremum(kind: Kind) -> Planner:
    return lambda kinds, _: None if kinds[0].element else Plan((Need(kind, kinds[0]),))


def _beside(extremum: Kind, beside: Kind) -> Planner:
    def plan(kinds: tuple[Type, ...], _: Value) -> Plan | None:
        value, key = kinds
        if value.element or key.element:
            return None
        return Plan((Need(extremum, key, (1, 0)), Need(beside, value, (0, 1))), lambda held: held[1])

    return plan


def _deviation(kinds: tuple[Type, ...], _: Value) -> Plan | None:
    return Plan((Need(Kind.DEVIATION, DOUBLE),)) if kinds[0].is_numeric else None


def _truths(kind: Kind) -> Planner:
    def plan(kinds: tuple[Type, ...], _: Value) -> Plan | None:
        if kinds[0] != BOOLEAN:
            return None
        if kind is Kind.TRUES:
            return Plan((Need(kind, BIGINT), _FILLED), lambda held: _call("boolean", _call("sign", held[0])))
        none = lambda held: _call("boolean", _call("-", _whole(1), _call("sign", held[0])))  # noqa: E731
        return Plan((Need(kind, BIGINT), _FILLED), none)

    return plan


def _text(kinds: tuple[Type, ...], separator: Value) -> Plan | None:
    return Plan((Need(Kind.TEXT, STRING, parameter=separator),)) if kinds[0] == STRING else None


def _percentile(kinds: tuple[Type, ...], share: Value) -> Plan | None:
    return Plan((Need(Kind.PERCENTILE, DOUBLE, parameter=share),)) if kinds[0].is_numeric else None


def _median(kinds: tuple[Type, ...], _: Value) -> Plan | None:
    return _percentile(kinds, 0.5)


def _collect(kinds: tuple[Type, ...], _: Value) -> Plan | None:
    """`kinds` has one type: of the whole element (a set), or of the one component that was asked for (a list)."""
    return Plan((Need(Kind.SET, array(kinds[0])),))


_SELF, _GOES, _ANEW = "invertible", "extremum", "anew"
_EXACT = "invertible; for doubles anew"
BUILTINS: Mapping[str, Aggregate] = {
    one.name: one
    for one in (
        Aggregate("count", 0, _count, "how many elements", "any", _SELF),
        Aggregate("sum", 1, _sum, "their sum: a bigint for integers; for decimals ten digits more", "numbers", _EXACT),
        Aggregate("avg", 1, _avg, "their mean: a double; for decimals a decimal", "numbers", _EXACT),
        Aggregate("min", 1, _extremum(Kind.LEAST), "the least value", "anything but arrays", _GOES),
        Aggregate("max", 1, _extremum(Kind.GREATEST), "the greatest value", "anything but arrays", _GOES),
        Aggregate("stddev", 1, _deviation, "the standard deviation of a sample; NULL for fewer than two", "numbers",
                  _ANEW),
        Aggregate("bool_and", 1, _truths(Kind.FALSES), "true if all are true", "booleans", _SELF),
        Aggregate("bool_or", 1, _truths(Kind.TRUES), "true if at least one is true", "booleans", _SELF),
        Aggregate("arg_min", 2, _beside(Kind.LEAST, Kind.AT_LEAST),
                  "from pairs (value, key): the value with the least key; if there are several, the least",
                  "anything but arrays", _GOES),
        Aggregate("arg_max", 2, _beside(Kind.GREATEST, Kind.AT_GREATEST),
                  "from pairs (value, key): the value with the greatest key; if there are several, the greatest",
                  "anything but arrays", _GOES),
        Aggregate("string_agg", 1, _text, "the texts, sorted and joined", "text", _ANEW,
                  Parameter("separator", ("string",), ",")),
        Aggregate("collect", 1, _collect, "the set itself, as a sorted array; for one component a list", "any",
                  "invertible; for a component anew"),
        Aggregate("median", 1, _median, "the middle value, interpolated: a double", "numbers", _ANEW),
        Aggregate("percentile", 1, _percentile, "the value at a share from 0 to 1, interpolated: a double", "numbers",
                  _ANEW, Parameter("share", ("int", "decimal", "double"), None, 0.0, 1.0)),
    )
}  # fmt: skip


# ---------------------------------------------------------------- what users define
@dataclass(frozen=True, slots=True)
class Definition:
    """An aggregate of a spec: `composed` over others, or a `fold` with a `finish`."""

    name: str
    composed: Term | None = None  # calls of other aggregates on the variable S
    fold: Fold | None = None
    finish: Term | None = None  # over A; None: A itself
    span: Span | None = field(default=None, compare=False, repr=False)
