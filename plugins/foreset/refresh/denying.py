"""`deny:` evaluated: which bindings of a body hold in the new state, all of them or those that a change has made."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.ir.program import Column
from foreset.ir.rules import Rule, atoms
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.values import sort_key
from foreset.machine.stratum import Task, run_stratum
from foreset.maintain.deny import denied, deny
from foreset.plan.choose import Situation
from foreset.plan.place import deployed
from foreset.refresh.capturing import captured_of
from foreset.refresh.choosing import size_of
from foreset.refresh.context import Context
from foreset.refresh.engines import Engine, do_in, place_of, schemas_of
from foreset.refresh.located import Inputs, pin_of, staged_of
from foreset.relations.frames import SparkPort, frame
from foreset.relations.located import staged
from foreset.store.spark_values import collected
from foreset.store.types import column_names

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
    procedure, reads = deny(rule, columns, whole=whole), _reads(rule)
    task = Task(procedure, reads, context.program.max_rounds)

    def work(port: Engine) -> Violations:
        run_stratum(task, port, Inputs(context))
        return _found(context, port, denied(rule), limit)

    sizes = {name: size_of(context, name) for name in reads}
    where = place_of(context, "recompute" if whole else "", Situation(sizes), deployed())
    return do_in(context, where, schemas_of(context.program, procedure), work)[0]


def _reads(rule: Rule) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atom.relation for atom, _ in atoms(rule)))


def _found(context: Context, port: Engine, ref: Ref, limit: int) -> Violations:
    if isinstance(port, SparkPort):
        kinds = port.frames.schemas[ref.relation]
        columns = tuple(Column(name, kind) for name, kind in zip(column_names(len(kinds)), kinds, strict=True))
        file = port.stage(ref, columns, context.path("denied", secrets.token_hex(8)))
        if not file.rows:
            return Violations(0, (), None)
        found = frame(port.frames.spark, staged(ref.relation, ref.version, columns, file))
        rows = collected(found.orderBy(*found.columns).limit(limit), kinds)
        return Violations(file.rows, tuple(rows), found)
    count = port.tables.count(ref)
    if count > MOST_HERE:
        raise OutOfBounds(f"more than {MOST_HERE:,} bindings are found")
    return Violations(count, tuple(sorted(port.rows(ref), key=sort_key)), None)
