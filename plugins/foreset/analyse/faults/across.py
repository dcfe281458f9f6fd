"""Faults between groups, FS801 to FS899: what one reads of another."""

from __future__ import annotations

from collections.abc import Collection

from foreset.analyse.faults.names import listed
from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean
from foreset.ir.types import Type


def unknown_group(span: Span, group: str, known: Collection[str]) -> Diagnostic:
    """It may live elsewhere, so this is a warning."""
    hint = did_you_mean(group, known, "if its spec is elsewhere, ignore this: its columns are taken as declared here")
    return Diagnostic("FS801", f"group `{group}` is not among these specs", span, hint, Severity.WARNING)


def unknown_view(span: Span, group: str, view: str, known: Collection[str]) -> Diagnostic:
    """A view that the other group does not have."""
    hint = did_you_mean(view, known, f"its views: {listed(known)}")
    return Diagnostic("FS802", f"group `{group}` has no view `{view}`", span, hint)


def unknown_column(span: Span, view: str, column: str, known: Collection[str]) -> Diagnostic:
    """A column that the other view does not have."""
    hint = did_you_mean(column, known, f"its columns: {listed(known)}")
    return Diagnostic("FS803", f"view `{view}` has no column `{column}`", span, hint)


def other_type(span: Span, view: str, column: str, here: Type, there: Type) -> Diagnostic:
    """A column that is declared as something else than it is."""
    message = f"column `{column}` of view `{view}` is of type {there}, not {here}"
    return Diagnostic("FS804", message, span, f"declare it as {there}")


def constrained(span: Span, view: str) -> Diagnostic:
    """Its rows are not all of what it says."""
    hint = "write a view of rows in that group, and read that view"
    return Diagnostic("FS806", f"view `{view}` is a view of constraints: another group cannot read it", span, hint)


def circle(span: Span, groups: Collection[str]) -> Diagnostic:
    """Groups that wait for each other."""
    way = " -> ".join(f"`{group}`" for group in groups)
    hint = "put the views that depend on each other into one group, so that they are refreshed together"
    return Diagnostic("FS805", f"groups read each other in a circle: {way}", span, hint, Severity.WARNING)
