"""`deny:` evaluated: which bindings of a body hold in the new state, all of them or those that a change has made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from foreset.backends.duckdb.backend import DuckDBBackend
from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.tables import Tables
from foreset.ir.program import Column
from foreset.ir.rules import Rule, atoms
from foreset.ir.steps import Procedure
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.values import sort_key
from foreset.machine.machine import Machine
from foreset.maintain.deny import denied, deny
from foreset.plan.place import DUCKDB
from foreset.refresh.captured import captured_of
from foreset.refresh.choosing import size_of
from foreset.refresh.context import Context
from foreset.refresh.fits import pin_of
from foreset.refresh.inprocess import place_of
from foreset.refresh.inputs import put_input, staged_of
from foreset.refresh.inputs_here import Inputs
from foreset.store.delta import SparkOnly
from foreset.store.spark_values import collected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_HERE = 100_000  # bindings that are told one by one; of more Spark tells


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the new state has to be looked at."""

    changed: int  # rows that came or went in the relations of the body
    known: bool  # every one of them has its differential


@dataclass(frozen=True, slots=True)
class Violations:
    """The offending bindings: how many, some or all of them in order, and all of them."""

    count: int
    rows: tuple[Row, ...]
    frame: DataFrame | None  # under names by position: variables may differ by their case alone; None: `rows` has all


def reach_of(context: Context, rule: Rule) -> Reach:
    """What this refresh changed below a body."""
    changed, known = 0, context.previous is not None
    for name in _reads(rule):
        if name in context.run.sources:
            captured = captured_of(context, name)
            changed += captured.changed
            known = known and not captured.taken_whole
        else:
            changed += staged_of(context, name).changed
            known = known and pin_of(context, name) is not None
    return Reach(changed, known)


def violations(context: Context, rule: Rule, columns: Sequence[Column], limit: int, *, whole: bool) -> Violations:
    """The bindings of a body: all that hold in the new state, or only those with a part that changed.

    In this process where little has to be looked at, as strata are; else in Spark.
    """
    procedure = deny(rule, columns, whole=whole)
    schemas = {name: tuple(c.type for c in its) for name, its in context.program.columns_of().items()}
    schemas |= procedure.helper_types
    reads = _reads(rule)
    where = place_of(context, "recompute" if whole else "", {name: size_of(context, name) for name in reads})
    if where.engine == DUCKDB:
        with suppress(OutOfBounds, SparkOnly, duckdb.Error), session(spill=context.spill) as connection:
            tables = Tables(connection, schemas, open=context.opened)
            below = Inputs(context, tables, procedure.phases, building=whole, tallying=False)
            for name in reads:
                below.put(name)
            return _here(tables, procedure, rule, [column.type for column in columns], context.program.max_rounds)
    return _in_spark(context, procedure, schemas, rule, columns, limit, whole=whole)


def _reads(rule: Rule) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atom.relation for atom, _ in atoms(rule)))


def _here(tables: Tables, procedure: Procedure, rule: Rule, kinds: Sequence[Type], max_rounds: int) -> Violations:
    Machine(DuckDBBackend(tables), max_rounds).run(*procedure.phases)
    found = tables.whole(denied(rule))
    if found.rows > MOST_HERE:
        raise OutOfBounds(f"more than {MOST_HERE:,} bindings are found")
    return Violations(found.rows, tuple(sorted(tables.fetch(found, kinds), key=sort_key)), None)


def _in_spark(
    context: Context, procedure: Procedure, schemas: dict[str, tuple[Type, ...]], rule: Rule,
    columns: Sequence[Column], limit: int, *, whole: bool,
) -> Violations:  # fmt: skip
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Frames

    frames = Frames(context.spark, schemas)
    for name in _reads(rule):
        put_input(context, frames, name, new_only=whole, distinct=False)
    Machine(SparkBackend(frames), context.program.max_rounds).run(*procedure.phases)
    piece = frames.read(denied(rule))
    some = piece.frame.orderBy(*piece.frame.columns).limit(limit)
    rows = collected(some, [column.type for column in columns]) if piece.rows else []
    return Violations(piece.rows or 0, tuple(rows), piece.frame)
