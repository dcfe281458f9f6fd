"""Located relations as the files that hold them, or as what Arrow reads: for who asks for some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.dataset as arrow_dataset
from pyarrow.dataset import Dataset

from foreset.ir.program import Source
from foreset.ir.sizes import width_of
from foreset.ir.types import STRING
from foreset.relations import arrow
from foreset.relations.located import Folder, Located, SignedAt, SourceAt
from foreset.store import delta, manifest, scratch
from foreset.store.capture.versions import parse_columns
from foreset.store.layout import is_local, table_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

Files: TypeAlias = tuple[str, ...]
Plain: TypeAlias = pa.Table | Dataset | Files  # where a row is there or not



@dataclass(frozen=True, slots=True)
class SignedFiles:
    """The entries of a signed table (store/signed.py), what came and what went: files in folders named by the refresh
    that wrote them; or, where DuckDB does not open those by name, with that refresh in a column.
    """

    came: Files | Dataset
    went: Files | Dataset


Rows: TypeAlias = Plain | SignedFiles | None


def entries(located: Located, open_at: delta.OpenAt = delta.open_table) -> Rows:
    """Rows, or the signed entries of which they are made; None for none. Raises `SparkOnly` as `plain` does."""
    place = located.place
    if place is None:
        return None
    signed = _signed(place, open_at) if isinstance(place, SignedAt) else None
    return plain(located, open_at) if signed is None else signed


def plain(located: Located, open_at: delta.OpenAt = delta.open_table) -> Plain:
    """Rows that are there, in their files where DuckDB reads those as they are: that takes a fraction of the time."""
    match located.place:
        case Folder(path):
            return tuple(sorted(map(str, Path(path).rglob("*.parquet")))) if is_local(path) else _folder(path)
        case SourceAt() as place:
            return _files_of_source(place, located.names, open_at) or arrow.of_source(place, open_at)
        case _:
            return arrow.table(located, open_at)


@dataclass(frozen=True, slots=True)
class Held:
    """How much a version of a source holds; None where its log does not say."""

    rows: int | None = None
    stored: int | None = None  # bytes of the declared columns in its files, about


def held_in_log(
    root: str, source: Source, version: int | None = None, open_at: delta.OpenAt = delta.open_table
) -> Held:
    """What a source holds at a version (the newest without one), as its log says it."""
    if source.view is not None:
        group, view = source.group_and_view
        row = manifest.newest(root, group) if version is None else manifest.at(root, group, version)
        return Held(row.views[view].rows if row and view in row.views else None)
    path = table_path(root, str(source.table))
    try:
        with delta.reading(path):
            table = delta.open_table(path) if version is None else open_at(path, version)
            if table is None:
                return Held()
            files = delta.listed_files(table)
            return Held(delta.rows_in(files), int(_share(table, source) * sum(int(one["size_bytes"]) for one in files)))
    except delta.SparkOnly:  # sizes are a help, not a need
        return Held()


def _share(table: DeltaTable, source: Source) -> float:
    """The part of a table that its declared columns are, by their types."""
    wanted = {column.name.lower() for column in source.columns}
    every = parse_columns(table.schema().to_json())
    widths = {column.name.lower(): width_of(column.type or STRING) for column in every}
    return sum(width for name, width in widths.items() if name in wanted) / max(sum(widths.values()), 1)


def one_part(rows: Plain, number: int) -> Plain:
    """One of the files that hold rows: enough to draw some from, however many files there are."""
    if isinstance(rows, tuple):
        return rows[number % len(rows) :][:1] if rows else rows
    fragments = list(rows.get_fragments()) if isinstance(rows, arrow_dataset.FileSystemDataset) else []
    if not fragments:
        return rows
    chosen = [fragments[number % len(fragments)]]
    return arrow_dataset.FileSystemDataset(chosen, rows.schema, rows.format, rows.filesystem)


def _folder(path: str) -> Dataset:
    return arrow_dataset.dataset(path, format="parquet")


def _signed(place: SignedAt, open_at: delta.OpenAt) -> SignedFiles | None:
    with delta.reading(place.path):
        table = open_at(place.path, place.version)
        if table is None:
            return None
        listed = delta.listed_files(table)
        files = delta.on_this_disk(place.path, listed)
        if files is None:
            of = table.to_pyarrow_dataset
            came, went = (of(file_pruning_predicate=[(delta.SIGN, "=", sign)]) for sign in ("1", "-1"))
            return SignedFiles(came, went)
    pairs = [(file, one[f"partition.{delta.SIGN}"]) for file, one in zip(files, listed, strict=True)]
    return SignedFiles(*(tuple(file for file, sign in pairs if sign == wanted) for wanted in (1, -1)))


def _files_of_source(place: SourceAt, names: Sequence[str], open_at: delta.OpenAt) -> Files | None:
    """The files of a table of others, where they hold its rows as they are."""
    if place.source.view is not None:
        return None
    path = table_path(place.root, str(place.source.table))
    with delta.reading(path):
        table = open_at(path, place.pin.version)
        if table is None or table.metadata().partition_columns:
            return None
        table.to_pyarrow_dataset()  # refuses deletion vectors and the like, of which the files alone say nothing
        files = delta.on_this_disk(path, delta.listed_files(table))
    return tuple(files) if files and _hold(files, names) else None


def _hold(files: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the files have all these columns between them; a table may have one that no file has yet."""
    with scratch.cursor() as connection:
        return set(names) <= set(connection.read_parquet(list(files), union_by_name=True).columns)
