"""What `remove` and `merge` of an aggregate promise, as laws that a state and a few members keep or break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from foreset.ir.aggregates import Fold
from foreset.ir.terms import Row, Value
from foreset.ir.text import print_value
from foreset.values.aggregates import Step, step_of
from foreset.values.errors import Failure

_SHOWN = 4  # members of a long way to a state


@dataclass(frozen=True, slots=True)
class Machine:
    """A fold, ready to run."""

    fold: Fold
    zero: Value
    add: Step
    remove: Step | None
    merge: Step | None

    def gathered(self, members: Iterable[Row]) -> Value:
        """A of these members."""
        state = self.zero
        for member in members:
            state = self.add(state, *member)
        return state


def machine_of(fold: Fold) -> Machine:
    """The parts of a fold as functions; raises `Failure` where there is no `zero`."""
    zero = step_of(fold, "zero")
    add, remove, merge = (step_of(fold, part) for part in ("add", "remove", "merge"))
    assert zero is not None
    assert add is not None
    return Machine(fold, zero(), add, remove, merge)


Law = Callable[[Machine, Value, Sequence[Row]], str]  # empty when the law holds of a state and members


def undone(machine: Machine, state: Value, members: Sequence[Row]) -> str:
    """`remove` gives what there was before `add`."""
    if machine.remove is None:
        return ""
    member = members[0]
    after = machine.remove(machine.add(state, *member), *member)
    if same(after, state):
        return ""
    shown = f"A = {print_value(state)}, {shown_member(machine.fold, member)}"
    return f"`remove` does not undo `add`: with {shown} it gives {print_value(after)}"


def in_any_order(machine: Machine, state: Value, members: Sequence[Row]) -> str:
    """What can be removed in any order must have been added in any order."""
    if machine.remove is None:
        return ""
    a, b = members[:2]
    one = machine.add(machine.add(state, *a), *b)
    other = machine.add(machine.add(state, *b), *a)
    if same(one, other):
        return ""
    came = f"{shown_member(machine.fold, a)} and {shown_member(machine.fold, b)}"
    found = f"{came} give {print_value(one)} or {print_value(other)}"
    return f"`add` depends on the order, so nothing can be removed: {found}"


def merged(machine: Machine, left: Value, right: Value, whole: Value) -> str:
    """What was gathered apart is, together, what gathering both gives."""
    assert machine.merge is not None
    found = machine.merge(left, right)
    if same(found, whole):
        return ""
    return (
        f"`merge` of {print_value(left)} and {print_value(right)} gives {print_value(found)}, not {print_value(whole)}"
    )


def merged_from(machine: Machine, state: Value, members: Sequence[Row]) -> str:
    """The same of a state and members that are gathered by themselves."""
    if machine.merge is None:
        return ""
    whole = state
    for member in members:
        whole = machine.add(whole, *member)
    return merged(machine, state, machine.gathered(members), whole)


def same(left: Value, right: Value) -> bool:
    """Equal, as values in canonical form are."""
    return left is right or left == right


def is_overflow(failure: Failure) -> bool:
    """True where a sample is too large for the type; the law may hold."""
    return str(failure).startswith("overflow")


def shown_member(fold: Fold, member: Row) -> str:
    """`X1 = 3, X2 = 4`."""
    return ", ".join(f"{name} = {print_value(value)}" for (name, _), value in zip(fold.takes, member, strict=True))


def after(fold: Fold, way: Sequence[Row]) -> str:
    """How a state came about, for a message."""
    if not way:
        return ""
    told = "; ".join(shown_member(fold, member) for member in way[-_SHOWN:])
    if len(set(way)) == 1 and len(way) > 1:
        told = f"{len(way):,} times {shown_member(fold, way[0])}"
    elif len(way) > _SHOWN:
        told = f"{len(way):,} elements, the last {told}"
    return f" (A after {told})"
