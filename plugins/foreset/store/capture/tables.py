"""Opening a source table: deltalake first, Spark where only the cluster reaches the storage."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foreset.session.lazy import may_reach_more
from foreset.store import delta
from foreset.store.capture.log import Metadata
from foreset.store.capture.spark_log import open_with_spark
from foreset.store.capture.versions import SourceTable, fault_of
from foreset.store.layout import is_local

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem
    from pyspark.sql import SparkSession

_MOST_LOOKUPS = 10_000  # more files than this are not looked for one by one: the read itself will tell


def open_table(
    name: str,
    path: str,
    spark: SparkSession | None = None,
    version: int | None = None,
    open_at: delta.OpenAt = delta.open_table,
) -> SourceTable:
    """The table of source `name` at `version` (default: the newest)."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    try:
        table = None if version is None else open_at(path, version)
        if table is None:  # the newest; or it is not there, and this says why
            table = DeltaTable(path, version=version)
        found = table.metadata()
        metadata = Metadata(str(found.id), table.schema().to_json(), dict(found.configuration))
        size = sum(file["size_bytes"] for file in delta.listed_files(table))
        return SourceTable(name, path, table.version(), metadata, size, ArrowLog(path, _filesystem(path)))
    except Exception as error:
        if spark is not None and _worth_asking(spark, path, error):
            return open_with_spark(spark, name, path, version, error)
        raise fault_of(name, path, error, missing=isinstance(error, TableNotFoundError)) from error


def _worth_asking(spark: SparkSession, path: str, error: Exception) -> bool:
    """Other storage may be open to the cluster only; on a local disk, damage is damage for Spark too."""
    from deltalake.exceptions import DeltaProtocolError, TableNotFoundError

    if isinstance(error, TableNotFoundError):  # the storage was reached, and has no log there
        there = is_local(path) and Path(path).exists()
        return not there and may_reach_more(spark)  # the cluster may have another disk
    if not is_local(path) or isinstance(error, DeltaProtocolError):
        return True
    return "support" in str(error).lower()  # a table feature that only Spark knows


def _filesystem(path: str) -> FileSystem:
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    return PyFileSystem(DeltaStorageHandler(path))


@dataclass(frozen=True, slots=True)
class ArrowLog:
    """Log files through the file system of deltalake: local disks and object stores alike."""

    path: str
    filesystem: FileSystem

    def names(self) -> Collection[str]:
        """The files in `_delta_log`."""
        from pyarrow.fs import FileSelector

        return [info.base_name for info in self.filesystem.get_file_info(FileSelector("_delta_log"))]

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """The text of those that are there."""
        texts = {}
        for name in names:
            try:
                with self.filesystem.open_input_stream(f"_delta_log/{name}") as stream:
                    texts[name] = stream.read().decode()
            except FileNotFoundError:
                continue
        return texts

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """The first of these data files that is gone; absolute paths (shallow clones) are taken on trust."""
        from pyarrow.fs import FileType

        own = [p for p in dict.fromkeys(paths) if "://" not in p and not p.startswith(("/", "file:"))]
        if not own or len(own) > _MOST_LOOKUPS:
            return None
        found = self.filesystem.get_file_info(own)
        return next((p for p, info in zip(own, found, strict=True) if info.type == FileType.NotFound), None)
