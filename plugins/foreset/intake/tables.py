"""The table below the warehouse: what is there, and writing to it in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreset.errors import EnvironmentFault, Fenced, SourceError, UsageError
from foreset.intake.columns import TYPED, Planned
from foreset.ir.types import Type
from foreset.store import delta
from foreset.store.arrow import schema_of
from foreset.store.capture.log import FEED_PROPERTY
from foreset.store.capture.versions import TableColumn, parse_columns
from foreset.store.catalog import KEY, is_signed, key_of
from foreset.store.layout import PRIVATE, is_local, table_path
from foreset.store.quoting import quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from deltalake import DeltaTable

SETTINGS = {FEED_PROPERTY: "true", "delta.deletedFileRetentionDuration": "interval 30 days"}  # docs/sources.md says why
BATCH = 100_000  # rows in memory at once


class Mode(StrEnum):
    """What becomes of a table that is there already."""

    CREATE = "create"  # nothing: it is refused
    REPLACE = "replace"
    APPEND = "append"
    UPSERT = "upsert"


@dataclass(frozen=True, slots=True)
class Existing:
    """A table that is there already."""

    table: DeltaTable
    columns: tuple[TableColumn, ...]
    key: tuple[str, ...]
    rows: int | None

    @property
    def types(self) -> Mapping[str, Type]:
        """Of each column; `SourceError` for one that has no counterpart here."""
        odd = [column for column in self.columns if column.type is None]
        if odd:
            raise SourceError(f"column `{odd[0].name}` of the table is {odd[0].type_text}",
                              "only --replace can write to it")  # fmt: skip
        return {column.name: column.type for column in self.columns if column.type is not None}


def place_of(root: str, table: str) -> str:
    """The path of a table below the warehouse."""
    parts = table.split("/")
    if not table.strip("/ ") or table.startswith(("/", "~")) or "\\" in table or "://" in table:
        raise UsageError(f"`{table}` is not a path below the warehouse", "write a path such as `sales/orders`")
    if ".." in parts or parts[0] == PRIVATE or not table.isprintable() or "`" in table:
        raise UsageError(f"`{table}` cannot be a table", "write a path such as `sales/orders`")
    return table_path(root, table.rstrip("/"))


def existing(path: str, table: str) -> Existing | None:
    """The table, if there is one; `UsageError` where something else is there."""
    with delta.reading(path):
        opened = delta.open_table(path)
    if opened is None:
        if is_local(path) and Path(path).exists() and any(Path(path).iterdir()):
            raise UsageError(
                f"the folder {path} has other files in it, not a table", "choose another name for the table"
            )
        return None
    columns = parse_columns(opened.schema().to_json())
    if is_signed(column.name for column in columns):
        raise UsageError(f"`{table}` is a view, and only refreshes write views", "choose another name for the table")
    return Existing(opened, columns, key_of(opened), delta.rows_in(delta.listed_files(opened)))


def write(
    connection: duckdb.DuckDBPyConnection,
    path: str,
    columns: Sequence[Planned],
    key: Sequence[str],
    mode: Mode,
    there: Existing | None,
    listen: Callable[[int], None] = lambda _: None,
) -> tuple[int, Mapping[str, int]]:
    """Write the rows of `typed`, as one version; that version, and how many rows came, changed and went."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    schema = _schema(columns, key)
    rows = _reader(connection, schema, listen)
    try:
        if there is not None:
            _with_feed(there.table)
        if there is not None and mode is Mode.UPSERT:
            return _upserted(there.table, rows, [one.name for one in columns], key)
        how: Any = {"mode": "append"} if there is not None and mode is Mode.APPEND else {"mode": "error"}
        if there is not None and mode is Mode.REPLACE:
            how = {"mode": "overwrite", "schema_mode": "overwrite"}
        _written(path if there is None else there.table, rows, how)
    except CommitFailedError as error:
        raise Fenced(
            f"somebody else wrote to {path} at the same time", "nothing was written; run the command again"
        ) from error
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}") from error
    except DeltaError as error:
        raise SourceError(f"{path} cannot be written: {str(error).splitlines()[0][:300]}") from error
    after = delta.open_table(path)
    assert after is not None
    return after.version(), {}


def _written(target: str | DeltaTable, rows: pa.RecordBatchReader, how: Any) -> None:  # noqa: ANN401
    from deltalake import write_deltalake

    config = SETTINGS if isinstance(target, str) else None
    write_deltalake(target, rows, configuration=config, **how)


def _with_feed(table: DeltaTable) -> None:
    """Turn the change feed on, so that refreshes need not compare versions."""
    if str(table.metadata().configuration.get(FEED_PROPERTY, "")).lower() != "true":
        table.alter.set_table_properties({FEED_PROPERTY: "true"})


def _upserted(
    table: DeltaTable, rows: pa.RecordBatchReader, names: Sequence[str], key: Sequence[str]
) -> tuple[int, Mapping[str, int]]:
    """Rows whose key is there are changed where they differ, others are added."""
    same = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
    rest = [name for name in names if name not in key]
    merge = table.merge(rows, same, source_alias="s", target_alias="t")
    if rest:
        differ = " OR ".join(f"(t.{quoted(name)} IS DISTINCT FROM s.{quoted(name)})" for name in rest)
        merge = merge.when_matched_update({quoted(n): f"s.{quoted(n)}" for n in rest}, predicate=differ)
    done = merge.when_not_matched_insert({quoted(n): f"s.{quoted(n)}" for n in names}).execute()
    counts = {"added": done["num_target_rows_inserted"], "changed": done["num_target_rows_updated"]}
    return table.version(), counts


def _schema(columns: Sequence[Planned], key: Sequence[str]) -> pa.Schema:
    """The table's columns; those of the key say so of themselves."""
    plain = schema_of({one.name: str(one.type) for one in columns})
    for place, field in enumerate(plain):
        if field.name in key:
            plain = plain.set(place, field.with_metadata({KEY: str(list(key).index(field.name) + 1)}))
    return plain


def _reader(
    connection: duckdb.DuckDBPyConnection, schema: pa.Schema, listen: Callable[[int], None]
) -> pa.RecordBatchReader:
    """The rows in batches, each cast to what Delta keeps."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in connection.sql(f"SELECT * FROM {TYPED}").to_arrow_reader(BATCH):
            yield from pa.table(batch).cast(schema).to_batches()
            done += batch.num_rows
            listen(done)

    return pa.RecordBatchReader.from_batches(schema, batches())
