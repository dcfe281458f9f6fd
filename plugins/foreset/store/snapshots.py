"""Snapshots: all views of a group as one committed refresh left them, for any tool.

    with foreset.open_snapshot("warehouse", "reach") as snapshot:
        snapshot.arrow("closure")
        snapshot.duckdb(connection).sql("select count(*) from closure")

The manifest is resolved once, when the snapshot is opened; every view is then read at the
version that this one row pins, so that two views can never be of two refreshes. A lease keeps
gc away until the snapshot is closed or an hour has passed (`renew`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError, keywords_named
from foreset.ir.program import is_hidden
from foreset.store import arrow, leases, manifest
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow, ViewPin

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Snapshot:
    """The views of one group at one seq."""

    def __init__(self, layout: Layout, row: ManifestRow, lease: leases.Lease | None) -> None:
        self._layout, self._row, self._lease = layout, row, lease

    @property
    def seq(self) -> int:
        """The committed refresh that is read."""
        return self._row.seq

    @property
    def row(self) -> ManifestRow:
        """Its manifest row: pins, sources, verdicts."""
        return self._row

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views in it."""
        return tuple(name for name in self._row.views if not is_hidden(name))

    def arrow(self, view: str) -> pa.Table:
        """The rows of a view, with its declared columns."""
        pin = self._pin(view)
        return arrow.read(self._layout.resolve(pin.path), pin.version, list(pin.columns))

    def pandas(self, view: str) -> pd.DataFrame:
        """The same for pandas."""
        frame: pd.DataFrame = self.arrow(view).to_pandas()
        return frame

    def polars(self, view: str) -> Any:  # noqa: ANN401 - polars need not be installed
        """The same for polars, which must be installed."""
        import importlib

        return importlib.import_module("polars").from_arrow(self.arrow(view))

    def duckdb(self, connection: Any) -> Any:  # noqa: ANN401 - duckdb's own connection, given back
        """Register every view under its name in a DuckDB connection."""
        for view in self.views:
            connection.register(view, self.arrow(view))
        return connection

    def spark(self, spark: SparkSession, view: str) -> DataFrame:
        """A view as a Spark DataFrame."""
        from foreset.store import signed

        pin = self._pin(view)
        return signed.read(spark, self._layout.resolve(pin.path), pin.version, list(pin.columns))

    def renew(self, seconds: float = leases.HOUR) -> None:
        """Keep the snapshot readable for longer."""
        if self._lease is not None:
            self._lease = self._lease.renew(seconds)

    def close(self) -> None:
        """Give the lease back."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Snapshot {self._layout.group} at seq {self.seq}: {', '.join(self.views)}>"

    def _pin(self, view: str) -> ViewPin:
        if view not in self._row.views:
            what = f"seq {self.seq} of group {self._layout.group} has no view `{view}`"
            raise UsageError(what, did_you_mean(view, self.views, f"it has: {', '.join(self.views) or 'none'}"))
        return self._row.views[view]


@keywords_named()
def open_snapshot(
    warehouse: str, group: str, seq: int | None = None, *, lease: bool = True, seconds: float = leases.HOUR
) -> Snapshot:
    """The committed state of `group` at `seq` (default: the newest).

    `lease=False` for places that may not write; gc may then remove the versions of an old seq
    while they are being read.
    """
    layout = Layout(str(warehouse), group)
    while True:
        row = manifest.newest(layout.root, group) if seq is None else manifest.at(layout.root, group, seq)
        if row is None:
            what = f"seq {seq}" if seq is not None else "committed refresh"
            known = [name for name in manifest.groups(layout.root) if name != group] if seq is None else []
            hint = did_you_mean(group, known, f"run `foreset refresh {group}` first")
            raise UsageError(f"group {group} has no {what} in {layout.root}", hint=hint)
        if not lease:
            return Snapshot(layout, row, None)
        try:
            return Snapshot(layout, row, leases.take(layout, row.seq, holder="snapshot", seconds=seconds))
        except UsageError:
            if seq is not None:
                raise  # the newest moved on between the two readings: resolve again
