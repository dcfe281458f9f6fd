"""Faults of aggregates, in the families where they belong: names, types, safety, strata."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from foreset.analyse.faults.names import listed
from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean
from foreset.ir.aggregates import Aggregate
from foreset.ir.types import Type


def missing_aggregate(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """Neither built in nor defined."""
    hint = did_you_mean(name, known, f"there are {listed(known)}")
    return Diagnostic("FS113", f"there is no aggregate `{name}`", span, hint)


def wrong_parameters(aggregate: Aggregate, span: Span, what: str) -> Diagnostic:
    """What stands beside the set does not suit the aggregate."""
    parameter = aggregate.parameter
    short = f"{aggregate.name}({parameter.name})" if parameter else aggregate.name
    values = {0: "X", 1: "X", 2: "Value, Key"}[aggregate.components]
    hint = f"write `{short}{{{values} | ...}}`: {aggregate.doc}"
    return Diagnostic("FS114", f"`{aggregate.name}` {what}", span, hint)


def wrong_components(name: str, span: Span, wanted: int, given: int) -> Diagnostic:
    """An aggregate of the spec takes tuples of another width."""
    values = "1 value" if wanted == 1 else f"{wanted} values"
    hint = f"give it tuples: `{name}{{{', '.join('XYZUVW'[:wanted])} | ...}}`"
    if given > wanted:
        places = ", ".join(map(str, range(1, wanted + 1)))
        hint = f"say which components, counted from 1: `{name}({places}){{...}}`, or `{name}(S, R, {places})`"
    return Diagnostic("FS114", f"`{name}` takes {values} of each element, and there are {given}", span, hint)


def no_component(name: str, span: Span, place: object, width: int) -> Diagnostic:
    """A component that the elements do not have."""
    elements = "one component" if width == 1 else f"{width} components"
    return Diagnostic("FS114", f"`{name}` asks for component {place}", span, f"the elements of the set have {elements}")


def aggregate_of_type(name: str, span: Span, kinds: Sequence[Type], takes: str) -> Diagnostic:
    """Values that the aggregate does not take."""
    given = ", ".join(map(str, kinds))
    hint = f"it takes {takes}" + ("; `string(X)` writes others as text" if name == "string_agg" else "")
    return Diagnostic("FS307", f"`{name}` does not take values of type {given}", span, hint)


def set_of_tuples(span: Span, kinds: Sequence[Type]) -> Diagnostic:
    """No column type holds tuples."""
    given = ", ".join(map(str, kinds))
    hint = "collect one variable; or collect a component, as `collect(S, L, 1)`"
    return Diagnostic("FS308", f"a set of tuples ({given}) cannot be a value", span, hint)


def bad_definition(name: str, span: Span, what: str, hint: str) -> Diagnostic:
    """An aggregate of the spec whose expressions do not fit together."""
    return Diagnostic("FS309", f"aggregate `{name}`: {what}", span, hint)


def false_inverse(name: str, span: Span, what: str) -> Diagnostic:
    """What `remove` gives is not what there was before `add`, or `merge` is not what gathering both gives."""
    hint = "correct `remove`, or leave it out: then a refresh computes changed groups from all their elements"
    if what.startswith("`merge`"):
        hint = "correct `merge`, or leave it out"
    return Diagnostic("FS310", f"aggregate `{name}`: {what}", span, hint)


def perhaps_no_inverse(name: str, span: Span, what: str) -> Diagnostic:
    """The same in a state that no adds are known to reach."""
    hint = "if A can have this value, deletions give wrong rows: correct the expressions; if it cannot, ignore this"
    return Diagnostic("FS641", f"aggregate `{name}`: {what}", span, hint, Severity.WARNING)


def unbound_in_set(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """An element without a value."""
    hint = did_you_mean(name, known, "use it inside the set in a literal without `not`")
    return Diagnostic("FS404", f"variable `{name}` of the set has no value", span, hint)


def unbound_outer(name: str, span: Span, known: Collection[str]) -> Diagnostic:
    """A variable that a set compares, and that nothing gives a value, inside or outside."""
    hint = did_you_mean(name, known, "use it in a literal without `not`, inside the set or beside it")
    return Diagnostic("FS404", f"variable `{name}` of the set has no value", span, hint)


def needs_itself(name: str, span: Span) -> Diagnostic:
    """What is made of the set would have to be known before the set."""
    hint = "a set is computed before its results: compute one of the aggregates in a separate view, and read that view"
    return Diagnostic("FS630", f"the set needs `{name}`, which has no value before the set is computed", span, hint)


def aggregated_recursion(view: str, read: str, span: Span, cycle: Sequence[str]) -> Diagnostic:
    """The set would have to be complete before it is made."""
    what = "itself" if view == read else f"`{read}`, and `{read}` is made from `{view}`"
    hint = "take the aggregate out of the recursion: what it reads must be complete first"
    return Diagnostic("FS506", f"`{view}` aggregates {what}", span, hint, notes=tuple(cycle))


def insert_with_aggregate(span: Span, view: str) -> Diagnostic:
    """A count that grows replaces a row."""
    message = f"`insert` has no deletion phase, but `{view}` aggregates: insertions replace rows"
    return Diagnostic("FS507", message, span, "use `auto`, `dred` or `counting`")


def local_variable(name: str, span: Span) -> Diagnostic:
    """A name for both sides of the bar of different sets."""
    hint = f"inside the braces `{name}` is another variable: rename one of the two"
    return Diagnostic("FS405", f"`{name}` is aggregated in the braces and also used outside them", span, hint)
