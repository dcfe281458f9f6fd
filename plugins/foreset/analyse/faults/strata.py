"""Faults of strata and strategies, FS501 to FS599."""

from __future__ import annotations

from collections.abc import Sequence

from foreset.analyse.faults.names import listed
from foreset.analyse.supports import Blurred
from foreset.diagnostics import Diagnostic, Span


def negated_recursion(view: str, read: str, span: Span, cycle: Sequence[str]) -> Diagnostic:
    """What is in the view would depend on what is not in it."""
    if view == read:
        message = f"`{view}` reads `not {view}`: a view cannot depend on its own absence"
    else:
        message = f"`{view}` reads `not {read}`, and `{read}` is made from `{view}`"
    hint = "take the negation out of the recursion: what is under `not` must be complete first"
    return Diagnostic("FS501", message, span, hint, notes=tuple(cycle))


def counting_is_recursive(span: Span, views: Sequence[str]) -> Diagnostic:
    """Counts of recursive derivations need not be finite, nor well-founded."""
    message = f"`counting` does not maintain recursive views: {_reason(views)}"
    hint = "use `dredc` to count derivations of recursive views, or `dred`"
    return Diagnostic("FS502", message, span, hint)


def _reason(views: Sequence[str]) -> str:
    if len(views) == 1:
        return f"`{views[0]}` reads itself, so a row may help to derive itself"
    return f"{listed(views)} read each other, so a row may help to derive itself"


def insert_is_not_monotone(span: Span, view: str, read: str) -> Diagnostic:
    """An insertion below can delete here."""
    message = f"`insert` has no deletion phase, but `{view}` reads `not {read}`: insertions there delete rows here"
    return Diagnostic("FS503", message, span, "use `auto`, `dred` or `counting`")


def stdel_is_cyclic(span: Span, views: Sequence[str]) -> Diagnostic:
    """Supports of cyclic derivations have no end."""
    what = f"derivations of {listed(views)} can be cyclic"
    hint = (
        "use `dred`; let a column grow at each step, as in `dist(Y, N + 1) :- dist(X, N), edge(X, Y)`; "
        "or, if the data have no circles, `stdel-acyclic`"
    )
    return Diagnostic("FS504", f"`stdel` needs derivations that end: {what}", span, hint)


def circles_are_unseen(span: Span, views: Sequence[str]) -> Diagnostic:
    """Data that are said to have no circles are looked at all the same, where that can be done."""
    message = f"`stdel-acyclic` cannot see whether the derivations of {listed(views)} go in a circle"
    hint = "use `dred`; or recursion of one view along a relation below it, as in `v(X, Y) :- edge(X, Z), v(Z, Y)`"
    return Diagnostic("FS508", message, span, hint)


def supports_are_blurred(span: Span, strategy: str, found: Blurred) -> Diagnostic:
    """A support could stand on either of two rows."""
    what = f"`{found.variable.name}` reads a {found.column} as {found.wider}, in which two values can become one"
    hint = "give both columns the same type, or use `auto`"
    return Diagnostic("FS509", f"`{strategy}` cannot tell derivations apart: {what}", span, hint)


def mixed_strategies(span: Span, view: str, strategy: str, other: str, other_strategy: str) -> Diagnostic:
    """One stratum is maintained in one way."""
    message = f"`{view}` declares `{strategy}`, but `{other}`, which it reads and which reads it, `{other_strategy}`"
    hint = "views that read each other are maintained together: declare the same strategy for all of them"
    return Diagnostic("FS505", message, span, hint)


def mixed_engines(span: Span, view: tuple[str, str], other: tuple[str, str], where: str) -> Diagnostic:
    """One stratum is computed in one place; `view` and `other` are names with engines."""
    message = f"`{view[0]}` wants `{view[1]}`, but `{other[0]}`, which it reads and which reads it, `{other[1]}`"
    hint = "views that read each other are computed together: give all of them the same engine"
    return Diagnostic("FS510", message, span, hint, notes=(where,))
