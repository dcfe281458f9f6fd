"""The two kinds of source behind one face: a Delta table, and a view of another group.

`take` asks an origin what is there, what can be read, and for frames; it does not know
which kind it has. A view's history is the manifest of its group: its seqs are the versions,
and the published differentials are the feed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from foreset.errors import SourceError
from foreset.ir.program import Source
from foreset.ir.types import fits, parse_type
from foreset.store import delta, manifest, signed
from foreset.store.capture import errors
from foreset.store.capture.feed import NET, read_feed, read_version
from foreset.store.capture.log import Commit, Metadata
from foreset.store.capture.plan import Facts
from foreset.store.capture.rows import project
from foreset.store.capture.source_pin import PinnedColumn, RecordedPin
from foreset.store.capture.tables import open_table
from foreset.store.capture.versions import SourceTable, fit_columns
from foreset.store.catalog import nearest, tables_below
from foreset.store.layout import Layout, is_local, normal_root, table_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from foreset.store.rows import ManifestRow


class Origin(Protocol):
    """What `take` needs of a source, opened at one version."""

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        ...

    def pin(self) -> RecordedPin:
        """What to record of the opened version."""
        ...

    def facts(self, pin: RecordedPin | None) -> Facts:
        """What `plan.decide` needs."""
        ...

    def at(self, version: int) -> DataFrame:
        """Every copy of every row at a version."""
        ...

    def feed(self, after: int, upto: int) -> DataFrame:
        """Signed copies of a range, sign in `NET`."""
        ...


def open_origin(
    spark: SparkSession, source: Source, root: str, version: int | None = None, used_by: tuple[str, ...] = ()
) -> Origin:
    """The source at `version` (default: the newest)."""
    if source.view is not None:
        return _open_view(spark, source, root, version, used_by)
    if source.table is None:
        raise SourceError(f"source `{source.name}` names no table", "give it `table:` or `view:` in the spec")
    opened = delta.Opened()
    try:
        table = open_table(source.name, table_path(root, source.table), spark, version, opened)
    except errors.NoSuchTable as missing:
        raise missing.advised(_near(root, source.table)) from missing
    return TableOrigin(spark, source, table, used_by, opened)


def _near(root: str, table: str) -> str:
    """A hint for who named a table that is not there; empty where the warehouse is not on this machine."""
    place = normal_root(root)
    return nearest(table_path(root, table).removeprefix(f"{place}/"), tables_below(place)) if is_local(place) else ""


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """A Delta table."""

    spark: SparkSession
    source: Source
    table: SourceTable
    used_by: tuple[str, ...]
    opened: delta.Opened

    @property
    def place(self) -> str:
        """The table's path."""
        return self.table.path

    def pin(self) -> RecordedPin:
        """What to record of the opened version."""
        return self.table.pin(self.source, self.used_by)

    def facts(self, pin: RecordedPin | None) -> Facts:
        """Read the log of the range; no Spark job where Python reaches it."""
        table = self.table
        columns = fit_columns(self.source, table, self.used_by, pin)
        if pin is None:
            return Facts(table.metadata.table_id, table.version, columns)
        same = not pin.commit or table.version < pin.version or table.mark(pin.version) in ("", pin.commit)
        commits = table.commits(pin.version)
        removed = [path for commit in commits for path in commit.removed]
        old_lost = ""
        if commits and not table.remembers(pin.version):
            old_lost = f"the log no longer has what makes up version {pin.version}"
        elif gone := table.files.first_missing(removed):
            old_lost = f"{gone} was vacuumed"
        needed = [path for commit in commits for path in commit.feed_files]
        return Facts(
            table.metadata.table_id,
            table.version,
            columns,
            commits,
            same_history=same,
            old_lost=old_lost,
            feed_lost=table.files.first_missing(needed) or "",
            bytes=table.bytes,
        )

    def at(self, version: int) -> DataFrame:
        """Every copy of every row at a version."""
        return read_version(self.spark, self.table.path, version, self.source.columns)

    def feed(self, after: int, upto: int) -> DataFrame:
        """The change feed of a range."""
        return read_feed(self.spark, self.table.path, after, upto, self.source.columns)


# ---------------------------------------------------------------------------- views of other groups


def _open_view(
    spark: SparkSession, source: Source, root: str, version: int | None, used_by: tuple[str, ...]
) -> ViewOrigin:
    group, view = source.group_and_view
    rows = {row.seq: row for row in manifest.history(root, group)}
    seq = max(rows, default=0) if version is None else version
    if seq not in rows or view not in rows[seq].views:
        raise SourceError(
            f"source `{source.name}`: view `{source.view}` has not been committed"
            + ("" if version is None else f" at seq {version}"),
            f"refresh group `{group}` first: foreset refresh {group}",
        )
    return ViewOrigin(spark, source, Layout(root, group), view, rows, seq, used_by)


@dataclass(frozen=True, slots=True)
class ViewOrigin:
    """A committed view; versions are the seqs of its group."""

    spark: SparkSession
    source: Source
    layout: Layout
    view: str
    rows: dict[int, ManifestRow]
    seq: int
    used_by: tuple[str, ...]

    @property
    def place(self) -> str:
        """Group and name."""
        return f"{self.layout.group}.{self.view}"

    def pin(self) -> RecordedPin:
        """What to record of the opened seq."""
        columns = self._columns(None)
        if isinstance(columns, SourceError):
            raise columns
        return RecordedPin(self.place, self.seq, columns, feed=True, commit=_mark(self.rows[self.seq]))

    def facts(self, pin: RecordedPin | None) -> Facts:
        """The manifest rows of the range as commits."""
        columns = self._columns(pin)
        if pin is None:
            return Facts(self.place, self.seq, columns)
        old = self.rows.get(pin.version)
        within = [self.rows[seq] for seq in range(pin.version + 1, self.seq + 1) if seq in self.rows]
        commits = tuple(self._commit(row) for row in within)
        lost = (
            "" if old is not None and self.view in old.views else f"seq {pin.version} is not in the manifest any more"
        )
        same = old is None or not pin.commit or _mark(old) == pin.commit
        return Facts(self.place, self.seq, columns, commits, same_history=same, old_lost=lost)

    def at(self, version: int) -> DataFrame:
        """The view at a seq."""
        pinned = self.rows[version].views[self.view]
        frame = signed.read(self.spark, self.layout.resolve(pinned.path), pinned.version, list(pinned.columns))
        return project(frame, self.source.columns)

    def feed(self, after: int, upto: int) -> DataFrame:
        """The published differentials of a range, signed."""
        from pyspark.sql import functions as f

        parts = []
        for seq in range(after + 1, upto + 1):
            pinned = self.rows[seq].views[self.view]
            for reference, sign in ((pinned.plus_ref, 1), (pinned.minus_ref, -1)):
                if reference is not None:
                    frame = project(self.spark.read.parquet(self.layout.resolve(reference)), self.source.columns)
                    parts.append(frame.withColumn(NET, f.lit(sign)))
        first, *rest = parts
        for part in rest:
            first = first.unionByName(part)
        return first

    def _commit(self, row: ManifestRow) -> Commit:
        """A view that was absent, or whose differential was not kept, counts as a version without feed."""
        pinned = row.views.get(self.view)
        counted = pinned is not None and (pinned.plus_ref is not None) == (pinned.inserted > 0)
        kept = counted and pinned is not None and (pinned.minus_ref is not None) == (pinned.deleted > 0)
        changed = pinned is None or not kept or pinned.inserted > 0 or pinned.deleted > 0
        metadata = None if kept else Metadata(self.place, "", {})
        return Commit(row.seq, f"refresh {row.refresh_id}", changed, metadata)

    def _columns(self, pin: RecordedPin | None) -> tuple[PinnedColumn, ...] | SourceError:
        declared = self.rows[self.seq].views[self.view].columns
        versions = f"seq {self.seq}" + (f", last refresh read seq {pin.version}" if pin else "")
        fitted = []
        for column in self.source.columns:
            found = declared.get(column.name)
            kind = parse_type(found) if found else None
            if found is None or kind is None:
                return errors.missing_column(self.source.name, column.name, self.used_by, versions, None)
            if not fits(kind, column.type):
                return errors.misfit_column(
                    self.source.name, column.name, found, str(column.type), self.used_by, versions
                )
            fitted.append(PinnedColumn(column.name, str(kind), column.name))
        return tuple(fitted)


def _mark(row: ManifestRow) -> str:
    return f"{row.refresh_id}/{row.attempt_id}"
