"""Faults of unit tests, FS701 to FS799: rows that contradict each other."""

from __future__ import annotations

from foreset.diagnostics import Diagnostic, Severity, Span
from foreset.ir.terms import Row
from foreset.ir.text import print_value


def _row(row: Row) -> str:
    return f"[{', '.join(print_value(value) for value in row)}]"


def deletes_nothing(test: str, relation: str, row: Row, span: Span) -> Diagnostic:
    """The change would have no effect."""
    message = f"test `{test}` deletes {_row(row)} from `{relation}` more often than it is given"
    return Diagnostic("FS701", message, span, "add the row under `given`, or correct it", Severity.WARNING)


def comes_and_goes(test: str, relation: str, row: Row, span: Span) -> Diagnostic:
    """A refresh gives net changes."""
    message = f"test `{test}` expects {_row(row)} of `{relation}` inserted and deleted"
    return Diagnostic("FS702", message, span, "a refresh gives net changes: remove the row from one of the two lists")


def key_broken(test: str, when: str, source: str, rows: tuple[Row, Row], span: Span) -> Diagnostic:
    """A refresh would stop there."""
    one, other = map(_row, rows)
    message = f"test `{test}` has rows of `{source}` {when} with the same key: {one} and {other}"
    return Diagnostic("FS704", message, span, "a refresh would stop there: correct one of the rows, or the key")


def expected_twice(test: str, relation: str, row: Row, span: Span) -> Diagnostic:
    """Views are sets."""
    message = f"test `{test}` names {_row(row)} of `{relation}` twice"
    return Diagnostic("FS703", message, span, "a view has each row once: remove one of them", Severity.WARNING)
