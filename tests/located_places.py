"""Places of every kind that hold the same rows, for each reader of located relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from foreset.ir.program import Column, Source
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, STRING
from foreset.ir.versions import Version
from foreset.relations.arrow import table_of
from foreset.relations.located import COUNTERS, AtHand, Composed, CountersAt, Folder, Located, Place, SignedAt, SourceAt
from foreset.relations.staged import stage
from foreset.store import counters, signed
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin
from foreset.store.delta import Mark
from foreset.store.write_once import Txn

COLUMNS = (Column("n", BIGINT), Column("what is it?", STRING))
ROWS: frozenset[Row] = frozenset({(1, "x"), (2, None), (None, "y")})
GONE: frozenset[Row] = frozenset({(7, "z"), (None, None)})


def txn(number: int) -> Txn:
    return Txn(f"app-{number}", number, Mark("write", token=str(number)))


def places(root: Path) -> Mapping[str, Located]:
    """Each kind once; a source has copies of a row, and a signed table rows that went."""
    kinds = {column.name: str(column.type) for column in COLUMNS}
    every, gone = table_of(ROWS | GONE, COLUMNS), table_of(GONE, COLUMNS)
    write_deltalake(str(root / "raw" / "s"), pa.concat_tables([table_of(ROWS, COLUMNS)] * 2))
    source = Source("r", COLUMNS, "raw/s")
    pinned = tuple(PinnedColumn(name, kind, name) for name, kind in kinds.items())
    view = str(root / "view")
    signed.create(view, kinds)
    signed.append(view, every, gone.slice(0, 0), 1, txn(1))
    signed.append(view, gone.slice(0, 0), gone, 2, txn(2))
    folder = stage((table_of(ROWS, COLUMNS),), COLUMNS, str(root / "staged")).path
    assert folder is not None
    here = Located("r", Version.CURRENT, COLUMNS, AtHand(ROWS))
    stays: frozenset[Row] = frozenset({(1, "x")})
    sides = ((Version.NEW, GONE | stays), (Version.PLUS, GONE), (Version.MINUS, ROWS - stays))
    parts = [Located("r", version, COLUMNS, AtHand(rows)) for version, rows in sides]
    found: dict[str, Place] = {
        "source": SourceAt(source, str(root), RecordedPin("id", 0, pinned)),
        "signed": SignedAt(view, DeltaTable(view).version()),
        "folder": Folder(folder),
        "at hand": AtHand(ROWS),
        "composed": Composed(*parts),
        "composed, and by itself": Composed(*parts, itself=here),
    }
    return {name: Located("r", Version.OLD, COLUMNS, place) for name, place in found.items()}


def counted(root: Path) -> Located:
    """Counters of the rows: of one of them in two entries."""
    path = str(root / "counters")
    counters.create(path, {column.name: str(column.type) for column in COLUMNS})
    for number, rows in enumerate(([(*row, 1, 0) for row in ROWS], [(1, "x", 1, 1)]), 1):
        counters.append(path, table_of(rows, (*COLUMNS, *COUNTERS)), number, txn(number))
    here = Located("r", Version.OLD, (*COLUMNS, *COUNTERS))
    return replace(here, place=CountersAt(path, DeltaTable(path).version()))
