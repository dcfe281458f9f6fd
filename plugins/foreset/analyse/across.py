"""Do groups find what they read of each other?

A group stands alone: each reads the other's committed refresh. So a circle between groups
is legal, but never at rest: each refresh of one leaves the other a step behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from foreset.analyse.faults import across as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.program import Program, Source, View
from foreset.spec.internal import guarded


def check_groups(programs: Sequence[Program], known: Collection[str]) -> Iterator[Diagnostic]:
    """The faults between `programs`; `known` also names the groups whose own faults hide their views."""
    by_name = {program.group: program for program in programs}
    for program in programs:
        yield from guarded(program.file, _sources(program, by_name, known))
    yield from _circles(by_name)


def _sources(program: Program, by_name: Mapping[str, Program], known: Collection[str]) -> Iterator[Diagnostic]:
    for source in program.sources:
        if source.view is not None:
            yield from _source(source, source.view, by_name, known)


def _source(source: Source, read: str, by_name: Mapping[str, Program], known: Collection[str]) -> Iterator[Diagnostic]:
    group, name = source.group_and_view
    span = source.span or Span("", 1, 1)
    if group not in by_name:
        if group not in known:
            yield faults.unknown_group(span, group, (*by_name, *known))
        return
    views = {view.name: view for view in by_name[group].views}
    if name not in views:
        yield faults.unknown_view(span, group, name, tuple(views))
        return
    if views[name].constrained:
        yield faults.constrained(span, read)
        return
    yield from _columns(source, read, views[name], span)


def _columns(source: Source, read: str, view: View, span: Span) -> Iterator[Diagnostic]:
    there = {column.name: column.type for column in view.columns}
    for column in source.columns:
        if column.name not in there:
            yield faults.unknown_column(column.span or span, read, column.name, tuple(there))
        elif column.type != there[column.name]:
            yield faults.other_type(column.span or span, read, column.name, column.type, there[column.name])


def _circles(by_name: Mapping[str, Program]) -> Iterator[Diagnostic]:
    """Each circle once, at the source by which its first group reads the next."""
    reads = {
        name: {source.group_and_view[0]: source.span for source in program.sources if source.view}
        for name, program in by_name.items()
    }
    told: set[frozenset[str]] = set()
    for name, program in by_name.items():
        yield from guarded(program.file, _circle(name, reads, told))


def _circle(
    start: str, reads: Mapping[str, Mapping[str, Span | None]], told: set[frozenset[str]]
) -> Iterator[Diagnostic]:
    way = _way_back(start, reads)
    if way and frozenset(way) not in told:
        told.add(frozenset(way))
        yield faults.circle(reads[start][way[1]] or Span("", 1, 1), way)


def _way_back(start: str, reads: Mapping[str, Mapping[str, object]]) -> tuple[str, ...]:
    """The shortest way from a group back to itself; empty when there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    for way in ways:  # grows as it is walked: breadth first
        for name in reads.get(way[-1], ()):
            if name == start:
                return (*way, start)
            if name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()
