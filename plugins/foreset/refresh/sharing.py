"""Looks at large sources that the strata of one process share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.sharing import LARGE, Shared, links
from foreset.backends.duckdb.tables import Table, Tables
from foreset.refresh.bind_source import as_declared, bind_source
from foreset.refresh.captured import captures_of
from foreset.refresh.context import Context
from foreset.relations import bind_files as inputs
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.capture.stage import folder


@contextmanager
def shared_looks(context: Context) -> Iterator[None]:
    """What strata look up in sources by the changes of others is looked up once while this lasts."""
    captured = captures_of(context)
    large = {name for name, one in captured.items() if (one.rows or 0) >= LARGE}
    changed = [name for name, one in captured.items() if one.changed and not one.taken_whole]
    schemas = {source.name: tuple(column.type for column in source.columns) for source in context.program.sources}
    ways = links(context.layering.strata, schemas, changed)
    ways = {place: others for place, others in ways.items() if place[0] in large}
    if not ways:
        yield
        return

    def source(tables: Tables, name: str) -> Table:
        pin = RecordedPin.from_manifest(context.run.sources[name])
        return bind_source(tables, context.layout.root, context.source(name), pin)

    def changes(tables: Tables, name: str) -> Sequence[Table]:
        columns, one = as_declared(context.source(name).columns), captured[name]
        signs = [sign for sign, rows in ((1, one.inserted), (-1, one.deleted)) if rows]
        return [inputs.bind_folder(tables, folder(one.staged, sign), columns) for sign in signs]

    with session(spill=context.spill) as connection:
        ((schema,),) = connection.execute("SELECT current_schema()").fetchall()
        shared = Shared(Tables(connection, schemas, open=context.opened), schema, ways, source, changes)
        context.shared = shared
        try:
            yield
        finally:
            context.shared = None
