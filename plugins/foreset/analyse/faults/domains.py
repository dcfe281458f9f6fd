"""Faults of calls of domains, FS901 to FS909."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foreset.analyse.faults.names import listed
from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean


def unknown_domain(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """Nobody of that name is declared."""
    hint = did_you_mean(name, known, "declare it under `domains:`, with a provider and its functions")
    return Diagnostic("FS901", f"domain `{name}` does not exist", span, hint)


def unknown_function(domain: str, name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """The domain has no such function."""
    hint = did_you_mean(name, known, f"its functions are {listed(known)}" if known else "it declares none")
    return Diagnostic("FS902", f"domain `{domain}` has no function `{name}`", span, hint)


def wrong_arguments(called: str, span: Span, given: int, columns: Sequence[str]) -> Diagnostic:
    """Too many or too few."""
    noun = "argument" if len(columns) == 1 else "arguments"
    message = f"`{called}` takes {len(columns)} {noun}, not {given}"
    return Diagnostic("FS903", message, span, f"they are {listed(columns)}" if columns else f"write `{called}()`")


def wrong_pattern(called: str, span: Span, given: int, columns: Sequence[str]) -> Diagnostic:
    """The pattern is not as wide as an answer."""
    noun = "result" if len(columns) == 1 else "results"
    message = f"`{called}` has {len(columns)} {noun}, but the rule names {given}"
    if not columns:
        return Diagnostic("FS903", message, span, f"it only answers yes or no: write `in({called}(...))`")
    shape = "X" if len(columns) == 1 else f"({', '.join(name.capitalize() for name in columns)})"
    hint = f"write `in({shape}, {called}(...))`, or name some of them: `in(({columns[0]}=X), {called}(...))`"
    return Diagnostic("FS903", message, span, hint)


def unknown_result(called: str, name: str, span: Span, columns: Sequence[str]) -> Diagnostic:
    """A name in the pattern that no result has."""
    none = "it has none: it only answers yes or no"
    hint = did_you_mean(name, columns, f"its results are {listed(columns)}" if columns else none)
    return Diagnostic("FS903", f"`{called}` has no result `{name}`", span, hint)


def unbound_argument(called: str, name: str, span: Span) -> Diagnostic:
    """Nobody can be asked about everything there is."""
    message = f"argument `{name}` of `{called}` has no value when it is called"
    hint = "give it a value by a relation, by `=`, or by the result of another call in the same rule"
    return Diagnostic("FS904", message, span, hint)


def asks_by_its_answers(called: str, span: Span, way: Sequence[str]) -> Diagnostic:
    """What is asked would depend on what is answered, without end in sight."""
    told = ", which reads ".join(f"`{name}`" for name in way)
    message = f"what `{called}` is asked depends on its own answers: it reads {told}"
    hint = "a refresh asks all arguments before it uses the answers: take the arguments from another relation"
    return Diagnostic("FS905", message, span, hint)


def never_asked(name: str, span: Span) -> Diagnostic:
    """Declared for nothing."""
    message = f"no rule asks domain `{name}`"
    return Diagnostic(
        "FS908", message, span, "remove the domain, or ask it: `in(X, domain:function(Y))`", Severity.WARNING
    )
