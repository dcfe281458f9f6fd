"""The strata of a program: parts that read each other, in an order in which all they read is done."""

from __future__ import annotations

from collections.abc import Mapping

from foreset.analyse.graph import components, dependencies
from foreset.analyse.supports import blurred
from foreset.analyse.wellfounded import can_be_cyclic
from foreset.ir.program import Column, View
from foreset.ir.rules import Negation, atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.supports import unfolded


def layering(
    views: tuple[View, ...],
    columns: Mapping[str, tuple[Column, ...]] | None = None,
    keys: Mapping[str, tuple[int, ...]] | None = None,
) -> Layering:
    """The strata of stratified views in normal form, by level and then in the order of the file.

    `columns` has those of sources; without them, no variable is taken to be wider than a column that it reads.
    `keys` has the places of columns that tell rows of sources apart, where not all of them are needed.
    """
    schemas = {**(columns or {}), **{view.name: view.columns for view in views}}
    given = tuple(view for view in views if view.given is not None)
    views = tuple(view for view in views if view.given is None)
    graph = dependencies(views)
    tied = {view.name: (*graph[view.name], view.supports) if view.supports else graph[view.name] for view in views}
    by_name = {view.name: view for view in views}
    place = {name: i for i, name in enumerate(by_name)}
    parts = components(tied)  # supports are kept together with what they support
    levels = _levels(parts, graph)
    parts.sort(key=lambda part: (levels[part[0]], place[part[0]]))
    number = {name: i for i, part in enumerate(parts, start=1) for name in part}
    first = tuple(_given(view, i) for i, view in enumerate(given, start=len(parts) + 1))
    number |= {stratum.names[0]: stratum.number for stratum in first}
    groups = {view.name: tuple(range(view.aggregation.groups)) for view in views if view.aggregation}
    known = {**(keys or {}), **groups}
    found = (
        _stratum(tuple(by_name[name] for name in part), graph, number, levels[part[0]], known, schemas)
        for part in parts
    )
    return Layering((*first, *found))


def _given(view: View, number: int) -> Stratum:
    return Stratum(number, 0, (view,), recursive=False, monotone=True, cyclic=False, reads=(), depends_on=())


def _can_shrink(view: View) -> bool:
    """An insertion below may take a row away."""
    return view.aggregation is not None or any(isinstance(one, Negation) for rule in view.rules for one in rule.body)


def _levels(parts: list[tuple[str, ...]], graph: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for part in parts:
        below = (levels[read] for name in part for read in graph[name] if read in graph and read not in part)
        levels.update(dict.fromkeys(part, 1 + max(below, default=0)))
    return levels


def _refused(views: tuple[View, ...]) -> bool:
    """Recursion through sets or answers, of which analysis tells later: nothing is known of its columns."""
    return any(view.aggregation or view.called for view in views)


def _stratum(
    views: tuple[View, ...],
    graph: Mapping[str, tuple[str, ...]],
    number: Mapping[str, int],
    level: int,
    keys: Mapping[str, tuple[int, ...]],
    columns: Mapping[str, tuple[Column, ...]],
) -> Stratum:
    own = frozenset(view.name for view in views)
    read = tuple(dict.fromkeys(name for view in views for name in graph[view.name]))
    plain = unfolded(views)
    constrained = any(view.constrained for view in views)
    recursive = any(atom.relation in own for view in plain for rule in view.rules for atom, _ in atoms(rule))
    lower = tuple(name for name in read if name not in own)
    return Stratum(
        number=number[views[0].name],
        level=level,
        views=views,
        recursive=recursive,
        monotone=not any(_can_shrink(view) for view in views),
        cyclic=recursive and (_refused(views) or constrained or can_be_cyclic(plain)),
        blurred=not constrained and blurred(views, columns) is not None,
        reads=lower,
        depends_on=tuple(sorted({number[name] for name in lower if name in number})),
        keys={name: keys[name] for name in lower if name in keys},
    )
