"""Aggregates tried on states that many adds reach: of one value again and again, of small ones, of any size."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from foreset.inverses.fold_laws import Machine, after, in_any_order, is_overflow, merged, same, shown_member, undone
from foreset.inverses.fold_samples import members, random_member
from foreset.ir.terms import Row, Value
from foreset.ir.text import print_value
from foreset.values.errors import Failure

SECONDS = 1.0  # of CPU: only functions in Python that take long come to it
_LARGEST = 2_000  # characters or items of a state that grows
_ODD = 20  # members in a row that cannot be added

Style = Callable[[random.Random], Row]


def broken_in_long_runs(machine: Machine, steps: int) -> str:
    """The first law that breaks within so many adds; empty when all hold. The same text each time it is asked."""
    few = tuple(members(machine.fold))
    styles = list(_styles(machine, few))
    generator = random.Random(machine.fold.name)  # noqa: S311 - samples, and the same each time
    end = time.thread_time() + SECONDS
    for style in styles:
        if text := _run(machine, style, steps // len(styles), generator, end):
            return text
    return ""


def _styles(machine: Machine, few: tuple[Row, ...]) -> Iterator[Style]:
    yield lambda generator: generator.choice(few)
    yield lambda generator: random_member(machine.fold, generator)
    yield lambda generator: random_member(machine.fold, generator) if generator.random() < 0.1 else few[1 % len(few)]
    for member in few[1:4]:
        yield lambda _, again=member: again  # type: ignore[misc]


def _run(machine: Machine, style: Style, steps: int, generator: random.Random, end: float) -> str:
    apart = _Apart(machine.zero, machine.zero)
    whole = machine.zero
    way: list[Row] = []
    odd = 0
    for _ in range(steps):
        if time.thread_time() > end:
            break
        member = style(generator)
        try:
            now = machine.add(whole, *member)
        except Failure:  # a refresh would stop here
            odd += 1
            if odd == _ODD:
                break
            continue
        odd = 0
        if text := _not_undone(machine, whole, member) or (
            _out_of_order(machine, whole, (member, way[0])) if len(way) % 7 == 1 else ""
        ):
            return text + after(machine.fold, way)
        way.append(member)
        whole = now
        if text := apart.next(machine, member, whole):
            return text
        if isinstance(whole, str | bytes | tuple) and len(whole) > _LARGEST:
            break
    return _unwound(machine, way[-8:])


@dataclass(slots=True)
class _Apart:
    """The members so far, gathered in two parts."""

    left: Value
    right: Value
    many: int = 0

    def next(self, machine: Machine, member: Row, whole: Value) -> str:
        """What `merge` makes of the parts with one member more, if that is not the whole."""
        if machine.merge is None or self.many < 0:
            return ""
        self.many += 1
        try:
            if self.many % 3:
                self.left = machine.add(self.left, *member)
            else:
                self.right = machine.add(self.right, *member)
        except Failure:
            self.many = -1
            return ""
        try:
            return merged(machine, self.left, self.right, whole)
        except Failure as failure:
            return "" if is_overflow(failure) else f"`merge` fails: {failure}"


def _unwound(machine: Machine, way: list[Row]) -> str:
    """The last members again, removed in another order: what stays is what gathering the rest gives."""
    if machine.remove is None:
        return ""
    try:
        state = machine.gathered(way)
        for number, member in enumerate(way):  # first in, first out
            state = machine.remove(state, *member)
            if text := _differs(machine, state, way[number + 1 :], way[: number + 1]):
                return text
    except Failure as failure:
        return "" if is_overflow(failure) else f"`remove` fails on {shown_member(machine.fold, way[0])}: {failure}"
    return ""


def _differs(machine: Machine, state: Value, rest: list[Row], gone: list[Row]) -> str:
    truth = machine.gathered(rest)
    if same(state, truth):
        return ""
    what = f"after removing {len(gone)} of {len(gone) + len(rest)} elements A is {print_value(state)}"
    return f"`remove` does not undo `add`: {what}, not {print_value(truth)}{after(machine.fold, [*gone, *rest])}"


def _not_undone(machine: Machine, state: Value, member: Row) -> str:
    """`member` can be added; can it be removed?"""
    try:
        return undone(machine, state, (member,))
    except Failure as failure:
        if is_overflow(failure):
            return ""
        shown = f"A = {print_value(state)}, {shown_member(machine.fold, member)}"
        return f"`remove` fails after `add` with {shown}: {failure}"


def _out_of_order(machine: Machine, state: Value, pair: tuple[Row, Row]) -> str:
    try:
        return in_any_order(machine, state, pair)
    except Failure:  # of `add`: a refresh would stop
        return ""
