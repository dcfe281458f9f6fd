"""One import: from files to a version of a table, checked before anything is written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foreset.errors import UsageError
from foreset.intake import tables
from foreset.intake.columns import Planned, bind, chosen, plan
from foreset.intake.files import Dialect, Files, find_files, opened, reading
from foreset.intake.infer import look
from foreset.intake.keys import IN_TABLE, check_key, check_new, likely_key
from foreset.intake.tables import Existing, Mode
from foreset.ir.types import Type
from foreset.store import delta

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asks for."""

    file: str
    table: str
    mode: Mode = Mode.CREATE
    key: tuple[str, ...] | None = None  # None: nothing was said; (): there is none
    types: Mapping[str, Type] = field(default_factory=dict)
    format: str = ""
    dialect: Dialect = field(default_factory=Dialect)
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What the files hold, and what the table will be like."""

    files: Files
    rows: int
    columns: tuple[Planned, ...]
    key: tuple[str, ...] | None  # None: nobody has said
    there: Existing | None
    likely: str = ""  # a column that could be the key


@dataclass(frozen=True, slots=True)
class Done:
    """What was written; `version` is None after a dry run."""

    table: str
    path: str
    version: int | None
    made: bool
    found: Found
    counts: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        columns = [
            {"name": one.name, "type": str(one.type), "in_files": one.found.name, "note": one.note}
            for one in self.found.columns
        ]
        return {"table": self.table, "path": self.path, "version": self.version, "made": self.made,
                "files": self.found.files.paths, "rows": self.found.rows, "columns": columns,
                "key": self.found.key or (), **self.counts}  # fmt: skip


Ask = Callable[[Found], tuple[str, ...]]


def import_files(
    root: str,
    wish: Wish,
    ask: Ask,
    show: Callable[[Found], None] = lambda _: None,
    listen: Callable[[int], None] = lambda _: None,
) -> Done:
    """Read, check and write; `ask` names the key where nobody has."""
    path = tables.place_of(root, wish.table)
    files = find_files(wish.file, wish.format)
    there = tables.existing(path, wish.table)
    if there is not None and wish.mode is Mode.CREATE:
        rows = "" if there.rows is None else f", {there.rows:,} rows"
        raise UsageError(
            f"table {wish.table} exists already (version {there.table.version()}{rows})",
            "choose: --append adds the rows of the files, --upsert also changes the rows with the same key, "
            "--replace replaces the whole table",
        )
    with (
        tempfile.TemporaryDirectory(prefix="foreset-import-") as folder,
        opened(files, wish.dialect, folder) as connection,
    ):
        with reading(files):
            found = _looked(connection, files, wish, there)
        show(found)
        if found.key is None:
            found = replace(found, key=ask(found))
        with reading(files):
            _checked(connection, found, wish)
        if wish.dry_run:
            return Done(wish.table, path, None, there is None, found, {})
        version, counts = tables.write(connection, path, found.columns, found.key or (), wish.mode, there, listen)
    return Done(wish.table, path, version, there is None, found, counts)


def _looked(connection: duckdb.DuckDBPyConnection, files: Files, wish: Wish, there: Existing | None) -> Found:
    seen = look(connection, files.format)
    stays = there if wish.mode in (Mode.APPEND, Mode.UPSERT) else None
    columns = plan(seen, wish.types, stays.types if stays else {})
    bind(connection, columns)
    names = [one.name for one in columns]
    key = wish.key if wish.key is None else tuple(dict.fromkeys(chosen(one, names, seen) for one in wish.key))
    if key is None and there is not None and set(there.key) <= set(names):
        key = there.key  # asked for when it was made
    likely = likely_key(connection, columns, seen.rows) if key is None else ""
    return Found(files, seen.rows, columns, key, there, likely)


def _checked(connection: duckdb.DuckDBPyConnection, found: Found, wish: Wish) -> None:
    """Everything that can be wrong with the rows, before one is written."""
    if not found.key:
        if wish.mode is Mode.UPSERT:
            raise UsageError("--upsert needs a key, to find the rows to change", "give it, for example `--key id`")
        return
    check_key(connection, found.key)
    if found.there is not None and wish.mode is Mode.APPEND:
        with delta.reading(found.there.table.table_uri):
            connection.register(IN_TABLE, found.there.table.to_pyarrow_dataset())
        check_new(connection, found.key)
