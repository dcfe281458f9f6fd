"""The Delta log through Spark, where only the cluster reaches the storage.

Slower (a small job for each look) and for the same facts as `versions`; DataFrame readers only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreset.store.capture import errors
from foreset.store.capture.log import Metadata, can_rebuild, checkpoints, commit_name, commit_versions, parse_commit
from foreset.store.capture.versions import SourceTable, fault_of
from foreset.store.layout import join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkLog:
    """Log files read by Spark."""

    spark: SparkSession
    path: str

    def names(self) -> Collection[str]:
        """The files in `_delta_log`; only their names travel."""
        files = self.spark.read.format("binaryFile").load(join(self.path, "_delta_log")).select("path")
        return [str(row[0]).rsplit("/", 1)[-1] for row in files.collect()]

    def read(self, names: Sequence[str]) -> dict[str, str]:
        """The text of those that are there."""
        there = set(self.names())
        paths = [join(self.path, "_delta_log", name) for name in names if name in there]
        if not paths:
            return {}
        files = self.spark.read.format("binaryFile").load(paths).select("path", "content")
        return {str(path).rsplit("/", 1)[-1]: bytes(content).decode() for path, content in files.collect()}

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """Not asked: one job per look costs more than a read that fails."""
        del paths
        return None


def open_with_spark(spark: SparkSession, name: str, path: str, version: int | None, cause: Exception) -> SourceTable:
    """What `open_table` gives, with `cause` being why deltalake could not."""
    from deltalake.exceptions import TableNotFoundError
    from pyspark.errors import PySparkException

    files = SparkLog(spark, path)
    try:
        names = files.names()
        newest = max([*commit_versions(names), *checkpoints(names)], default=None)
        at = newest if version is None else version
        if newest is None or at is None:
            raise errors.not_a_delta_table(name, path)
        if not can_rebuild(names, at):
            raise errors.corrupt_log(name, path, f"commits of version {at} or before are missing")
        return SourceTable(name, path, at, _metadata(files, names, at), None, files)
    except PySparkException as error:
        raise fault_of(name, path, error, missing=isinstance(cause, TableNotFoundError)) from cause
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.corrupt_log(name, path, errors.first_line(error)) from error


def _metadata(files: SparkLog, names: Collection[str], version: int) -> Metadata:
    """The newest metadata at or before `version`: in the commits, else in the checkpoint before them."""
    whole = checkpoints(names)
    start = max((v for v in whole if v <= version), default=-1)
    texts = files.read([commit_name(v) for v in range(start + 1, version + 1)])
    for name in sorted(texts, reverse=True):
        if metadata := parse_commit(int(name[:20]), texts[name]).metadata:
            return metadata
    if start < 0:
        raise ValueError("no commit sets the table's metadata")
    return Metadata.of_action(_checkpoint_action(files, whole[start]))


def _checkpoint_action(files: SparkLog, names: Sequence[str]) -> Mapping[str, Any]:
    reader = files.spark.read.format("json" if names[0].endswith(".json") else "parquet")
    action = reader.load([join(files.path, "_delta_log", name) for name in names]).select("metaData.*")
    row = action.where(action["id"].isNotNull()).select("id", "schemaString", "configuration").first()
    if row is None:
        raise ValueError("the checkpoint has no metadata")
    return row.asDict(recursive=True)
