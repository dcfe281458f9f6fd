"""Faults of safety, FS401 to FS499: variables that nothing gives a value."""

from __future__ import annotations

from collections.abc import Collection

from foreset.diagnostics import Diagnostic, Span, did_you_mean


def _hint(name: str, known: Collection[str], *, negated: bool) -> str:
    if close := did_you_mean(name, known):
        return close
    if negated:
        return "`not` gives no value: use it also in a literal without `not`"
    return f"use it in a literal without `not`, or give it a value: `{name} = ...`"


def unbound_in_head(name: str, span: Span, view: str, known: Collection[str], *, negated: bool) -> Diagnostic:
    """The head would hold for every value there is."""
    message = f"variable `{name}` of the head of `{view}` has no value"
    return Diagnostic("FS401", message, span, _hint(name, known, negated=negated))


def unbound_in_condition(name: str, span: Span, text: str, known: Collection[str], *, negated: bool) -> Diagnostic:
    """There is nothing to compare or to compute with."""
    message = f"variable `{name}` in `{text}` has no value"
    return Diagnostic("FS402", message, span, _hint(name, known, negated=negated))


def unbound_in_negation(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """Two negations that share a variable: neither can give it a value."""
    message = f"variable `{name}` is in several literals, all of them under `not`"
    hint = "`not` gives no value: use it also in a literal without `not`, or give each literal its own variable"
    return Diagnostic("FS403", message, span, did_you_mean(name, known, hint))
