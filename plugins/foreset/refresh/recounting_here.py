"""`--verify full` in this process: every view computed anew on DuckDB by the rules as written, and compared.

What it finds is what `recounting.py` finds in Spark; too many rows for here end it with `OutOfBounds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreset.analyse.needs import needs_of
from foreset.analyse.strata import layering
from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.tables import Part, Sql, Table, Tables
from foreset.ir.steps import Ref
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.translate import translate
from foreset.refresh.context import Context
from foreset.refresh.inputs_here import Inputs
from foreset.store.types import column_names

SHOWN = 20
Difference = tuple[str, int, list[Row], list[Row]]


def differences_here(context: Context) -> Iterator[Difference]:
    """Each view with its number of rows, those missing in the staged result, and those too many there."""
    program, written = context.judge()
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    kept = {view.name for view in context.program.views}
    with session(spill=context.spill) as connection:
        tables = Tables(connection, schemas, open=context.opened)
        below = Inputs(context, tables, None, building=True, tallying=True)
        for source in program.sources:
            below.put(source.name)
        for stratum in written.strata:
            if stratum.own_way:  # what was answered is the truth of this refresh, and constraints are no rows
                for name in stratum.names:
                    below.put_view(name)
                continue
            for name, full in _derived(context, stratum, tables):
                if name in kept:
                    yield name, full.rows, *_compared(below, name, full)
                tables.put(Ref(name, Version.NEW), Part(full))
        for need in needs_of(program.views):  # by the rules that use the answers
            for version in Version:  # all of them go by one name
                tables.put(Ref(need.view.name, version))
            tables.schemas[need.view.name] = tuple(column.type for column in need.view.columns)
            (stratum,) = layering((need.view,), program.columns_of()).strata
            ((_, full),) = _derived(context, stratum, tables)
            asked = column_names(len(need.view.columns))[len(need.seeds) :]
            named = ", ".join(f"{c} AS {new}" for c, new in zip(asked, column_names(len(asked)), strict=True))
            wanted = tables.make(Sql(f"SELECT DISTINCT {named} FROM {full.name}"))  # noqa: S608 - our own names
            missing = tables.make(tables.without(wanted, [Ref(need.asks, Version.NEW)]))
            yield need.asks, full.rows, _some(tables, missing, schemas[need.asks]), []


def _derived(context: Context, stratum: Stratum, tables: Tables) -> list[tuple[str, Table]]:
    """The views of a stratum, all of it derived from what is below."""
    procedure = translate(stratum, "recompute")
    tables.schemas |= procedure.helper_types
    Machine(DuckDBBackend(tables), context.program.max_rounds, context.listen).run(*procedure.phases)
    return [(name, tables.whole(Ref(name, Version.FULL))) for name in stratum.names]


def _compared(below: Inputs, name: str, full: Table) -> tuple[list[Row], list[Row]]:
    """What the staged state of a view lacks, and what it has too much."""
    tables = below.tables
    below.put_view(name)
    staged = Ref(name, Version.NEW)  # the state before, less what went, with what came
    missing = tables.make(tables.without(full, [staged]))
    state = tables.whole(staged)
    tables.put(Ref(name, Version.FULL), Part(full))
    extra = tables.make(tables.without(state, [Ref(name, Version.FULL)]))
    kinds = tables.schemas[name]
    return _some(tables, missing, kinds), _some(tables, extra, kinds)


def _some(tables: Tables, rows: Table, kinds: Sequence[Type]) -> list[Row]:
    shown = tables.make(Sql(f"SELECT * FROM (SELECT * FROM {rows.name} LIMIT {SHOWN})"))  # noqa: S608 - our own names
    return tables.fetch(shown, kinds)
