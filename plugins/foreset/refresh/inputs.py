"""What a stratum starts from: the states that readers have, and the differentials of what lies below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.steps import Ref
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.plan import marks
from foreset.plan.translate import counts_itself
from foreset.records.strata import StagedView
from foreset.refresh.captured import captured_of, differential
from foreset.refresh.context import Context
from foreset.refresh.fits import pin_of
from foreset.refresh.staging import inside, staged_frame
from foreset.store import counters as stored_counters
from foreset.store import signed
from foreset.store.capture.origins import open_origin
from foreset.store.types import column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from foreset.backends.spark.counters import CounterFrames
    from foreset.backends.spark.frames import Frames, Piece


def staged_of(context: Context, view: str) -> StagedView:
    """What the finished stratum of `view` staged for it."""
    record = context.mark(marks.stratum(context.layering.of(view).number))
    assert record is not None, f"{view} is read before it is maintained"
    return record.views[view]


def put_input(context: Context, frames: Frames, name: str, *, new_only: bool, distinct: bool) -> None:
    """Put what a stratum reads of a lower relation: its states and its differential."""
    from foreset.backends.spark.frames import Piece

    if name in context.run.sources:
        _put_source(context, frames, name, new_only=new_only, distinct=distinct)
        return
    staged, columns = staged_of(context, name), context.view(name).columns
    put_old(context, frames, name)
    for version, file in ((Version.PLUS, staged.plus), (Version.MINUS, staged.minus)):
        frame = staged_frame(context, file, columns)
        if frame is not None:
            frames.put(Ref(name, version), Piece(inside(frame, columns), file.rows))


def _put_source(context: Context, frames: Frames, name: str, *, new_only: bool, distinct: bool) -> None:
    """The source's old and new state and its differential; a refresh that builds reads the new state only."""
    from pyspark.sql import functions as F

    from foreset.backends.spark.frames import Piece, anti

    source, captured = context.source(name), captured_of(context, name)
    new = source_at(context, name, context.run.sources[name].to_version, distinct=distinct)
    frames.put(Ref(name, Version.NEW), Piece(new, captured.rows))
    if new_only:
        return
    found = differential(context, name)
    assert found is not None, "a source that was taken whole is only read to build"
    assert context.previous is not None, "without an earlier refresh every source is taken whole"
    if captured.old_lost:
        gone = anti(new, F.broadcast(inside(found.plus, source.columns)))
        old = gone.unionAll(inside(found.minus, source.columns))
    else:
        old = source_at(context, name, context.previous.sources[name].to_version, distinct=distinct)
    # At most: the log says how many there are now, and a table that has lost all its rows was not empty before.
    before = None if captured.rows is None else captured.rows + found.counts.deleted
    frames.put(Ref(name, Version.OLD), Piece(old, before))
    for version, frame, rows in (
        (Version.PLUS, found.plus, found.counts.inserted),
        (Version.MINUS, found.minus, found.counts.deleted),
    ):
        frames.put(Ref(name, version), Piece(inside(frame, source.columns), rows))


def source_at(context: Context, name: str, version: int, *, distinct: bool) -> DataFrame:
    """A source at a version. Copies of a row count as derivations, so tallies need it `distinct`; sets do not."""
    source = context.source(name)
    rows = inside(open_origin(context.spark, source, context.layout.root, version).at(version), source.columns)
    return rows.distinct() if distinct else rows


def put_old(context: Context, frames: Frames, view: str) -> None:
    """Put the state of a view that readers have now."""
    from foreset.backends.spark.frames import Piece

    pin, columns = pin_of(context, view), context.view(view).columns
    if pin is None:
        return
    names = [column.name for column in columns]
    rows = signed.read(context.spark, context.layout.resolve(pin.path), pin.version, names)
    frames.put(Ref(view, Version.OLD), Piece(inside(rows, columns), pin.rows))


def counters_of(context: Context, frames: Frames, stratum: Stratum, view: str) -> CounterFrames:
    """The stored counters; where no row can have two derivations, none are stored and needed."""
    from foreset.backends.spark.counters import CounterFrames

    width = len(frames.schemas[view])
    if counts_itself(stratum):
        return CounterFrames(width, single=True)
    names = column_names(width)
    assert context.previous is not None
    pin = context.previous.state[view]
    columns = [column.name for column in context.view(view).columns]

    def lookup(rows: Piece) -> DataFrame:
        keys = rows.frame.toDF(*columns)
        path = context.layout.resolve(pin.path)
        sums = stored_counters.read(context.spark, path, pin.version, columns, keys, few=rows.small)
        return sums.toDF(*names, "base", "recursive")

    return CounterFrames(width, lookup)
