"""Unit tests that contradict themselves. The loader has checked names, widths and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from foreset.analyse.faults import tests as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import Source, UnitTest
from foreset.ir.terms import Row


def check(test: UnitTest, sources: Iterable[Source]) -> Iterator[Diagnostic]:
    """Deletions of rows that are not there, rows of one key, and expectations that cannot be met."""
    span = test.span or Span("", 1, 1)
    for source in sources:
        if source.key:
            yield from _broken(test, source, span)
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


def _broken(test: UnitTest, source: Source, span: Span) -> Iterator[Diagnostic]:
    """Rows that agree on a key, as given or after the change."""
    given = Counter(test.given.get(source.name, ()))
    after = given.copy()
    if change := test.change.get(source.name):
        after.subtract(change.delete)
        after.update(change.insert)
    for when, rows in (("before the change", given), ("after the change", +after)):
        seen: dict[Row, Row] = {}
        for row in rows:
            first = seen.setdefault(tuple(row[place] for place in source.key_places), row)
            if first != row:
                yield faults.key_broken(test.name, when, source.name, (first, row), span)
                return


def _repeated(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row, count in Counter(rows).items() if count > 1)
