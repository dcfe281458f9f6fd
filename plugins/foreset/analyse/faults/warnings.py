"""Warnings, FS601 to FS699: what is allowed, and probably not meant."""

from __future__ import annotations

from foreset.analyse.faults.names import listed
from foreset.diagnostics import Diagnostic, Severity, Span


def _warning(code: str, message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code, message, span, hint, Severity.WARNING)


def single_variable(name: str, span: Span) -> Diagnostic:
    """Often a slip of the finger in one of two places."""
    hint = f"write `_` if any value will do, or `_{name.lower()}` to keep the name"
    return _warning("FS601", f"variable `{name}` is used only here", span, hint)


def unused_value(name: str, span: Span) -> Diagnostic:
    """Computed, and read by nothing."""
    return _warning("FS601", f"nothing uses the value of `{name}`", span, "remove the assignment, or use the value")


def existential_variable(name: str, span: Span) -> Diagnostic:
    """`not p(X, Z)` with a Z of its own: no row whatever Z."""
    hint = f"if you mean that, write `_`; otherwise use `{name}` also in a literal without `not`"
    return _warning("FS602", f"variable `{name}` is used only under this `not`, where it means any value", span, hint)


def source_not_read(name: str, span: Span) -> Diagnostic:
    """It would be captured for nothing."""
    return _warning("FS603", f"no rule reads source `{name}`", span, "remove the source, or read it in a rule")


def duplicate_rule(span: Span, line: int) -> Diagnostic:
    """Views are sets: the second rule adds nothing."""
    return _warning("FS604", f"this rule says the same as the one on line {line}", span, "remove one of them")


def never_holds(span: Span, text: str) -> Diagnostic:
    """Its conditions exclude each other, whatever the data."""
    return _warning("FS605", f"this rule derives nothing: {text}", span, "correct the condition, or remove the rule")


def always_empty(view: str, span: Span, reads: tuple[str, ...]) -> Diagnostic:
    """Recursion without a beginning."""
    message = f"view `{view}` is always empty: each of its rules needs a row of {listed(reads)} first"
    return _warning("FS606", message, span, "add a rule that reads none of them")


def repeated_literal(text: str, span: Span) -> Diagnostic:
    """It holds already."""
    return _warning("FS607", f"`{text}` is in this rule twice", span, "remove one of them")


def derives_itself(span: Span, text: str) -> Diagnostic:
    """The body asks for the row that the head gives."""
    return _warning(
        "FS608", f"this rule adds nothing: its body needs `{text}`, which is its head", span, "remove the rule"
    )
