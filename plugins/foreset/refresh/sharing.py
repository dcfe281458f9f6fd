"""Looks at large sources that the strata of one process share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.sharing import LARGE, Shared, links
from foreset.backends.duckdb.tables import Table, Tables
from foreset.ir.versions import Version
from foreset.refresh.captured import captures_of
from foreset.refresh.context import Context
from foreset.refresh.located import located
from foreset.relations.tables import bound, parts


@contextmanager
def shared_looks(context: Context) -> Iterator[None]:
    """What strata look up in sources by the changes of others is looked up once while this lasts."""
    captured = captures_of(context)
    large = {name for name, one in captured.items() if (one.rows or 0) >= LARGE}
    if not large:
        yield
        return
    changed = [name for name, one in captured.items() if one.changed and not one.taken_whole]
    schemas = {source.name: tuple(column.type for column in source.columns) for source in context.program.sources}
    ways = links(context.layering.strata, schemas, changed)
    ways = {place: others for place, others in ways.items() if place[0] in large}
    if not ways:
        yield
        return

    def source(tables: Tables, name: str) -> Table:
        return bound(tables, located(context, name, Version.NEW))

    def changes(tables: Tables, name: str) -> Sequence[Table]:
        sides = (located(context, name, version) for version in (Version.PLUS, Version.MINUS))
        return [part.table for one in sides for part in parts(tables, one)]

    with session(spill=context.spill) as connection:
        ((schema,),) = connection.execute("SELECT current_schema()").fetchall()
        shared = Shared(Tables(connection, schemas, open=context.opened), schema, ways, source, changes)
        context.shared = shared
        try:
            yield
        finally:
            context.shared = None
