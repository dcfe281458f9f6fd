"""`deny:` evaluated: which bindings of a body hold in the new state, all of them or those that a change has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreset.ir.program import Column
from foreset.ir.rules import Rule, atoms
from foreset.ir.terms import Row
from foreset.maintain.deny import denied, deny
from foreset.refresh.capturing import capture_one
from foreset.refresh.context import Context
from foreset.refresh.fits import pin_of
from foreset.refresh.inputs import put_input, view_facts
from foreset.store.spark_values import collected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the new state has to be looked at."""

    changed: int  # rows that came or went in the relations of the body
    known: bool  # every one of them has its differential


@dataclass(frozen=True, slots=True)
class Violations:
    """The offending bindings: how many, some of them in order, and all of them."""

    count: int
    rows: tuple[Row, ...]
    frame: DataFrame  # under names by position: variables may differ by their case alone


def reach_of(context: Context, rule: Rule) -> Reach:
    """What this refresh changed below a body."""
    changed, known = 0, context.previous is not None
    for name in dict.fromkeys(atom.relation for atom, _ in atoms(rule)):
        if name in context.run.sources:
            facts: Mapping[str, Any] = capture_one(context, name)
            changed += facts["inserted"] + facts["deleted"]
            known = known and not facts["taken_whole"]
        else:
            sides = view_facts(context, name)
            changed += sides["plus"]["rows"] + sides["minus"]["rows"]
            known = known and pin_of(context, name) is not None
    return Reach(changed, known)


def violations(context: Context, rule: Rule, columns: Sequence[Column], limit: int, *, whole: bool) -> Violations:
    """The bindings of a body: all that hold in the new state, or only those with a part that changed."""
    from foreset.engine.frames import Frames
    from foreset.engine.run import Engine

    procedure = deny(rule, columns, whole=whole)
    schemas = {name: tuple(c.type for c in its) for name, its in context.program.columns_of().items()}
    schemas |= {helper.name: tuple(column.type for column in helper.columns) for helper in procedure.helpers}
    frames = Frames(context.spark, schemas)
    for name in dict.fromkeys(atom.relation for atom, _ in atoms(rule)):
        put_input(context, frames, name, new_only=whole, distinct=False)
    engine = Engine(frames, context.program.max_rounds)
    for phase in procedure.phases:
        engine.run(phase)
    piece = frames.read(denied(rule))
    some = piece.frame.orderBy(*piece.frame.columns).limit(limit)
    rows = collected(some, [column.type for column in columns]) if piece.rows else []
    return Violations(piece.rows or 0, tuple(rows), piece.frame)
