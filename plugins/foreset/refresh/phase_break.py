"""What the deletion part of a stratum hands over to its insertion part, perhaps in another process."""

from __future__ import annotations

from foreset.ir.program import Column
from foreset.ir.reads import handed_over
from foreset.ir.steps import Procedure
from foreset.ir.types import BIGINT, Type
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.records.strata import Handover, StagedVersion
from foreset.relations.frames import SparkPort
from foreset.relations.located import staged
from foreset.store.layout import join
from foreset.store.types import column_names

TALLIES = (Column("base", BIGINT), Column("recursive", BIGINT))


def save(port: SparkPort, procedure: Procedure, folder: str) -> Handover:
    """Stage the versions and the changes of counters that the last phase reads; says where they lie."""
    frames = port.frames
    versions = []
    for number, ref in enumerate(handed_over(procedure)):
        file = port.stage(ref, _plain(frames.schemas[ref.relation]), join(folder, f"{number}-{ref.version}"))
        versions.append(StagedVersion(ref.relation, ref.version, file.path, file.rows))
    counters = {
        view: port.stage_changes(view, (*_plain(frames.schemas[view]), *TALLIES), join(folder, view, "counters"))
        for view in port.backend.counters
    }
    return Handover(tuple(versions), counters, frames.rows_read)


def load(port: SparkPort, saved: Handover, reads: Reads) -> None:
    """Put back what `save` staged."""
    frames = port.frames
    for one in saved.versions:
        columns = _plain(frames.schemas[one.relation])
        port.put([staged(one.relation, Version(one.version), columns, one.file)], reads)
    for view, file in saved.counters.items():
        port.take_changes(view, staged(view, Version.CURRENT, (*_plain(frames.schemas[view]), *TALLIES), file))
    for name, rows in saved.rows_read.items():
        frames.rows_read[name] = frames.rows_read.get(name, 0) + rows


def _plain(kinds: tuple[Type, ...]) -> tuple[Column, ...]:
    """Columns under the names that they have in steps."""
    return tuple(Column(name, kind) for name, kind in zip(column_names(len(kinds)), kinds, strict=True))
