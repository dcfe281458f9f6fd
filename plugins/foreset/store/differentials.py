"""The exact differentials of a refresh: parquet files in its run directory, named by the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreset.diagnostics import did_you_mean
from foreset.errors import UsageError
from foreset.ir.program import is_hidden
from foreset.store import arrow, files, manifest
from foreset.store.layout import Layout, is_local, join

if TYPE_CHECKING:
    import pyarrow as pa

    from foreset.store.epochs import Run
    from foreset.store.rows import ManifestRow


def place(run: Run, view: str, side: str) -> str:
    """The folder for the `plus` or `minus` of a view; the manifest keeps `layout.relative` of it."""
    return join(run.directory, "changes", view, side)


def store(run: Run, view: str, side: str, rows: pa.Table) -> str | None:
    """Write one side without Spark and give its reference; None for no rows."""
    import pyarrow.parquet as pq

    if not rows.num_rows:
        return None
    folder = place(run, view, side)
    system, inner = files.filesystem(folder)
    if is_local(folder):
        system.create_dir(inner, recursive=True)
    pq.write_table(arrow.canonical_table(rows), join(inner, "part-0.parquet"), filesystem=system)
    return run.layout.relative(folder)


def read(layout: Layout, view: str, seq: int | None = None) -> tuple[pa.Table, pa.Table]:
    """`(plus, minus)` of a view in the refresh `seq` (default: the newest)."""
    root, group = layout.root, layout.group
    row = manifest.newest(root, group) if seq is None else manifest.at(root, group, seq)
    if row is None:
        what = "committed refresh" if seq is None else f"seq {seq}"
        raise UsageError(f"group {group} has no {what}", f"`foreset status {group}` shows what it has")
    return sides(layout, row, view)


def sides(layout: Layout, row: ManifestRow, view: str) -> tuple[pa.Table, pa.Table]:
    """The same of a row that is at hand. A view that the row dropped lost all its rows."""
    pin = row.views.get(view)
    if pin is not None:
        schema = arrow.schema_of(pin.columns)
        return arrow.read_reference(layout, pin.plus_ref, schema), arrow.read_reference(layout, pin.minus_ref, schema)
    before = manifest.at(layout.root, layout.group, row.prev_seq)
    if before is None or view not in before.views:
        shown = [name for name in row.views if not is_hidden(name)]
        hint = did_you_mean(view, shown, f"it has: {', '.join(shown)}")
        raise UsageError(f"seq {row.seq} of group {layout.group} has no view `{view}`", hint)
    old = before.views[view]
    return arrow.schema_of(old.columns).empty_table(), arrow.read(
        layout.resolve(old.path), old.version, list(old.columns)
    )
