"""Unit tests that contradict themselves. The loader has checked names, widths and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from foreset.analyse.faults import tests as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import UnitTest
from foreset.ir.terms import Row


def check(test: UnitTest) -> Iterator[Diagnostic]:
    """Deletions of rows that are not there, and expectations that cannot be met."""
    span = test.span or Span("", 1, 1)
    for relation, change in test.change.items():
        left = Counter(test.given.get(relation, ()))
        left.subtract(change.delete)
        for row, count in left.items():
            if count < 0:
                yield faults.deletes_nothing(test.name, relation, row, span)
    for relation, change in test.expect.items():
        for row in dict.fromkeys(change.insert):
            if row in change.delete:
                yield faults.comes_and_goes(test.name, relation, row, span)
        for rows in (change.insert, change.delete):
            yield from (faults.expected_twice(test.name, relation, row, span) for row in _repeated(rows))
    for relation, state in test.state.items():
        yield from (faults.expected_twice(test.name, relation, row, span) for row in _repeated(state))


def _repeated(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row, count in Counter(rows).items() if count > 1)
