"""Faults of views whose columns may be bound by constraints only, FS910 to FS919."""

from __future__ import annotations

from collections.abc import Collection

from foreset.constraints.errors import BadConstraint
from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean
from foreset.ir.types import Type


def inexact_column(view: str, name: str, kind: Type, span: Span) -> Diagnostic:
    """Doubles are not numbers with which solvers reckon."""
    message = f"column `{name}` of `{view}` is {kind}, and `{view}` is a view of constraints"
    return Diagnostic("FS910", message, span, "declare it as a decimal, or give it a value by a relation in every rule")


def not_a_constraint(fault: BadConstraint, span: Span) -> Diagnostic:
    """Not linear, or of another kind."""
    return Diagnostic("FS911", fault.message, fault.span or span, fault.hint)


def never_satisfied(view: str, text: str, span: Span) -> Diagnostic:
    """The rule says nothing."""
    message = f"this rule of `{view}` can never hold: `{text}`"
    return Diagnostic("FS912", message, span, "correct the conditions, or remove the rule", Severity.WARNING)


def aggregate_of_constraints(view: str, span: Span) -> Diagnostic:
    """A region has no count."""
    message = f"`{view}` is a view of constraints: it can have infinitely many rows, so it cannot be aggregated"
    return Diagnostic("FS913", message, span, "aggregate a view of rows instead")


def left_to_constraints(view: str, name: str, span: Span) -> Diagnostic:
    """Perhaps a slip: the other columns come from relations."""
    message = f"only comparisons limit `{name}`: `{view}` would hold ranges such as `{name} <= 3` instead of rows"
    hint = f"give `{name}` a value by a relation or by `=`; if you want ranges, add `evaluate: at_refresh` to the view"
    return Diagnostic("FS914", message, span, hint)


def column_of_nothing(view: str, name: str, stray: str, span: Span, known: Collection[str]) -> Diagnostic:
    """The value of a column is made of a variable that stands nowhere else."""
    hint = did_you_mean(stray, known, f"give `{stray}` a value by a relation or by `=`")
    return Diagnostic("FS914", f"`{stray}` has no value, so `{name}` of the head of `{view}` has none", span, hint)


def not_for_constraints(view: str, key: str, span: Span) -> Diagnostic:
    """What is for rows."""
    message = f"`{key}` of `{view}` is for views of rows, and `{view}` is a view of constraints"
    return Diagnostic("FS915", message, span, "leave it out")


def variable_without_type(name: str, span: Span) -> Diagnostic:
    """It stands beside nothing that has one."""
    hint = "use it in a column, or compare it with a variable of a column"
    return Diagnostic("FS916", f"nothing tells the type of `{name}`", span, hint)


def unbound_member(view: str, span: Span) -> Diagnostic:
    """All its rows would have to be looked through, and there may be no end to them."""
    message = f"`{view}` is a view of constraints, and no column of it has a value here"
    return Diagnostic(
        "FS917", message, span, "give a column a value by a relation: the rule asks whether the view has it"
    )


def denied_region(view: str, span: Span) -> Diagnostic:
    """`deny:` looks at rows that are staged."""
    hint = f"write a view of the rows that are not allowed, `bad(X) :- p(X), {view}(X)`, and deny `bad(X)`"
    return Diagnostic("FS642", f"`deny:` cannot read `{view}`, which is a view of constraints", span, hint)


def unbound_in_braces(name: str, span: Span) -> Diagnostic:
    """A region has no end: only values that the other literals of the braces give can be asked about."""
    message = f"in the braces, `{name}` has no value except from a view of constraints"
    hint = f"give `{name}` a value by another literal in the braces, or write `_`, or join the two in a separate view"
    return Diagnostic("FS917", message, span, hint)


def inexact_argument(name: str, kind: Type, span: Span) -> Diagnostic:
    """Only `_` may stand there."""
    message = f"`{name}` is {kind}, which constraints cannot have"
    return Diagnostic("FS910", message, span, "declare it as a decimal, or write `_`")
