"""Rollback: a new seq with the pins of an old one, and the differentials that lead back.

Nothing is rewritten and history only grows. The new row repeats the old one's source vector, so
the next refresh takes in again what was rolled back; where the specs have changed since, the
old fingerprints make it rebuild.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foreset.errors import EnvironmentFault, UsageError
from foreset.store import arrow, differentials, epochs, holds, leases, manifest
from foreset.store.layout import Layout
from foreset.store.protocol import AlreadyCommitted, Committed
from foreset.store.rows import ManifestRow, ViewPin

if TYPE_CHECKING:
    import pyarrow as pa

    from foreset.store.epochs import Run


def roll_back(
    layout: Layout,
    to_seq: int,
    refresh_id: str,
    *,
    engine_version: str = "",
    force: bool = False,
    hold: str | None = None,
) -> Committed | AlreadyCommitted:
    """Publish the contents of `to_seq` as the newest seq; the same `refresh_id` twice does it once.

    `hold` says why no refresh may begin afterwards. It is in force before the rollback opens: a refresh that has not
    opened by then sees it, and one that has is fenced, or keeps the rollback out.
    """
    if hold is None:
        return _rolled_back(layout, to_seq, refresh_id, engine_version, force=force)
    before = holds.held(layout)
    holds.hold(layout, to_seq, hold)
    try:
        return _rolled_back(layout, to_seq, refresh_id, engine_version, force=force)
    except Exception:
        if before is None:
            holds.release(layout)
        else:
            holds.hold(layout, before.contents_of, before.why)
        raise


def _rolled_back(
    layout: Layout, to_seq: int, refresh_id: str, engine_version: str, *, force: bool
) -> Committed | AlreadyCommitted:
    run = epochs.open_run(layout, refresh_id, lambda last: last.sources if last else {}, force=force)
    if isinstance(run, AlreadyCommitted):
        return run
    with epochs.closed_after(run):
        return manifest.commit(layout, _row(layout, run, to_seq, engine_version))


def _row(layout: Layout, run: Run, to_seq: int, engine_version: str) -> ManifestRow:
    # After our epoch is open, gc cannot raise the floor any more: what is readable now stays so.
    now, target = _rows(layout, run.prev_seq, to_seq)
    views = {name: _pin_back(layout, run, name, now.views.get(name), pin) for name, pin in target.views.items()}
    return replace(
        run.based_on(target),
        engine_version=engine_version or target.engine_version,
        mode="rollback",
        views=views,
        extra=replace(target.extra, rolled_back_to=to_seq),
    )


def _rows(layout: Layout, prev_seq: int, to_seq: int) -> tuple[ManifestRow, ManifestRow]:
    oldest = max(leases.floor(layout), 1)
    if not oldest <= to_seq < prev_seq:
        kept = f"seqs {oldest} to {prev_seq - 1}" if oldest < prev_seq else "no earlier seq"
        raise UsageError(f"group {layout.group} cannot be rolled back to seq {to_seq}", hint=f"kept refreshes: {kept}")
    found = [manifest.at(layout.root, layout.group, seq) for seq in (prev_seq, to_seq)]
    if found[0] is None or found[1] is None:
        raise EnvironmentFault(f"the manifest of group {layout.group} has no row for seq {to_seq} or {prev_seq}")
    return found[0], found[1]


def _pin_back(layout: Layout, run: Run, name: str, now: ViewPin | None, then: ViewPin) -> ViewPin:
    plus, minus = _difference(layout, now, then)
    return replace(
        then,
        inserted=plus.num_rows,
        deleted=minus.num_rows,
        strategy="rollback",
        reason=f"back to version {then.version}",
        plus_ref=differentials.store(run, name, "plus", plus),
        minus_ref=differentials.store(run, name, "minus", minus),
    )


def _difference(layout: Layout, now: ViewPin | None, then: ViewPin) -> tuple[pa.Table, pa.Table]:
    columns = list(then.columns)
    empty = arrow.schema_of(then.columns).empty_table()
    if now is not None and (now.table_id, now.version) == (then.table_id, then.version):
        return empty, empty
    after = arrow.read(layout.resolve(then.path), then.version, columns)
    if now is None or now.columns != then.columns:
        return after, empty  # to readers it is another view: they see it in full
    before = arrow.read(layout.resolve(now.path), now.version, columns)
    return arrow.difference(after, before), arrow.difference(before, after)
