"""`Spread` in Spark: both helper relations come to the driver as Arrow, and what moved goes back so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.frames import Frames, Piece
from foreset.ir.steps import Ref, Spread
from foreset.ir.versions import Version
from foreset.plan import giving_up
from foreset.store.types import row_schema

if TYPE_CHECKING:
    import pyarrow as pa


def spread(step: Spread, frames: Frames) -> tuple[list[Piece], list[Piece]]:
    """What came to the relation and what went; raises `GivenUp` where too much would come to the driver."""
    from foreset.bitsets import change

    old, new = (
        change.Tables(*(frames.read(Ref(name, version)).frame.toArrow() for name in (step.base, step.needs)))
        for version in (Version.OLD, Version.FULL)
    )
    plus, minus, moved = list[Piece](), list[Piece](), 0
    for portion in change.changes(old, new, step.key):
        moved += portion.rows.num_rows
        giving_up.check_moved(step.relation, moved)
        (plus if portion.came else minus).append(_piece(portion.rows, step.relation, frames))
    return plus, minus


def _piece(rows: pa.Table, relation: str, frames: Frames) -> Piece:
    fields = row_schema(frames.schemas[relation]).fields
    frame = frames.spark.createDataFrame(rows)
    return Piece(frame.select(*(F.col(field.name).cast(field.dataType) for field in fields)), rows.num_rows)
