"""Garbage collection: what no kept seq, no reader and no open run can need.

The order makes every moment safe. An epoch of its own keeps refreshes out. The floor rises
first, so that nobody begins to read what will go. The files are listed next, and only then are
the manifest, the leases and the fence read: a file of a later refresh cannot be in the list
unless that refresh had opened its epoch before, which the fence shows. Old log entries stay
(they are small, and history reads them), data and run directories go.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from foreset.errors import Fenced
from foreset.session.earlier import remove_earlier_state
from foreset.store import delta, epochs, files, leases, manifest
from foreset.store.layout import Layout, is_name, join
from foreset.store.protocol import AlreadyCommitted, kept, new_floor
from foreset.store.rows import ManifestRow, SourcePin, StatePin, ViewPin

if TYPE_CHECKING:
    from deltalake import DeltaTable

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Doomed:
    """Files below one folder, and whether the folder goes as a whole."""

    folder: str
    paths: tuple[str, ...]
    size: int
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """What gc did, or would do."""

    floor: int
    kept: tuple[int, ...]
    doomed: tuple[Doomed, ...] = ()
    deleted: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(one.size for one in self.doomed)


@dataclass(frozen=True, slots=True)
class Policy:
    """What to keep beside the leased seqs."""

    last: int = 10  # seqs
    failed_runs_days: float = 7.0  # directories of runs that never committed: people look into them
    without: frozenset[str] = frozenset()  # groups whose reading of our views does not count: they will never run again


def collect(layout: Layout, policy: Policy | None = None, *, dry_run: bool = False) -> Collected:
    """Delete what is not needed any more; raises `Fenced` while a refresh is at work."""
    chosen = policy or Policy()
    if manifest.newest(layout.root, layout.group) is None:
        return Collected(0, ())
    if dry_run:
        return _planned(layout, chosen, _list(layout))
    remove_earlier_state(layout.root)
    mark = delta.Mark("open", layout.group, 0, f"gc-{uuid.uuid4().hex}", "gc", note=f"{time.time():.0f}")
    epoch = epochs.allocate(layout, mark)
    assert not isinstance(epoch, AlreadyCommitted), "the id is new"
    try:
        floor = _raise_floor(layout, chosen, epoch)
        listed = _list(layout)
        plan = _planned(layout, chosen, listed, (epoch, floor))
        for one in plan.doomed:
            manifest.check_fence(layout, epoch)  # a successor works on its own now
            if one.whole:
                files.delete_tree(one.folder)
            else:
                files.delete(one.folder, one.paths)
        leases.drop_expired(layout)
    finally:
        epochs.close_epoch(layout, epoch, "gc")
    return Collected(plan.floor, plan.kept, plan.doomed, deleted=True)


def _raise_floor(layout: Layout, policy: Policy, epoch: int) -> int:
    for snapshot in manifest.readings(layout, ""):
        now = snapshot.reading
        if now.epoch != epoch:
            raise Fenced(f"gc of group {layout.group} stops: epoch {now.epoch} was opened after its own, {epoch}")
        floor = _floor(layout, policy, now.seq, now.floor)
        if floor == now.floor:
            return floor
        mark = delta.Mark("floor", layout.group, epoch, note=str(floor))
        try:
            manifest.raise_number(snapshot, manifest.FLOOR, floor, mark)
        except delta.Moved:
            continue
        return floor
    raise AssertionError("readings end by raising")


def readers(layout: Layout) -> dict[str, int]:
    """The groups that read views of this one, with the seq up to which they have taken them in."""
    found = {}
    for group in manifest.groups(layout.root):
        row = manifest.newest(layout.root, group) if group != layout.group else None
        seqs = [pin.to_version for pin in row.sources.values() if _is_ours(layout, pin)] if row else []
        if seqs:
            found[group] = min(seqs)
    return found


def _is_ours(layout: Layout, pin: SourcePin) -> bool:
    """`view: group.view` of a spec; paths of tables have slashes or no dot, and begin with no group of ours."""
    return pin.table.partition(".")[0] == layout.group and "/" not in pin.table and pin.table.count(".") == 1


def _floor(layout: Layout, policy: Policy, newest: int, standing: int) -> int:
    """What other groups have yet to take in stays, together with the seq from which they go on."""
    holding = [seq for group, seq in readers(layout).items() if group not in policy.without]
    return max(standing, min([new_floor(newest, policy.last, standing), *holding]))


@dataclass(frozen=True, slots=True)
class _Listed:
    tables: Mapping[str, list[files.StoredFile]]  # by reference
    runs: Mapping[str, list[files.StoredFile]]


def _list(layout: Layout) -> _Listed:
    names = list(filter(is_name, files.list_folders(layout.tables)))
    state = list(filter(is_name, files.list_folders(join(layout.tables, "_state"))))
    tables = [layout.view(name) for name in names] + [layout.state(name) for name in state]
    runs = list(filter(is_name, files.list_folders(layout.runs)))
    return _Listed(
        {layout.relative(path): files.list_files(path) for path in tables},
        {run: files.list_files(layout.run(run)) for run in runs},
    )


def _planned(layout: Layout, policy: Policy, listed: _Listed, held: tuple[int, int] | None = None) -> Collected:
    """What goes, given our epoch and the floor in force; without them (a dry run) under the floor that would be."""
    rows = manifest.history(layout.root, layout.group)
    bound = held[1] if held else _floor(layout, policy, rows[-1].seq, leases.floor(layout))
    seqs = kept((row.seq for row in rows), bound, leases.leased(layout))
    needed = [row for row in rows if row.seq in seqs]
    if held:
        manifest.check_fence(layout, held[0])  # after the listing: see above
    doomed = [_unreferenced(layout, reference, found, needed) for reference, found in listed.tables.items()]
    doomed += _stale_runs(layout, policy, listed.runs, needed, rows)
    return Collected(bound, tuple(sorted(seqs)), tuple(one for one in doomed if one.paths or one.whole))


def _unreferenced(
    layout: Layout, reference: str, found: list[files.StoredFile], needed: Iterable[ManifestRow]
) -> Doomed:
    path = layout.resolve(reference)
    pins: list[ViewPin | StatePin] = [pin for row in needed for pin in row.views.values() if pin.path == reference]
    pins += [pin for row in needed for pin in row.state.values() if pin.path == reference]
    if not pins:  # the view was removed, or never committed
        return Doomed(path, tuple(file.path for file in found), sum(file.size for file in found), whole=True)
    used: set[str] = set()
    for version in {pin.version for pin in pins}:
        table = delta.open_table(path, version)
        assert table is not None, f"{path} is pinned"
        used |= {unquote(name) for name in _names(table)} | set(_names(table))
    lost = [file for file in found if not file.path.startswith("_delta_log/") and file.path not in used]
    return Doomed(path, tuple(file.path for file in lost), sum(file.size for file in lost))


def _names(table: DeltaTable) -> list[str]:
    return [str(file["path"]) for file in delta.listed_files(table)]


def _stale_runs(
    layout: Layout,
    policy: Policy,
    runs: Mapping[str, list[files.StoredFile]],
    needed: Iterable[ManifestRow],
    rows: Iterable[ManifestRow],
) -> list[Doomed]:
    needed = list(needed)
    references = [ref for row in needed for pin in row.views.values() for ref in (pin.plus_ref, pin.minus_ref) if ref]
    keeping = {row.refresh_id for row in needed}
    committed = {row.refresh_id for row in rows}
    doomed = []
    for run, found in runs.items():
        refresh = run.split("~")[0]
        prefix = layout.relative(layout.run(run)) + "/"
        young = min((file.age for file in found), default=0.0) < policy.failed_runs_days * DAY
        if refresh in keeping or any(ref.startswith(prefix) for ref in references):
            continue
        if refresh not in committed and young:
            continue
        size = sum(file.size for file in found)
        doomed.append(Doomed(layout.run(run), tuple(file.path for file in found), size, whole=True))
    return doomed
