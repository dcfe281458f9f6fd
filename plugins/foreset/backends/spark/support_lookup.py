"""`Follow` in Spark: the few rows that are followed are sent to the supports, which are not moved."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.frames import Frames
from foreset.backends.spark.terms import literal_column
from foreset.ir.rules import Rule
from foreset.ir.steps import Follow, Ref
from foreset.ir.terms import Const
from foreset.ir.types import Type
from foreset.machine.links import linked, shared
from foreset.store.types import column_names, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def follow(step: Follow, frames: Frames) -> DataFrame | None:
    """The rows of the source that agree with a row of some link."""
    found = [frame for link in step.links if (frame := _linked(link, step.source, frames)) is not None]
    if not found:
        return None
    rows = reduce(lambda a, b: a.unionAll(b), found)
    return rows.distinct() if len(found) > 1 else rows  # a support may stand on several of the rows


def _linked(link: Rule, source: Ref, frames: Frames) -> DataFrame | None:
    atom = linked(link)
    ref = Ref(atom.relation, atom.version)
    if frames.empty(ref):
        return None
    ours, theirs = shared(link, frames.schemas)
    few, rows = frames.few(ref), frames.read(source).frame
    keys = frames.read(ref).frame
    for label, arg in zip(column_names(len(atom.args)), atom.args, strict=True):
        if isinstance(arg, Const):
            keys = keys.where(F.col(label) == literal_column(arg))
    if not ours:
        return rows.join(F.broadcast(keys.limit(1)), F.lit(True), "left_semi")
    keys = keys.select(*(_read(i, kind).alias(f"k{n}") for n, (i, kind) in enumerate(theirs)))
    same = [_read(i, kind).eqNullSafe(F.col(f"k{n}")) for n, (i, kind) in enumerate(ours)]
    return rows.join(F.broadcast(keys) if few else keys, reduce(lambda a, b: a & b, same), "left_semi")


def _read(position: int, kind: Type | None) -> Column:
    column = F.col(f"c{position}")
    return column if kind is None else column.cast(spark_type(kind))
