"""A source table at one version: its shape, its past, and whether it fits the declared columns.

`tables.open_table` makes it; nothing here starts a Spark job.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any, cast

from foreset.errors import SourceError
from foreset.ir.program import Source
from foreset.ir.types import Type, array, fits, parse_type
from foreset.store.capture import errors
from foreset.store.capture.log import Commit, LogFiles, Metadata, can_rebuild, commit_name, mark_of, read_commits
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin

# The numbers as they are told by themselves: not in the name of a table.
_FORBIDDEN = re.compile(r"permission denied|access ?denied|forbidden|unauthorized|(?<![\w/.-])40[13](?![\w/.-])")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of the table; `type` is None where rules have no such type."""

    name: str
    type: Type | None
    type_text: str
    stored: str


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One Delta table at one version, and its log."""

    name: str  # the source's, for messages
    path: str
    version: int
    metadata: Metadata
    bytes: int | None  # of the data files; None where finding out costs a scan
    files: LogFiles

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns in the table's order."""
        return parse_columns(self.metadata.schema)

    def commits(self, after: int) -> tuple[Commit, ...]:
        """What happened since `after`, as far as the log still says."""
        try:
            return read_commits(self.files, after, self.version)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise errors.corrupt_log(self.name, self.path, errors.first_line(error)) from error

    def mark(self, version: int) -> str:
        """What tells the commit of `version` from another with the same number; "" when it was cleaned up."""
        texts = self.files.read([commit_name(version)])
        return mark_of(texts[commit_name(version)]) if texts else ""

    def remembers(self, version: int) -> bool:
        """Whether the log can still rebuild `version`; its data files are another matter."""
        return can_rebuild(self.files.names(), version)

    def pin(self, source: Source, used_by: tuple[str, ...] = ()) -> RecordedPin:
        """What to record; raises if the table does not fit the declared columns."""
        fitted = fit_columns(source, self, used_by)
        if isinstance(fitted, SourceError):
            raise fitted
        return RecordedPin(self.metadata.table_id, self.version, fitted, self.metadata.feed, self.mark(self.version))


def fault_of(name: str, path: str, error: Exception, *, missing: bool) -> SourceError:
    """The clear fault behind an error of deltalake or of Spark."""
    lines = str(error).lower().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("at "))  # without the stack
    if _FORBIDDEN.search(text) or isinstance(error, PermissionError):
        return errors.no_permission(name, path, errors.first_line(error))
    if missing or errors.condition_of(error) in (
        "PATH_NOT_FOUND",
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_PATH_DOES_NOT_EXIST",
    ):
        if "no files in log segment" in text or "not a delta table" in text or "TABLE_NOT_FOUND" in str(error):
            return errors.not_a_delta_table(name, path)
        return errors.missing_table(name, path)
    if any(word in text for word in ("json", "gap", "contiguous", "corrupt", "parse", "checkpoint", "log segment")):
        return errors.corrupt_log(name, path, errors.first_line(error))
    return errors.unreadable(name, path, errors.first_line(error))


# ---------------------------------------------------------------------------- columns


@functools.lru_cache(maxsize=256)  # a table keeps its schema from refresh to refresh
def parse_columns(schema: str) -> tuple[TableColumn, ...]:
    """The columns of a Delta schema."""
    fields = cast("list[dict[str, Any]]", json.loads(schema)["fields"])
    return tuple(
        TableColumn(
            f["name"],
            _type_of(f["type"]),
            _type_text(f["type"]),
            str((f.get("metadata") or {}).get("delta.columnMapping.physicalName", f["name"])),
        )
        for f in fields
    )


def _type_of(kind: object) -> Type | None:
    if isinstance(kind, str):
        return parse_type(kind)
    if isinstance(kind, dict) and kind.get("type") == "array":
        element = _type_of(kind["elementType"])
        return array(element) if element else None
    return None


def _type_text(kind: object) -> str:
    known = _type_of(kind)
    return str(known or (kind.get("type", "unknown") if isinstance(kind, dict) else kind))


def fit_columns(
    source: Source, table: SourceTable, used_by: tuple[str, ...] = (), recorded: RecordedPin | None = None
) -> tuple[PinnedColumn, ...] | SourceError:
    """The declared columns as the table has them, or the fault that refuses the refresh."""
    present = {column.name.lower(): column for column in table.columns}
    renamed = {column.stored: column.name for column in table.columns}
    before = {c.name.lower(): c for c in recorded.columns} if recorded else {}
    versions = f"version {table.version}" + (f", last refresh read version {recorded.version}" if recorded else "")
    fitted = []
    for column in source.columns:
        found = present.get(column.name.lower())
        if found is None:
            old = before.get(column.name.lower())
            now = renamed.get(old.stored) if old else None
            return errors.missing_column(source.name, column.name, used_by, versions, now)
        if found.type is None:
            return errors.unknown_type(source.name, column.name, found.type_text, str(column.type), used_by)
        if not fits(found.type, column.type):
            return errors.misfit_column(source.name, column.name, str(found.type), str(column.type), used_by, versions)
        fitted.append(PinnedColumn(found.name, found.type_text, found.stored))
    return tuple(fitted)
