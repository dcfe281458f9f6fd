"""Faults of expectations, FS040 to FS049."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean
from foreset.spec.faults import shown

FORM = "write `- not_null: column`, or another name of docs/quality.md; `severity`, `on` and `note` may stand beside it"


def names_nothing(span: Span) -> Diagnostic:
    """An item that only has a severity or a note."""
    return Diagnostic("FS040", "an expectation needs a name", span, FORM)


def names_two(span: Span, first: str, second: str) -> Diagnostic:
    """Two expectations in one item: a dash is missing."""
    hint = "begin each expectation with `- `"
    return Diagnostic("FS040", f"`{shown(first)}` and `{shown(second)}` are in one item", span, hint)


def unknown(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """No expectation that Foreset takes."""
    hint = did_you_mean(name, known, "docs/quality.md lists all expectations")
    return Diagnostic("FS041", f"there is no expectation `{shown(name)}`", span, hint)


def missing_column(name: str, span: Span, view: str, columns: Sequence[str]) -> Diagnostic:
    """Speaks of a column that the view has not."""
    listed = ", ".join(f"`{column}`" for column in columns)
    hint = did_you_mean(name, columns, f"its columns are {listed}")
    return Diagnostic("FS042", f"view `{view}` has no column `{shown(name)}`", span, hint)


def unknown_argument(name: str, span: Span, what: str, known: Sequence[str]) -> Diagnostic:
    """A slip of the finger, or an argument of another expectation."""
    listed = ", ".join(f"`{one}`" for one in known)
    hint = did_you_mean(name, known, f"it takes {listed}")
    return Diagnostic("FS043", f"`{what}` has no argument `{shown(name)}`", span, hint)


def missing_argument(name: str, span: Span, what: str, example: str) -> Diagnostic:
    """Without it there is nothing to check."""
    return Diagnostic("FS043", f"`{what}` needs `{name}`", span, f"write `{example}`")


def empty_range(span: Span, what: str) -> Diagnostic:
    """No value lies between the two."""
    return Diagnostic("FS043", f"no value is within the limits of `{what}`", span, "give the smaller limit first")


def beyond_doubles(span: Span, what: str, limit: int) -> Diagnostic:
    """Great Expectations turns limits into doubles."""
    message = f"the limit {limit:,} of `{what}` is too large to be compared exactly"
    return Diagnostic("FS044", message, span, "stay within 9,007,199,254,740,991, or write it as `deny:`")


def misfit(text: str, span: Span, argument: str, wanted: str, hint: str = "") -> Diagnostic:
    """A value of the wrong type."""
    return Diagnostic("FS044", f"`{argument}` must be {wanted}, not {text}", span, hint)


def bad_regex(span: Span, reason: str) -> Diagnostic:
    """Not an expression that both engines read."""
    hint = "use only what both Python and Java know; put the text in single quotes, so that YAML keeps backslashes"
    return Diagnostic("FS044", f"this is not a regular expression: {reason}", span, hint)


def needs_all(span: Span, what: str, hint: str) -> Diagnostic:
    """Reading the whole view costs more than the change did: it must be asked for."""
    message = f"`{what}` is about the whole view, but only the changed rows are checked here"
    return Diagnostic("FS045", message, span, hint)


def wrong_column(span: Span, what: str, column: str, kind: str, wanted: str) -> Diagnostic:
    """The length of a number, the sum of texts."""
    message = f"`{what}` is for columns of {wanted}; `{column}` is {kind}"
    return Diagnostic("FS046", message, span, "choose another column or another expectation")


def do_not_mix(span: Span, first: tuple[str, str], second: tuple[str, str]) -> Diagnostic:
    """Two columns that cannot be compared."""
    message = f"`{first[0]}` is {first[1]} and `{second[0]}` is {second[1]}: they cannot be compared"
    return Diagnostic("FS046", message, span, "choose two columns of one kind")


def several_bodies(span: Span) -> Diagnostic:
    """A dot in the middle."""
    return Diagnostic("FS047", "`deny` takes one body", span, "begin each with `- deny:`")


def gathers(span: Span) -> Diagnostic:
    """Offending rows are single rows."""
    hint = "compute it in a separate view, and deny rows of that view"
    return Diagnostic("FS047", "`deny` cannot have aggregates", span, hint)


def no_such_view(span: Span, view: str, group: str, views: Collection[str]) -> Diagnostic:
    """A suite file that nothing would read."""
    hint = did_you_mean(view, views, "name the file after a view of the group")
    return Diagnostic("FS048", f"this suite is for `{shown(view)}`, and group `{group}` has no such view", span, hint)


def no_such_group(span: Span, group: str, groups: Collection[str]) -> Diagnostic:
    """A folder of suites that nothing would read."""
    hint = did_you_mean(group, groups, "name the folder after a group")
    message = f"these suites are for group `{shown(group)}`, which has no spec here"
    return Diagnostic("FS048", message, span, hint, Severity.WARNING)


def not_a_suite(span: Span, reason: str) -> Diagnostic:
    """A JSON file that Great Expectations did not write."""
    hint = "let Great Expectations write it, or see docs/quality.md"
    return Diagnostic("FS049", f"this is not a suite of Great Expectations: {reason}", span, hint)
