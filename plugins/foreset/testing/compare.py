"""What a test expected against what came, as differences of sets of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from foreset.ir.program import Change, UnitTest
from foreset.ir.terms import Row
from foreset.ir.values import sort_key
from foreset.testing.replica import Delta, Rows

ASKING = "asking"  # in place of a strategy: what domains are asked, whatever the strategy


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that should be there and are not, and the other way round. `what`: inserted, deleted, contents, asking."""

    view: str
    what: str
    missing: tuple[Row, ...] = ()
    unexpected: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Night:
    """The sources before and after the change of a test, as bags; `stray` are deletions of rows not there."""

    before: Mapping[str, Rows]
    after: Mapping[str, Rows]
    stray: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)

    @property
    def deltas(self) -> dict[str, Delta]:
        """Net changes: a row comes with its first copy and goes with its last."""
        return {name: delta(self.before[name], self.after[name]) for name in self.before}


def night_of(test: UnitTest, sources: Iterable[str]) -> Night:
    """Bags of rows from `given` and `change`: deletions take one copy each, then insertions come.

    A test without `change` shows the first load: its night starts from nothing.
    """
    before: dict[str, Rows] = {}
    after: dict[str, Rows] = {}
    stray: dict[str, tuple[Row, ...]] = {}
    for name in sources:
        given, change = Counter(test.given.get(name, ())), test.change.get(name, Change())
        deleted = Counter(change.delete)
        before[name] = frozenset(given) if test.change else frozenset()
        after[name] = frozenset(given - deleted) | frozenset(change.insert)
        if lacking := tuple((deleted - given).elements()):
            stray[name] = lacking
    return Night(before, after, stray)


def delta(before: Rows, after: Rows) -> Delta:
    """The exact differential between two states."""
    return Delta(after - before, before - after)


def against(test: UnitTest, deltas: Mapping[str, Delta], contents: Mapping[str, Rows]) -> Iterator[Difference]:
    """Yield where the effects on the views named by the test, or their contents, are not those expected.

    A view that is named must match in both lists, where a list left out is empty; others are not looked at.
    """
    for view, expected in test.expect.items():
        came = deltas[view]
        yield from difference(view, "inserted", expected.insert, came.plus)
        yield from difference(view, "deleted", expected.delete, came.minus)
    for view, rows in test.state.items():
        yield from difference(view, "contents", rows, contents[view])


def difference(view: str, what: str, expected: Iterable[Row], found: Rows) -> Iterator[Difference]:
    """Yield a difference when there is one."""
    wanted = frozenset(expected)
    missing, unexpected = _sorted(wanted - found), _sorted(found - wanted)
    if missing or unexpected:
        yield Difference(view, what, missing, unexpected)


def _sorted(rows: Rows) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=sort_key))
