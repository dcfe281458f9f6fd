"""The sources of a spec held to the tables that are there: all faults at once, and no row is read.

A refresh would meet them one by one, the first after it has opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foreset.diagnostics import Diagnostic, Severity, Span, did_you_mean
from foreset.errors import SourceError
from foreset.ir.program import Column, Program, Source
from foreset.ir.types import Type, fits, parse_type
from foreset.store import manifest
from foreset.store.capture import tables
from foreset.store.catalog import nearest, tables_below
from foreset.store.layout import table_path

SHOWN = 12  # columns that a hint lists
_NOWHERE = Span("", 1, 1)


def source_faults(root: str, program: Program) -> tuple[Diagnostic, ...]:
    """What a refresh would refuse of the sources, as they are now."""
    return tuple(fault for source in program.sources for fault in _faults(root, source))


def _faults(root: str, source: Source) -> Iterator[Diagnostic]:
    if source.view is not None:
        yield from _of_view(root, source)
        return
    assert source.table is not None
    try:
        table = tables.open_table(source.name, table_path(root, source.table))
    except SourceError as error:
        yield _not_there(root, source) if _is_missing(error) else _unread(source, error)
        return
    found = {column.name: (column.type, column.type_text) for column in table.columns}
    yield from _of_columns(source, f"table {source.table}", found)


def _is_missing(error: SourceError) -> bool:
    from deltalake.exceptions import TableNotFoundError

    return isinstance(error.__cause__, TableNotFoundError)


def _not_there(root: str, source: Source) -> Diagnostic:
    hint = nearest(str(source.table), tables_below(root))
    message = f"source `{source.name}`: there is no table {source.table} in {root}"
    return Diagnostic("FS680", message, source.place_span or _NOWHERE, hint)


def _unread(source: Source, error: SourceError) -> Diagnostic:
    return Diagnostic("FS683", error.message, source.place_span or _NOWHERE, error.hint)


def _of_view(root: str, source: Source) -> Iterator[Diagnostic]:
    """A view of another group, as that group published it last."""
    group, view = source.group_and_view
    row = manifest.newest(root, group)
    if row is None or view not in row.views:
        message = f"source `{source.name}`: view {source.view} has not been published yet"
        hint = f"refresh its group first: `foreset refresh {group}`"
        yield Diagnostic("FS684", message, source.place_span or _NOWHERE, hint, Severity.WARNING)
        return
    found = {name: (parse_type(kind), kind) for name, kind in row.views[view].columns.items()}
    yield from _of_columns(source, f"view {source.view}", found)


def _of_columns(source: Source, where: str, found: Mapping[str, tuple[Type | None, str]]) -> Iterator[Diagnostic]:
    present = {name.lower(): (name, *kinds) for name, kinds in found.items()}
    columns = [f"{name} {text}" for name, (_, text) in found.items()]
    for column in source.columns:
        there = present.get(column.name.lower())
        if there is None:
            near = did_you_mean(column.name, _left(source, found))
            hint = " ".join(filter(None, (near, f"its columns: {_listed(columns)}")))
            yield _fault("FS681", f"{where} has no column `{column.name}`", column, hint)
        elif there[1] is None:
            message = f"column `{column.name}` is {there[2]} in {where}, which rules cannot read"
            yield _fault("FS682", message, column, "leave the column out")
        elif not fits(there[1], column.type):
            message = f"column `{column.name}` is {there[2]} in {where}, which does not fit {column.type}"
            yield _fault("FS682", message, column, f"declare it as `{there[1]}`, and cast it in rules if need be")


def _left(source: Source, found: Iterable[str]) -> list[str]:
    """Columns that the source does not declare yet: those that a wrong name can mean."""
    declared = {column.name for column in source.columns}
    return [name for name in found if name.lower() not in declared]


def _fault(code: str, message: str, column: Column, hint: str) -> Diagnostic:
    return Diagnostic(code, message, column.span or _NOWHERE, hint)


def _listed(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
