"""Which engine a spec wants for each view: what the view says, else what the group says.

Views that read each other are computed together: what one of them says holds for all. A hidden view follows the views
that it is made for; where these want different engines, Spark, which can compute everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from foreset.analyse.faults.strata import mixed_engines
from foreset.analyse.graph import components, dependencies
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import ENGINES, Program, View

_NOWHERE = Span("", 1, 1)
_STRONGEST = ("spark", "duckdb", "auto")


def check(program: Program) -> Iterator[Diagnostic]:
    """Views that read each other and want different engines; on names alone."""
    for members in _together(program):
        wanted = [view for view in members if _own(view, program)]
        for view in wanted[1:]:
            if _own(view, program) != _own(wanted[0], program):
                yield _fault(view, wanted[0], program)


def with_engines(program: Program, views: tuple[View, ...]) -> tuple[View, ...]:
    """The views in normal form, hidden ones among them, each with the engine that the spec wants for it."""
    if not program.engine and not any(view.engine for view in program.views):
        return views
    wanted: dict[str, set[str]] = {}
    for members in _together(program):
        for view in members:
            wanted[view.name] = {own for other in members if (own := _own(other, program))}
    whole = replace(program, views=views)
    for view in program.views:
        for hidden in whole.auxiliaries[view.name]:
            wanted.setdefault(hidden, set()).update(wanted[view.name])
    return tuple(replace(view, engine=_strongest(wanted.get(view.name, ()))) for view in views)


def _together(program: Program) -> Iterator[tuple[View, ...]]:
    by_name = {view.name: view for view in program.views}
    for part in components(dependencies(program.views)):
        yield tuple(by_name[name] for name in part)


def _own(view: View, program: Program) -> str:
    return view.engine or program.engine


def _strongest(wanted: Iterable[str]) -> str:
    return min(wanted, key=_STRONGEST.index, default="")


def _fault(view: View, other: View, program: Program) -> Diagnostic:
    """At a view that says an engine itself: at most one of the two has that of the group."""
    at, against = (view, other) if view.engine else (other, view)
    assert at.engine in ENGINES
    place = (against.engine_span if against.engine else program.engine_span) or _NOWHERE
    where = f"`{against.name}`" if against.engine else f"the group, and so `{against.name}`,"
    return mixed_engines(at.engine_span or _NOWHERE, (at.name, at.engine), (against.name, _own(against, program)),
                         f"{where} says `engine: {_own(against, program)}` in line {place.line}")  # fmt: skip
