"""The manifest: one row is one committed refresh, and writing that row is the only visible act.

Its Delta log is the single place where writers compete: the epoch, the floor of the collector
and the rows are all commits at exactly the version that was read. What happened is never taken
from the writer's own belief: after every try the table is read again and our refresh and attempt
are looked for, since an exception may hide a success, and Delta skips a repeated transaction
without a word.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, assert_never

from foreset.errors import EnvironmentFault, Fenced
from foreset.store import delta, rows
from foreset.store.files import filesystem, list_folders
from foreset.store.layout import PRIVATE, Layout, is_name, join, normal_root
from foreset.store.protocol import (
    AlreadyCommitted,
    Append,
    Committed,
    Reading,
    Refused,
    decide_commit,
    decide_fence,
)
from foreset.store.rows import ManifestRow, SourcePin, StatePin, ViewPin

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["AlreadyCommitted", "Committed", "ManifestRow", "SourcePin", "StatePin", "ViewPin", "at", "check_fence",
           "commit", "epoch_mark", "fenced", "find_refresh", "groups", "history", "newest", "raise_number", "read",
           "readings"]  # fmt: skip

EPOCH, FLOOR, ROW = "foreset.epoch", "foreset.floor", "foreset.manifest"
TRIES = 200
DOUBTS = 5
STATS_PREFIX = 32
CHECKPOINT_AFTER = "5"  # commits, two for each refresh, which opens the manifest ten times: a long log is read as often


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The manifest at one version: the reading that decisions use, and the table to commit after."""

    reading: Reading
    newest: ManifestRow | None
    table: DeltaTable


def read(layout: Layout, refresh_id: str = "", *, create: bool = False) -> Snapshot | None:
    """Read the manifest once; None when the group has none and `create` is not asked."""
    table = _opened(layout)
    if table is None and create:
        config = {"delta.checkpointInterval": CHECKPOINT_AFTER}
        table = delta.create_table(layout.manifest, rows.COLUMNS, config=config, mark=delta.Mark("create"))
    if table is None:
        return None
    last = _newest(table)
    same = _of_refresh(table, refresh_id) if refresh_id else None
    reading = Reading(
        version=table.version(),
        epoch=table.transaction_version(EPOCH) or 0,
        floor=table.transaction_version(FLOOR) or 0,
        newest=last.entry if last else None,
        same_refresh=same.entry if same else None,
    )
    return Snapshot(reading, last, table)


def newest(root: str, group: str) -> ManifestRow | None:
    """The newest committed refresh: what readers resolve through."""
    snapshot = read(Layout(root, group))
    return snapshot.newest if snapshot else None


def groups(root: str) -> list[str]:
    """The groups that were ever opened in a warehouse."""
    return list(filter(is_name, list_folders(join(normal_root(root), PRIVATE))))


def history(root: str, group: str, *, upto: int | None = None, last: int | None = None) -> list[ManifestRow]:
    """Committed refreshes, oldest first: all of them, those up to a seq, or only the `last` so many of these.

    Each row is a file, so what is not wanted is not read.
    """
    table = _opened(Layout(root, group))
    if table is None:
        return []
    files = sorted(delta.listed_files(table, bounds=True), key=itemgetter("max.seq"))
    wanted = [file for file in files if upto is None or file["min.seq"] <= upto]
    rows = _decoded(table, wanted[-last:] if last is not None else wanted)
    return sorted((row for row in rows if upto is None or row.seq <= upto), key=attrgetter("seq"))


def at(root: str, group: str, seq: int) -> ManifestRow | None:
    """The row of `seq`."""
    table = _opened(Layout(root, group))
    found = [] if table is None else _select(table, "seq", seq)
    return found[0] if found else None


def find_refresh(root: str, group: str, refresh_id: str) -> ManifestRow | None:
    """The row that this refresh committed, if it did."""
    table = _opened(Layout(root, group))
    return None if table is None else _of_refresh(table, refresh_id)


def commit(layout: Layout, row: ManifestRow) -> Committed | AlreadyCommitted:
    """Publish `row` as the successor of `row.prev_seq`, once; raises `Fenced` if another came first."""
    doubts: list[Exception] = []
    for snapshot in readings(layout, row.refresh_id):
        decision = decide_commit(snapshot.reading, row.entry, row.prev_seq)
        match decision:
            case Committed() | AlreadyCommitted():
                return decision
            case Refused():
                raise fenced(layout, decision, row.refresh_id)
            case Append(seq=seq):
                # Whatever comes of it, the next reading tells: only what stands in the table counts.
                stored = replace(row, seq=seq, committed_at=row.committed_at or rows.now())
                doubts += _append(layout, snapshot.table, stored)
                if len(doubts) >= DOUBTS:
                    raise EnvironmentFault(f"the manifest cannot be written: {doubts[-1]}") from doubts[-1]
            case _:
                assert_never(decision)
    raise AssertionError("readings end by raising")


def check_fence(layout: Layout, epoch: int, refresh_id: str = "") -> None:
    """Raise `Fenced` when a later epoch than ours was opened."""
    table = _opened(layout)
    standing = (table.transaction_version(EPOCH) or 0) if table else 0
    if (refused := decide_fence(standing, epoch)) is not None:
        raise fenced(layout, refused, refresh_id)


def raise_number(snapshot: Snapshot, app: str, value: int, mark: delta.Mark) -> int:
    """Raise the epoch or the floor by a commit right after the snapshot; `delta.Moved` if it is not the newest."""
    return delta.bump(snapshot.table, mark, {app: value})


def epoch_mark(layout: Layout, epoch: int, table: DeltaTable | None = None) -> delta.Mark | None:
    """Who opened `epoch`, from the commit that did; `table` is the manifest where it is open already."""
    table = _opened(layout) if table is None else table
    for entry in delta.commits_before(table) if table else ():
        mark = delta.read_mark(entry)
        if mark is not None and mark.kind == "open" and mark.epoch <= epoch:
            return mark if mark.epoch == epoch else None
    return None


def fenced(layout: Layout, refused: Refused, refresh_id: str) -> Fenced:
    """The loud no, with the names of both."""
    holder = epoch_mark(layout, refused.epoch)
    who = f" by refresh {holder.refresh_id}, attempt {holder.attempt_id}" if holder else ""
    return Fenced(
        f"refresh {refresh_id or '(unnamed)'} of group {layout.group} cannot publish: "
        f"another one came first ({refused.reason}{who})",
        hint="nothing was published; if the sources have changed since, start a new refresh",
    )


def readings(layout: Layout, refresh_id: str) -> Iterator[Snapshot]:
    """One fresh reading per try; tries of rivals drift apart, and do not go on for ever."""
    for attempt in range(TRIES):
        snapshot = read(layout, refresh_id, create=True)
        assert snapshot is not None
        yield snapshot
        if attempt > 1:
            time.sleep(random.uniform(0, 0.02 * min(attempt, 20)))  # noqa: S311 - only spreads rivals
    raise EnvironmentFault(f"the manifest of group {layout.group} was changed by others each time, in {TRIES} tries")


def _opened(layout: Layout) -> DeltaTable | None:
    """The manifest, None before the first refresh. A log that is damaged is an error, never an older state."""
    from deltalake.exceptions import DeltaError

    try:
        table = delta.open_table(layout.manifest)
    except (DeltaError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise _damaged(layout, lines[0]) from error
    if table is not None and (empty := delta.empty_entry(layout.manifest, table.version())):
        raise _damaged(layout, f"{empty} is empty")
    return table


def _damaged(layout: Layout, why: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"the manifest of group {layout.group} cannot be read: {why}",
        f"restore {layout.manifest}/_delta_log from a backup; the tables of the views are not damaged",
    )


def _append(layout: Layout, table: DeltaTable, row: ManifestRow) -> list[Exception]:
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    mark = delta.Mark("commit", layout.group, row.epoch, row.refresh_id, row.attempt_id, token=delta.new_token())
    data = pa.Table.from_pylist([rows.encode(row)], schema=pa.schema(table.schema()))
    try:
        delta.append_exactly(table, data, mark, {ROW: row.seq})
    except delta.Moved:
        return []
    except (DeltaError, OSError) as error:
        return [error]
    return []


def _newest(table: DeltaTable) -> ManifestRow | None:
    """The row with the greatest seq, found by the files' statistics: one small file is read."""
    files = delta.listed_files(table, bounds=True)
    last = max((file["max.seq"] for file in files), default=None)
    found = _decoded(table, [file for file in files if file["max.seq"] == last])
    return max(found, key=attrgetter("seq"), default=None)


def _of_refresh(table: DeltaTable, refresh_id: str) -> ManifestRow | None:
    found = _select(table, "refresh_id", refresh_id)
    return found[0] if found else None


def _select(table: DeltaTable, column: str, value: int | str) -> list[ManifestRow]:
    # Long texts may be cut in statistics, so texts are compared by their beginnings.
    def may_hold(file: dict[str, Any]) -> bool:
        low, high, wanted = file[f"min.{column}"], file[f"max.{column}"], value
        if isinstance(wanted, str):
            low, high, wanted = low[:STATS_PREFIX], high[:STATS_PREFIX], wanted[:STATS_PREFIX]
        return bool(low <= wanted <= high)

    found = _decoded(table, [file for file in delta.listed_files(table, bounds=True) if may_hold(file)])
    return [row for row in found if getattr(row, column) == value]


def _decoded(table: DeltaTable, files: list[dict[str, Any]]) -> list[ManifestRow]:
    root = normal_root(table.table_uri)
    return [row for file in files for row in _rows_of(root, file["path"])]


@functools.lru_cache(maxsize=1024)  # a refresh asks some sixteen times for its last rows
def _rows_of(root: str, file: str) -> tuple[ManifestRow, ...]:
    """The rows in a file of the table: what is written under a name of Delta's is never written again."""
    import pyarrow.parquet as pq

    system, inner = filesystem(root)
    found = pq.ParquetFile(system.open_input_file(join(inner, file))).read()
    return tuple(rows.decode(data) for data in found.to_pylist())
