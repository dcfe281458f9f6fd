"""One rule's body, literal by literal: one order for every backend, and for `explain`.

Atoms are joined first. Conditions that cannot fail follow as soon as their variables have values. All else waits until
every atom is joined, and keeps the order of the normal form: there, what may fail comes last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeGuard, TypeVar

from foreset.analyse.order import can_fail
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.steps import Ref
from foreset.ir.terms import Const, Var

SOME = 10.0  # how many values a column is taken to have where nothing is known of it
UNKNOWN = 1e9  # rows of a version that nobody has counted
APART = 1e6  # how much worse an atom is that shares no variable with what is joined


class Sizes(Protocol):
    """What is known of the sizes of relations."""

    def empty_unopened(self, ref: Ref) -> bool:
        """True when a version is known to be empty without opening anything."""

    def empty(self, ref: Ref) -> bool:
        """True when a version is known to be empty."""

    def count(self, ref: Ref) -> int | None:
        """How many rows at most; None where it is not known."""

    def values(self, ref: Ref) -> Mapping[int, int]:
        """How many values some columns have at most. A key tells rows apart, however many there are."""


F_co = TypeVar("F_co", covariant=True)
Condition: TypeAlias = Comparison | Test


class Join(Protocol[F_co]):
    """The rows that a body has so far, with a value for each variable; a backend's, or a list of what is done."""

    def begin(self) -> None:
        """Start from the wanted rows of the head: whatever a variable of the head becomes must equal its value there.

        NULL equals NULL: these are the same rows, not partners.
        """

    def join(self, atom: Atom, needed: AbstractSet[str]) -> None:
        """Meet the rows of an atom; of the variables only those `needed` are asked for again. NULL meets nothing."""

    def keep(self, conditions: Sequence[Condition]) -> Sequence[Condition]:
        """Keep the rows for which these hold; returns those that are not tested here but later."""

    def settle(self, literal: Comparison | Test | Let) -> None:
        """Test a condition or compute a value; a failure names the rule, and the row where it can."""

    def exclude(self, atom: Atom) -> None:
        """Keep the rows that meet none of an atom. NULL meets nothing."""

    @property
    def empty(self) -> bool:
        """True when no row is left for sure."""

    def heads(self, *, restricted: bool) -> F_co:
        """The rows of the head, one for each way in which the body holds; `restricted`: the wanted ones alone."""


def heads_of(rule: Rule, sizes: Sizes, join: Join[F_co], within: Ref | None = None) -> F_co | None:
    """What a rule derives, of the rows in `within` alone if there is one; None where that is nothing for sure."""
    refs = [Ref(literal.relation, literal.version) for literal in rule.body if isinstance(literal, Atom)]
    if any(map(sizes.empty_unopened, refs)) or any(map(sizes.empty, refs)):
        return None
    order = order_of(rule, sizes, within)
    met = set[str]()
    waiting = [literal for literal in rule.body if not isinstance(literal, Atom)]
    if order.from_within:
        join.begin()
    for number, atom in enumerate(order.atoms):
        join.join(atom, _names(rule.head, *order.atoms[number + 1 :], *waiting))
        met |= _names(atom)
        ready = [literal for literal in waiting if _cannot_fail(literal) and _names(literal) <= met]
        late = join.keep(ready) if ready else ()
        waiting = [literal for literal in waiting if literal not in ready or literal in late]
        if join.empty:
            return None
    for literal in waiting:
        if isinstance(literal, Negation):
            join.exclude(literal.atom)
        else:
            join.settle(literal)
    return join.heads(restricted=within is not None and not order.from_within)


def listed(rule: Rule, sizes: Sizes, within: Ref | None = None) -> tuple[Literal, ...]:
    """The literals of a body in the order in which they are joined, tested and computed."""
    return heads_of(rule, sizes, _Listing([]), within) or rule.body


@dataclass(frozen=True, slots=True)
class _Listing:
    """A join that only notes what it is asked for."""

    done: list[Literal]
    empty: bool = False

    def begin(self) -> None: ...

    def join(self, atom: Atom, needed: AbstractSet[str]) -> None:  # noqa: ARG002 - all of them are listed
        self.done.append(atom)

    def keep(self, conditions: Sequence[Condition]) -> Sequence[Condition]:
        self.done.extend(conditions)
        return ()

    def settle(self, literal: Comparison | Test | Let) -> None:
        self.done.append(literal)

    def exclude(self, atom: Atom) -> None:
        self.done.append(Negation(atom))

    def heads(self, *, restricted: bool) -> tuple[Literal, ...]:  # noqa: ARG002 - it is the bodies that are listed
        return tuple(self.done)


def _cannot_fail(literal: Literal) -> TypeGuard[Condition]:
    """A condition that cannot, and that looks at no relation."""
    return isinstance(literal, Comparison | Test) and not can_fail(literal)


def _names(*literals: Literal) -> AbstractSet[str]:
    return {variable.name for literal in literals for variable in literal_variables(literal)}


@dataclass(frozen=True, slots=True)
class Places:
    """Where the arguments of an atom stand."""

    constants: tuple[tuple[int, Const], ...]
    first: dict[str, int]  # by variable
    again: tuple[tuple[int, str], ...]  # further places of variables


def places_of(atom: Atom) -> Places:
    """Of an atom in normal form."""
    constants, first, again = list[tuple[int, Const]](), dict[str, int](), list[tuple[int, str]]()
    for place, arg in enumerate(atom.args):
        match arg:
            case Const():
                constants.append((place, arg))
            case Var(name=name) if name in first:
                again.append((place, name))
            case Var(name=name):
                first[name] = place
            case _:
                raise AssertionError(f"{atom} is not in normal form")
    return Places(tuple(constants), first, tuple(again))


# ---------------------------------------------------------------- the order of atoms
@dataclass(frozen=True, slots=True)
class Order:
    """The atoms of a body as they are joined, and whether the join begins with the wanted rows of the head."""

    atoms: tuple[Atom, ...]
    from_within: bool


def order_of(rule: Rule, sizes: Sizes, within: Ref | None = None) -> Order:
    """Begin with what leads to the fewest rows, then follow shared variables.

    The atom with the fewest rows may be a poor start: from one region by its nations and their suppliers to a fifth
    of all order lines, where a few changed orders lead to a few lines.
    """
    atoms = tuple(literal for literal in rule.body if isinstance(literal, Atom))
    costs = _Costs(sizes)
    starts = [
        (first, *costs.onwards(costs.of(first, None), _names(first), [atom for atom in atoms if atom is not first]))
        for first in atoms
    ]
    first, work, rest = min(starts, key=lambda start: start[1], default=(None, math.inf, ()))
    if within is not None:
        with_wanted, following = costs.onwards(costs.rows(within), _names(rule.head), atoms)
        if with_wanted <= work:
            return Order(following, from_within=True)
    return Order(() if first is None else (first, *rest), from_within=False)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Sizes, asked for once each."""

    sizes: Sizes
    counted: dict[Ref, float] = field(default_factory=dict)
    told_apart: dict[Ref, Mapping[int, int]] = field(default_factory=dict)

    def rows(self, ref: Ref) -> float:
        """How many rows a version has at most, or many."""
        if ref not in self.counted:
            count = self.sizes.count(ref)
            self.counted[ref] = UNKNOWN if count is None else count
        return self.counted[ref]

    def of(self, atom: Atom, met: AbstractSet[str] | None) -> float:
        """Rows to expect for each row that has a value for the variables `met`; None: of the atom by itself.

        A cross join comes last; a constant alone ties an atom to nothing.
        """
        ref = Ref(atom.relation, atom.version)
        constants = sum(isinstance(arg, Const) for arg in atom.args)
        shared = [place for place, arg in enumerate(atom.args) if isinstance(arg, Var) and arg.name in (met or ())]
        if shared and ref not in self.told_apart:
            self.told_apart[ref] = self.sizes.values(ref)
        values = math.prod(self.told_apart[ref].get(place, SOME) for place in shared)
        connected = met is None or shared or constants == len(atom.args)
        return self.rows(ref) / (SOME**constants * values) * (1 if connected else APART)

    def onwards(self, size: float, met: AbstractSet[str], atoms: Sequence[Atom]) -> tuple[float, tuple[Atom, ...]]:
        """All rows that a join passes through which begins with `size` rows, and its atoms in their order."""
        total, left, order = size, list(atoms), list[Atom]()
        while left:
            cost, place = min((self.of(atom, met), place) for place, atom in enumerate(left))
            atom = left.pop(place)
            size *= cost
            total += size
            met = met | _names(atom)
            order.append(atom)
        return total, tuple(order)
