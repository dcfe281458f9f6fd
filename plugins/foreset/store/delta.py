"""Delta tables through deltalake: opening, creating, and commits at exactly one version.

A commit with no retries succeeds only as the direct successor of the version that was opened:
delta-rs publishes it by put-if-absent and does not look for a way around a rival. That is the
compare-and-swap on which the whole protocol stands.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from foreset.errors import ForesetError
from foreset.store.clustered import ROW_GROUP
from foreset.store.files import read_commit, sync_file
from foreset.store.layout import is_local, join, normal_root

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, Schema
    from deltalake.transaction import AddAction

    from foreset.store.protocol import TableCommit

FOREVER = "interval 36500 days"
# Our own gc decides what goes: Delta must neither clean up its log nor refuse old versions.
KEEP_ALL = {
    "delta.logRetentionDuration": FOREVER,
    "delta.deletedFileRetentionDuration": FOREVER,
    "delta.enableExpiredLogCleanup": "false",
    "delta.enableChangeDataFeed": "false",
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": "10",  # as Spark has it; delta-rs has 100, and readers replay what came since
}
SINCE_CHECKPOINT = 20  # entries that a reader of a manifest may need: those before are in a checkpoint
MANY_FILES = 500  # of a table; DuckDB opens each to see its columns
SIGN, SEQ = "_sign", "_seq"  # hidden columns of a view: +1 came, -1 went, and in which refresh
# For DuckDB: the refresh that wrote an entry, by its file's own folder (see `entries_in`).
SEQ_OF_ENTRY = f"""CAST(regexp_extract("the file", '{SEQ}=([0-9]+)/[^/]*$', 1) AS BIGINT) AS {SEQ}"""
MARK = "userMetadata"  # Spark writes its commit note under this name; our deltalake commits do the same
Arrow: TypeAlias = "pa.Table | pa.RecordBatchReader"
OpenAt = Callable[[str, int], "DeltaTable | None"]  # a table at a version; None when there is none


class SparkOnly(ForesetError):
    """A table that only Spark can read: delta-rs lacks one of its features, or does not reach its files."""


class Moved(Exception):
    """The table has a newer version than the one that was read: read again and decide again."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a commit says of itself, so that recovery needs no other source."""

    kind: str  # "write" | "reset" | "create" | "open" | "commit" | "floor"
    group: str = ""
    epoch: int = 0
    refresh_id: str = ""
    attempt_id: str = ""
    to: int | None = None
    absolute: bool = False
    token: str = ""  # unique per try: finds one's own commit again
    note: str = ""

    def text(self) -> str:
        """As it stands in the commit."""
        return json.dumps({"foreset": {name: getattr(self, name) for name in self.__slots__}}, sort_keys=True)


def new_token() -> str:
    """A name that no other try has."""
    return uuid.uuid4().hex


def read_mark(commit: Mapping[str, Any]) -> Mark | None:
    """The mark of a commit, None for commits of strangers."""
    try:
        return Mark(**json.loads(commit[MARK])["foreset"])
    except (KeyError, TypeError, ValueError):
        return None


def properties(mark: Mark, transactions: Mapping[str, int] | None = None) -> CommitProperties:
    """Commit properties for one try at exactly the version that was opened."""
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata={MARK: mark.text()},
        max_commit_retries=0,
        app_transactions=[Transaction(app, version) for app, version in (transactions or {}).items()],
    )


def open_table(path: str, version: int | None = None) -> DeltaTable | None:
    """The table, or None when there is none."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        return DeltaTable(path, version=version)
    except TableNotFoundError:
        return None


@dataclass(slots=True)
class Opened:
    """Tables at versions, each opened once for a refresh: what a version holds does not change."""

    _tables: dict[tuple[str, int], DeltaTable] = field(default_factory=dict)

    def __call__(self, path: str, version: int) -> DeltaTable | None:
        """The table at a version, or None when there is none; not to be moved to another version."""
        key = (path, version)
        if key not in self._tables:
            table = open_table(path, version)
            if table is None:
                return None
            self._tables[key] = table
        return self._tables[key]


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Where delta-rs reads a table of others: what it cannot do within raises `SparkOnly`."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, NotImplementedError, OSError) as error:
        raise SparkOnly(f"{path} can be read by Spark alone: {error}") from error


def listed_files(table: DeltaTable, *, bounds: bool = False) -> list[dict[str, Any]]:
    """The files of a table as its log lists them; with `bounds` also the least and greatest value of each column."""
    import pyarrow as pa

    files = pa.table(table.get_add_actions(flatten=True))
    wanted = [name for name in files.column_names if bounds or not name.startswith(("min.", "max.", "null_count."))]
    return files.select(wanted).to_pylist()  # type: ignore[no-any-return]


def value_ranges(table: DeltaTable, names: Sequence[str]) -> dict[str, int]:
    """How many values columns of whole numbers or days can have at most, by the bounds in the log."""
    import pyarrow as pa
    import pyarrow.compute as pc

    files = pa.table(table.get_add_actions(flatten=True))
    found = {}
    for name in names:
        if f"max.{name}" not in files.column_names:
            continue
        low, high = files[f"min.{name}"], files[f"max.{name}"]
        if low.null_count or not (pa.types.is_integer(low.type) or pa.types.is_date32(low.type)):
            continue
        wide = pa.int64() if pa.types.is_integer(low.type) else pa.int32()
        least, most = pc.min(low.cast(wide)).as_py(), pc.max(high.cast(wide)).as_py()
        if least is not None:
            found[name] = most - least + 1
    return found


def entries_in(files: str) -> str:
    """For DuckDB: the rows of files, a list that goes by this name, as they stand there.

    If folders were taken for partitions, one above the whole warehouse such as `a=9` would stand for a column `a`.
    """
    return f"read_parquet(${files}, filename='the file', hive_partitioning=false, union_by_name=true)"


def on_this_disk(path: str, files: Sequence[Mapping[str, Any]], most: int = MANY_FILES) -> list[str] | None:
    """The names by which DuckDB opens listed files; None where it cannot, or where opening each costs too much."""
    if not is_local(path) or len(files) > most:
        return None
    names = [join(path, str(one["path"])) for one in files]
    return names if all(Path(name).is_file() for name in names) else None


def rows_in(files: Sequence[Mapping[str, Any]]) -> int | None:
    """How many rows listed files hold; None where the log does not say."""
    if any(file.get("num_records") is None for file in files):
        return None
    return sum(int(file["num_records"]) for file in files)


def empty_entry(path: str, version: int) -> str:
    """The name of a log entry without content among the newest; empty if there is none.

    A power cut or a full disk can leave one, and delta-rs takes it for a commit that changed nothing
    (seen with 1.6.6). Stores other than a local disk publish objects whole.
    """
    if not is_local(path):
        return ""
    for number in range(max(0, version - SINCE_CHECKPOINT), version + 1):
        entry = Path(path) / "_delta_log" / f"{number:020d}.json"
        if entry.exists() and entry.stat().st_size == 0:
            return entry.name
    return ""


def create_table(
    path: str,
    columns: Mapping[str, str],
    *,
    partition_by: Sequence[str] = (),
    config: Mapping[str, str] | None = None,
    mark: Mark | None = None,
) -> DeltaTable:
    """The table at `path`, made with `columns` (Spark type names) unless it is there already."""
    from deltalake import DeltaTable, Schema
    from deltalake.exceptions import CommitFailedError, DeltaError

    if (table := open_table(path)) is not None:
        return table
    try:
        return DeltaTable.create(
            path,
            Schema.from_json(json.dumps(delta_schema(columns))),
            mode="error",
            partition_by=list(partition_by),
            configuration={**KEEP_ALL, **(config or {})},
            commit_properties=properties(mark or Mark("create")),
        )
    except (CommitFailedError, DeltaError):
        if (table := open_table(path)) is not None:
            return table
        raise


def delta_schema(columns: Mapping[str, str]) -> dict[str, Any]:
    """Delta's schema of nullable columns with these Spark SQL types."""
    fields = ({"name": name, "type": _delta_type(kind)} for name, kind in columns.items())
    return {"type": "struct", "fields": [{**field, "nullable": True, "metadata": {}} for field in fields]}


def other_schema(table: DeltaTable, columns: Mapping[str, str]) -> Schema | None:
    """What the schema of a table would be with these columns before those it is partitioned by; None if they are it."""
    from deltalake import Schema

    parts, wanted = set(table.metadata().partition_columns), delta_schema(columns)["fields"]
    stored = json.loads(table.schema().to_json())["fields"]
    kept = [field for field in stored if field["name"] in parts]
    here = {field["name"]: field["type"] for field in stored if field["name"] not in parts}
    if here == {field["name"]: field["type"] for field in wanted}:
        return None
    return Schema.from_json(json.dumps({"type": "struct", "fields": [*wanted, *kept]}))


_RENAMED = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


def _delta_type(text: str) -> str | dict[str, Any]:
    from foreset.ir.types import parse_type

    kind = parse_type(text)
    if kind is None:
        raise ValueError(f"{text!r} is not a column type")
    if kind.element is not None:
        return {"type": "array", "elementType": _delta_type(str(kind.element)), "containsNull": True}
    return _RENAMED.get(kind.name, str(kind))


def append_exactly(table: DeltaTable, data: pa.Table, mark: Mark, transactions: Mapping[str, int]) -> int:
    """Append `data` as the version right after the one that `table` is at; `Moved` when that is taken."""
    return _write_exactly(table, data, mark, transactions, replace=False)


def replace_exactly(table: DeltaTable, data: Arrow, mark: Mark, transactions: Mapping[str, int]) -> int:
    """Replace rows and columns, as the version right after the one that `table` is at."""
    return _write_exactly(table, data, mark, transactions, replace=True)


def _write_exactly(
    table: DeltaTable, data: Arrow, mark: Mark, transactions: Mapping[str, int], *, replace: bool
) -> int:
    from deltalake import WriterProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError

    expected = table.version() + 1
    note, shape = properties(mark, transactions), WriterProperties(max_row_group_size=ROW_GROUP, compression="SNAPPY")
    how = {"mode": "overwrite", "schema_mode": "overwrite"} if replace else {"mode": "append"}
    try:
        write_deltalake(table, data, commit_properties=note, writer_properties=shape, **how)  # type: ignore[call-overload]
    except CommitFailedError as error:
        raise Moved(str(error)) from error
    sync_file(commit_file(table.table_uri, expected))
    return expected


def bump(table: DeltaTable, mark: Mark, transactions: Mapping[str, int]) -> int:
    """A commit without rows that only raises transaction numbers, right after the version of `table`."""
    return add_exactly(table, (), mark, transactions, replace=False)


def add_exactly(
    table: DeltaTable, files: Sequence[AddAction], mark: Mark, transactions: Mapping[str, int], *, replace: bool
) -> int:
    """Add files that lie in the folder of `table`, beside those that are there or instead of all; `Moved` as above."""
    from deltalake.exceptions import CommitFailedError

    expected = table.version() + 1
    mode, parts = "overwrite" if replace else "append", table.metadata().partition_columns
    note = properties(mark, transactions)
    try:
        table.create_write_transaction(list(files), mode, table.schema(), partition_by=parts, commit_properties=note)
    except CommitFailedError as error:
        raise Moved(str(error)) from error
    sync_file(commit_file(table.table_uri, expected))
    return expected


def restore_exactly(table: DeltaTable, to: int, mark: Mark) -> int:
    """Bring back the contents of version `to`, right after the version of `table`."""
    from deltalake.exceptions import CommitFailedError

    expected = table.version() + 1
    try:
        table.restore(to, commit_properties=properties(mark))
    except CommitFailedError as error:
        raise Moved(str(error)) from error
    return expected


def commit_file(table_uri: str, version: int) -> str:
    """The log entry of a version."""
    return join(normal_root(table_uri), "_delta_log", f"{version:020d}.json")


def commits_after(table: DeltaTable, version: int) -> Iterator[dict[str, Any]]:
    """The commits after `version` up to that of `table`, oldest first."""
    path = normal_root(table.table_uri)
    return (read_commit(path, n) or {"version": n} for n in range(version + 1, table.version() + 1))


def commits_before(table: DeltaTable) -> Iterator[dict[str, Any]]:
    """The commits of `table`, newest first, as far as its log goes back."""
    path = normal_root(table.table_uri)
    for version in range(table.version(), -1, -1):
        if (commit := read_commit(path, version)) is None:
            return
        yield commit


def as_table_commit(commit: Mapping[str, Any]) -> TableCommit:
    """A commit as the protocol's decisions see it."""
    from foreset.store.protocol import TableCommit

    mark = read_mark(commit)
    if mark is None or mark.kind not in ("write", "reset"):
        return TableCommit(commit["version"], "other", epoch=mark.epoch if mark else 0)
    return TableCommit(commit["version"], mark.kind, mark.epoch, mark.refresh_id, mark.to, mark.absolute)
