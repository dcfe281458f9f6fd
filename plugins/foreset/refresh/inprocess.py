"""A stratum in this process: inputs by way of delta-rs, steps in DuckDB, results staged as Spark does it.

Nothing is staged before all phases are through, so Spark can take over at any moment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.counters import CounterTables
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.tables import Table, Tables
from foreset.errors import UsageError
from foreset.ir.program import Column
from foreset.ir.steps import Procedure, Ref
from foreset.ir.strata import Stratum
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.choose import Mode, Size, free
from foreset.plan.place import SPARK, Place, place
from foreset.plan.translate import COUNTED, counts_itself, keeps_counters
from foreset.records.strata import StagedFile, StagedView, StratumRecord
from foreset.refresh.bind_source import as_declared
from foreset.refresh.captured import captured_of
from foreset.refresh.choosing import reason_of, situation_of
from foreset.refresh.context import Context
from foreset.refresh.inputs_here import Inputs
from foreset.refresh.staging import stage_arrow
from foreset.relations import bind_files as inputs
from foreset.relations.bind_files import Stored
from foreset.store.delta import SparkOnly
from foreset.store.types import column_names

if TYPE_CHECKING:
    from foreset.plan.choose import Choice

VARIABLE = "FORESET_ENGINE"
ENGINES = ("auto", "spark", "inproc")


def placed(context: Context, stratum: Stratum, choice: Choice) -> Place:
    """Where a stratum begins, from what is known of its inputs."""
    return place_of(context, choice.strategy, situation_of(context, stratum).sizes)


def place_of(context: Context, strategy: str, sizes: Mapping[str, Size]) -> Place:
    """Where work on some relations begins, from what is known of them."""
    forced = os.environ.get(VARIABLE, "") or "auto"
    if forced not in ENGINES:
        raise UsageError(f"{VARIABLE} is {forced!r}", f"one of {', '.join(ENGINES)}")
    for name in sizes:
        if forced == "auto" and name in context.run.sources and captured_of(context, name).rows is None:
            return Place(SPARK, f"the log of source {name} does not say how many rows it has")
    return place(strategy, sizes, forced)


@dataclass(slots=True)
class Attempt:
    """What came of it: the record of the stratum, or why Spark must do it."""

    record: StratumRecord | None
    place: Place


def attempt(
    context: Context, stratum: Stratum, choice: Choice, procedure: Procedure, folder: tuple[str, ...]
) -> Attempt:
    """Do the whole stratum in process, if it is small enough and stays so."""
    where = placed(context, stratum, choice)
    if where.engine == SPARK:
        return Attempt(None, where)
    context.listen({"event": "engine", "stratum": stratum.number, "engine": where.engine, "reason": where.reason})
    try:
        with session(spill=context.spill) as connection:
            return Attempt(_Run(context, stratum, choice, procedure, connection).record(folder, where), where)
    except (OutOfBounds, SparkOnly, duckdb.Error) as error:
        if os.environ.get(VARIABLE) == "inproc":
            raise
        what = f"DuckDB says: {error}" if isinstance(error, duckdb.Error) else str(error)
        moved = Place(SPARK, f"begun in process with {where.reason}, but {what}")
        context.listen({"event": "engine", "stratum": stratum.number, "engine": moved.engine, "reason": moved.reason})
        return Attempt(None, moved)


class _Run:
    """One stratum, its inputs and its results."""

    def __init__(
        self, context: Context, stratum: Stratum, choice: Choice, procedure: Procedure,
        connection: duckdb.DuckDBPyConnection,
    ) -> None:  # fmt: skip
        self.context, self.stratum, self.choice, self.procedure = context, stratum, choice, procedure
        schemas = {name: tuple(c.type for c in columns) for name, columns in context.program.columns_of().items()}
        schemas |= procedure.helper_types
        self.tables = Tables(connection, schemas, open=context.opened)
        self.building = choice.strategy == "recompute"
        self.tallying = choice.strategy in COUNTED or (self.building and keeps_counters(stratum))

    def record(self, folder: tuple[str, ...], where: Place) -> StratumRecord:
        """Run all phases and stage what comes of them."""
        below = Inputs(self.context, self.tables, self.procedure.phases, self.building, self.tallying)
        for name in self.stratum.reads:
            below.put(name)
        for name in self.stratum.names:
            if self.choice.strategy != "spread":  # which reads no row of its view
                below.put_old(name)
        counted = self.stratum.names if self.choice.strategy in COUNTED else ()
        backend = DuckDBBackend(self.tables, {name: self._counters(name) for name in counted})
        may_give_up = free(self.stratum, Mode(self.context.plan.mode))
        machine = Machine(backend, self.context.program.max_rounds, self._told, may_give_up)
        for phase in self.procedure.phases:
            self._told({"event": "phase", "phase": phase.name})
            machine.run(phase)
        views = {name: self._stage_view(name, folder) for name in self.stratum.names}
        kept = [name for name in self.procedure.counted if keeps_counters(self.stratum)]
        states = {name: self._stage_counters(backend, name, folder) for name in kept}
        return StratumRecord(
            self.choice.strategy, reason_of(self.choice, self._circles()), views=views,
            rows=sum(staged.changed for staged in views.values()), rounds=backend.work.rounds, counted=tuple(kept),
            counters=states, rows_read=self.tables.rows_read, forgotten=self.building,
            engine=where.engine, engine_reason=where.reason,
        )  # fmt: skip

    def _circles(self) -> int:
        ref = self.procedure.circles
        return self.tables.count(ref) if ref else 0

    def _told(self, event: dict[str, Any]) -> None:
        self.context.listen({**event, "stratum": self.stratum.number})

    # ------------------------------------------------------------ counters
    def _counters(self, view: str) -> CounterTables:
        """The stored counters; where no row can have two derivations, none are stored and needed."""
        tables, names = self.tables, column_names(len(self.tables.schemas[view]))
        if counts_itself(self.stratum):
            return CounterTables(tables, view, single=True)
        assert self.context.previous is not None
        pin = self.context.previous.state[view]
        declared = as_declared(self.context.view(view).columns)
        columns = (
            *declared,
            Stored("_base", BIGINT, BIGINT, "base"),
            Stored("_recursive", BIGINT, BIGINT, "recursive"),
        )
        entries = inputs.bind_table(tables, view, self.context.layout.resolve(pin.path), pin.version, columns)
        if not entries.rows:
            return CounterTables(tables, view)
        return CounterTables(
            tables, view, lambda rows: tables.look(entries, rows, [(name, f"r.{name}", True) for name in names])
        )

    # ------------------------------------------------------------ results
    def _stage_view(self, view: str, folder: tuple[str, ...]) -> StagedView:
        columns = self.context.view(view).columns
        plus, minus = (self.tables.whole(Ref(view, version)) for version in (Version.PLUS, Version.MINUS))
        return StagedView(
            self._stage(plus, columns, *folder, view, "plus"), self._stage(minus, columns, *folder, view, "minus")
        )

    def _stage_counters(self, backend: DuckDBBackend, view: str, folder: tuple[str, ...]) -> StagedFile:
        change = backend.counters[view].current() if view in backend.counters else None
        named = (*self.context.view(view).columns, Column("_base", BIGINT), Column("_recursive", BIGINT))
        return self._stage(change, named, *folder, view, "counters")

    def _stage(self, table: Table | None, columns: tuple[Column, ...], *where: str) -> StagedFile:
        if table is None or not table.rows:
            return StagedFile()
        rows = self.tables.arrow(table)
        return stage_arrow(self.context, rows, columns, *where)
