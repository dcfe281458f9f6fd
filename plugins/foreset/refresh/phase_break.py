"""What the deletion part of a stratum hands over to its insertion part, perhaps in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.ir.program import Column
from foreset.ir.reads import handed_over
from foreset.ir.steps import Procedure, Ref
from foreset.ir.types import BIGINT, Type
from foreset.ir.versions import Version
from foreset.records.strata import Handover, StagedFile, StagedVersion
from foreset.refresh.context import Context
from foreset.refresh.staging import stage, staged_frame
from foreset.store.types import column_names

if TYPE_CHECKING:
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Piece

TALLIES = (Column("base", BIGINT), Column("recursive", BIGINT))


def save(context: Context, backend: SparkBackend, procedure: Procedure, folder: tuple[str, ...]) -> Handover:
    """Stage the versions and the changes of counters that the last phase reads; says where they lie."""
    from foreset.backends.spark.cutting import cut

    frames = backend.versions
    versions = []
    for number, ref in enumerate(handed_over(procedure)):
        columns = _plain(frames.schemas[ref.relation])
        staged = stage(context, frames.stored(ref), columns, *folder, f"{number}-{ref.version}")
        versions.append(StagedVersion(ref.relation, ref.version, staged.path, staged.rows))
    counters = {}
    for view, counter in backend.counters.items():
        changes = counter.current()
        columns = (*_plain(frames.schemas[view]), *TALLIES)
        pieces = () if changes is None else (cut(changes),)
        counters[view] = stage(context, pieces, columns, *folder, view, "counters")
    return Handover(tuple(versions), counters, frames.rows_read)


def load(context: Context, backend: SparkBackend, saved: Handover) -> None:
    """Put back what `save` staged."""
    from foreset.backends.spark.counters import CounterFrames

    frames = backend.versions
    for staged in saved.versions:
        ref = Ref(staged.relation, Version(staged.version))
        frames.put(ref, *_pieces(context, staged.file, _plain(frames.schemas[ref.relation])))
    for view, file in saved.counters.items():
        kinds = frames.schemas[view]
        counter = backend.counters.setdefault(view, CounterFrames(len(kinds)))
        counter.changes += _pieces(context, file, (*_plain(kinds), *TALLIES))
    for name, rows in saved.rows_read.items():
        frames.rows_read[name] = frames.rows_read.get(name, 0) + rows


def _pieces(context: Context, file: StagedFile, columns: tuple[Column, ...]) -> tuple[Piece, ...]:
    from foreset.backends.spark.frames import Piece

    frame = staged_frame(context, file, columns)
    return () if frame is None else (Piece(frame, file.rows),)


def _plain(kinds: tuple[Type, ...]) -> tuple[Column, ...]:
    """Columns under the engine's own names."""
    return tuple(Column(name, kind) for name, kind in zip(column_names(len(kinds)), kinds, strict=True))
