"""Is a warehouse what its manifest says: are all tables, versions and differentials there, as they were committed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from foreset.store import delta, files, leases, manifest
from foreset.store.layout import Layout, join
from foreset.store.rows import StatePin, ViewPin

if TYPE_CHECKING:
    from deltalake import DeltaTable


def faults(layout: Layout, *, last: int = 10) -> list[str]:
    """What is wrong with the last kept seqs, in words; an empty list is a clean bill."""
    rows = manifest.history(layout.root, layout.group)
    found = []
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)):
        found.append(f"the seqs of group {layout.group} are not gapless: {[row.seq for row in rows][-20:]}")
    bound = leases.floor(layout)
    checked: set[tuple[str, int]] = set()
    for row in [row for row in rows if row.seq >= bound][-last:]:
        pins: list[tuple[str, ViewPin | StatePin]] = [*row.views.items(), *row.state.items()]
        for name, pin in pins:
            if (pin.path, pin.version) not in checked:
                checked.add((pin.path, pin.version))
                found += [f"seq {row.seq}, {name}: {fault}" for fault in _faults_of_pin(layout, pin)]
        for name, view in row.views.items():
            for reference in (view.plus_ref, view.minus_ref):
                if reference and not files.list_files(layout.resolve(reference)):
                    found.append(f"seq {row.seq}, {name}: the differential {reference} is gone")
    return found


def _faults_of_pin(layout: Layout, pin: ViewPin | StatePin) -> Iterator[str]:
    path = layout.resolve(pin.path)
    try:
        table = delta.open_table(path, pin.version)
    except Exception as error:  # noqa: BLE001 - a corrupt log fails in many ways, each is a finding
        yield f"version {pin.version} of {pin.path} cannot be opened: {error}"
        return
    if table is None:
        yield f"the table {pin.path} is gone"
        return
    if str(table.metadata().id) != pin.table_id:
        yield f"{pin.path} was dropped and made anew"
    mark = delta.read_mark(files.read_commit(path, pin.version) or {})
    if isinstance(pin, ViewPin) and pin.token and (mark is None or mark.token != pin.token):
        yield f"the log entry {pin.version} of {pin.path} is not the one that was committed"
    there = {file.path: file.size for file in files.list_files(path)}
    for name, size in _parts(table):
        if name not in there:
            yield f"{join(pin.path, name)} is missing"
        elif there[name] != size:
            yield f"{join(pin.path, name)} has {there[name]} bytes instead of {size}"


def _parts(table: DeltaTable) -> Iterator[tuple[str, int]]:
    for part in delta.listed_files(table):
        yield part["path"], part["size_bytes"]
