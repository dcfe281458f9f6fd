"""Where work on relations is done: in this process by DuckDB where little is touched, else in Spark.

Nothing is staged before the work is through, so that Spark can begin anew at any moment. What strata look up in large
sources, those in this process share.
"""

from __future__ import annotations

import functools
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias, TypeVar

import duckdb

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import Budget, OutOfBounds
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.sharing import Shared, links, near
from foreset.backends.duckdb.tables import Near, Table, Tables
from foreset.errors import EnvironmentFault, ForesetError
from foreset.ir.program import Program
from foreset.ir.reads import places_named
from foreset.ir.steps import Procedure
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.plan.choose import Situation
from foreset.plan.cost import DUCKDB, SPARK
from foreset.plan.place import LARGE, Load, Place, Wish, may_ask, place, wish
from foreset.refresh.capturing import captured_of, captures_of
from foreset.refresh.choosing import room_of, uncounted
from foreset.refresh.context import Context
from foreset.refresh.located import located
from foreset.relations.far import FarRelations
from foreset.relations.frames import SparkPort, spark_port
from foreset.relations.located import Located, asked
from foreset.relations.tables import DuckDBPort, bound, parts
from foreset.store.delta import SparkOnly

T = TypeVar("T")
Engine: TypeAlias = DuckDBPort | SparkPort
Schemas: TypeAlias = Mapping[str, tuple[Type, ...]]


def place_of(context: Context, strategy: str, situation: Situation, wanted: Wish) -> Place:
    """Where work on some relations begins, from what is known of them."""
    if wanted.place is not None:
        return wanted.place
    for name in uncounted(context, situation.sizes):
        return Place(SPARK, f"the log of source {name} does not say how many rows it has")
    load = Load(strategy == "recompute", situation.sizes, situation.own)
    return place(strategy, load, room_of(context), situation.cost)


def unfit(title: str, wanted: Wish, error: Exception) -> Exception:
    """What stops a stratum that has to run in process."""
    if isinstance(error, duckdb.Error) and not isinstance(error, duckdb.OutOfMemoryException):
        return error
    what = error.message if isinstance(error, ForesetError) else f"DuckDB says: {error}"
    hint = f"{wanted.because}; with `auto` or `spark` it runs in Spark"
    return EnvironmentFault(f"{title} cannot be computed in process: {what}", hint, worth_retrying=False)


def _go_on(_: Place, __: Exception) -> None:
    """Nobody has to know that work was moved."""


def do_in(
    context: Context,
    where: Place,
    schemas: Schemas,
    work: Callable[[Engine], T],
    moved: Callable[[Place, Exception], None] = _go_on,
    *,
    bounded: bool = True,
    asking: bool = False,
) -> tuple[T, Place]:
    """Do some work where it was placed; what turns out too much for this process is moved to Spark, and begun anew.

    `asking`: in Spark too, a change is worked on here, and Spark only looks up what meets it, as far as that goes.
    """
    if where.engine == DUCKDB:
        budget = Budget.within(context.memory.lent) if bounded else Budget.unbounded()
        try:
            return _here(context, schemas, work, budget), where
        except (OutOfBounds, SparkOnly, duckdb.Error) as error:
            where = Place(SPARK, f"begun in process with {where.reason}, but {_why(error)}")
            moved(where, error)
            asking = asking and isinstance(error, SparkOnly)
    if asking:
        try:
            found = _here(context, schemas, work, Budget.within(context.memory.lent), _far(context))
            return found, replace(where, reason=f"{where.reason}; a small change, for which it looks up what meets it")
        except (OutOfBounds, SparkOnly, duckdb.Error) as error:
            where = Place(SPARK, f"{where.reason}; looked up rows for a change, but {_why(error)}")
    port = spark_port(context.spark, schemas, context.path("kept", secrets.token_hex(8)))
    try:
        return work(port), where
    finally:
        port.release()


def _here(
    context: Context, schemas: Schemas, work: Callable[[Engine], T], budget: Budget, far: FarRelations | None = None
) -> T:
    with session(context.memory.lent, context.spill) as connection:
        backend = DuckDBBackend(Tables(connection, dict(schemas), budget, context.opened))
        return work(DuckDBPort(backend, _near_by(context), far))


def _why(error: Exception) -> str:
    return f"DuckDB says: {error}" if isinstance(error, duckdb.Error) else str(error)


def asks(context: Context, strategy: str, situation: Situation) -> bool:
    """Whether it is enough to ask Spark for what meets a change of a stratum."""
    sources = (one.rows for one in captures_of(context).values())
    views = (pin.rows for pin in context.previous.views.values()) if context.previous else ()
    largest = max((LARGE if rows is None else rows for rows in (*sources, *views)), default=0)
    return may_ask(strategy, sum(size.changed for size in situation.sizes.values()), largest)


def _far(context: Context, *, all_here: bool = False) -> FarRelations:
    """What Spark is asked for: what is large, or else only what this process cannot read."""
    return FarRelations(context.spark, sys.maxsize if all_here else LARGE)


def schemas_of(program: Program, procedure: Procedure | None = None) -> dict[str, tuple[Type, ...]]:
    """The types of the columns of all relations, and of the helpers of a procedure."""
    of_program = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    return of_program | (procedure.helper_types if procedure else {})


def _near_by(context: Context) -> Callable[[Located], Callable[[int], Near | None]] | None:
    """What strata have looked up in sources together."""
    shared = context.shared
    if shared is None:
        return None
    return lambda one: near(shared, one.relation, [column.type for column in one.columns], one.hidden)


def _asked_by_any(context: Context, source: str) -> Located:
    """A source as it is now, with the columns that some stratum asks for."""
    if captured_of(context, source).taken_whole:
        return located(context, source, Version.NEW)
    rules = [rule for stratum in context.layering.strata for view in stratum.views for rule in view.rules]
    versions = (Version.NEW, Version.OLD, Version.PLUS, Version.MINUS)
    return asked([located(context, source, version) for version in versions], places_named(source, rules))[0]


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

    in_spark = any(wish(stratum.engine).engine == "spark" for stratum in context.layering.strata)

    @functools.cache
    def asked_for(name: str) -> Located:
        return _asked_by_any(context, name)

    def source(tables: Tables, name: str) -> Table:
        return bound(tables, asked_for(name), far=_far(context, all_here=not in_spark))

    def changes(tables: Tables, name: str) -> Sequence[Table]:
        sides = (located(context, name, version) for version in (Version.PLUS, Version.MINUS))
        return [part.table for one in sides for part in parts(tables, one)]

    with session(context.memory.lent, context.spill) as connection:
        ((schema,),) = connection.execute("SELECT current_schema()").fetchall()
        tables = Tables(connection, schemas, open=context.opened)
        shared = Shared(tables, schema, ways, source, changes, lambda name: asked_for(name).hidden)
        context.shared = shared
        try:
            yield
        finally:
            context.shared = None
