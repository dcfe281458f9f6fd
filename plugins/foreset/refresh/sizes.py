"""How many rows a source has, as its log says it: no row is read."""

from __future__ import annotations

from foreset.ir.program import Source
from foreset.store import delta, manifest
from foreset.store.layout import table_path


def rows_of(root: str, source: Source, version: int | None = None) -> int | None:
    """Rows of a source at a version (the newest without one); None where nothing says it."""
    if source.view is not None:
        group, _, view = source.view.partition(".")
        row = manifest.newest(root, group) if version is None else manifest.at(root, group, version)
        return row.views[view].rows if row and view in row.views else None
    path = table_path(root, str(source.table))
    try:
        with delta.reading(path):
            table = delta.open_table(path, version)
            return None if table is None else delta.rows_in(delta.listed_files(table))
    except delta.SparkOnly:  # sizes are a help, not a need
        return None
