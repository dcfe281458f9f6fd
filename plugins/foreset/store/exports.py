"""Exports: plain Delta tables for tools that cannot resolve a manifest, brought up after the commit.

Each carries the seq that it shows as a transaction number, in the same commit as the rows: what
was interrupted is simply done again, and a late worker with an older seq changes nothing. One
refresh is one commit, and its change data feed is the exact differential.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault, UsageError
from foreset.store import arrow, delta, differentials, manifest
from foreset.store.layout import Layout
from foreset.store.quoting import quoted
from foreset.store.rows import ManifestRow, ViewPin

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

SHOWS = "foreset.export"  # transaction name; its version is the seq
CONFIG = {
    "delta.enableChangeDataFeed": "true",
    "delta.logRetentionDuration": "interval 30 days",
    "delta.deletedFileRetentionDuration": "interval 30 days",
    "delta.enableExpiredLogCleanup": "true",
}
TRIES = 10
_SIGN = "_sign"


def bring_up(layout: Layout, views: Iterable[str], row: ManifestRow | None = None) -> dict[str, int]:
    """Make the exports of `views` show `row` (default: the newest); says the seq that each shows then."""
    target = row or manifest.newest(layout.root, layout.group)
    if target is None:
        raise UsageError(f"group {layout.group} has no committed refresh to export")
    return {view: _bring_up(layout, view, target) for view in views}


def shown(layout: Layout, view: str) -> int:
    """The seq that the export of a view shows; 0 when there is none."""
    table = delta.open_table(layout.export(view))
    return (table.transaction_version(SHOWS) or 0) if table else 0


def _bring_up(layout: Layout, view: str, row: ManifestRow) -> int:
    pin = row.views.get(view)
    if pin is None:
        raise UsageError(f"seq {row.seq} of group {layout.group} has no view `{view}`")
    for _ in range(TRIES):
        table = delta.create_table(layout.export(view), pin.columns, config=CONFIG)
        at = table.transaction_version(SHOWS) or 0
        if at >= row.seq:
            return at
        try:
            _apply(layout, view, row, pin, table, at)
        except delta.Moved:
            continue
    raise EnvironmentFault(f"the export of {layout.group}.{view} was changed by others each time, in {TRIES} tries")


def _apply(layout: Layout, view: str, row: ManifestRow, pin: ViewPin, table: DeltaTable, at: int) -> None:
    mark = delta.Mark("write", layout.group, row.epoch, row.refresh_id, row.attempt_id, note=f"export of seq {row.seq}")
    columns = list(pin.columns)
    if table.schema() != _schema(pin):
        whole = arrow.read(layout.resolve(pin.path), pin.version, columns)
        delta.replace_exactly(table, whole, mark, {SHOWS: row.seq})
        return
    if at and at == row.prev_seq:
        plus, minus = differentials.sides(layout, row, view)
    else:
        before = arrow.read_plain(layout.export(view), table.version(), columns)
        after = arrow.read(layout.resolve(pin.path), pin.version, columns)
        plus, minus = arrow.difference(after, before), arrow.difference(before, after)
    if minus.num_rows:
        _merge(table, plus, minus, mark, row.seq)
    elif plus.num_rows:
        delta.append_exactly(table, plus, mark, {SHOWS: row.seq})
    else:
        delta.bump(table, mark, {SHOWS: row.seq})


def _schema(pin: ViewPin) -> object:
    import json

    from deltalake import Schema

    return Schema.from_json(json.dumps(delta.delta_schema(pin.columns)))


def _merge(table: DeltaTable, plus: pa.Table, minus: pa.Table, mark: delta.Mark, seq: int) -> None:
    import pyarrow as pa
    from deltalake.exceptions import CommitFailedError

    names = minus.column_names
    signed = pa.concat_tables(
        [
            rows.append_column(_SIGN, pa.array([sign] * rows.num_rows, pa.int8()))
            for rows, sign in ((plus, 1), (minus, -1))
        ]
    )
    same = " and ".join(f"(t.{quoted(name)} is not distinct from s.{quoted(name)})" for name in names)
    values = {quoted(name): f"s.{quoted(name)}" for name in names}
    merge = table.merge(
        signed, same, source_alias="s", target_alias="t", commit_properties=delta.properties(mark, {SHOWS: seq})
    )
    merge = merge.when_matched_delete(f"s.{_SIGN} = -1").when_not_matched_insert(values, f"s.{_SIGN} = 1")
    try:
        merge.execute()
    except CommitFailedError as error:
        raise delta.Moved(str(error)) from error
