"""How many rows a source has, as its log says it: no row is read."""

from __future__ import annotations

import pyarrow as pa
from deltalake.exceptions import DeltaError

from foreset.ir.program import Source
from foreset.store import delta, manifest
from foreset.store.layout import table_path


def rows_of(root: str, source: Source, version: int | None = None) -> int | None:
    """Rows of a source at a version (the newest without one); None where nothing says it."""
    if source.view is not None:
        group, _, view = source.view.partition(".")
        row = manifest.newest(root, group) if version is None else manifest.at(root, group, version)
        return row.views[view].rows if row and view in row.views else None
    try:
        table = delta.open_table(table_path(root, str(source.table)), version)
        actions = pa.table(table.get_add_actions(flatten=True)) if table else None
    except (DeltaError, OSError):  # a table that only Spark reads: sizes are a help, not a need
        return None
    if actions is None or "num_records" not in actions.column_names:
        return None
    counts = actions.column("num_records").to_pylist()
    return None if None in counts else sum(counts)
