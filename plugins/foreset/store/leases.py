"""Leases: a reader says which seq it reads, and gc leaves it alone until the lease expires.

A lease is a small file with a name of its own. The reader stores it, then reads the floor; the
collector raises the floor, then reads the leases: whichever comes second sees the other.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass

from foreset.errors import UsageError
from foreset.store import delta, files
from foreset.store.layout import Layout, join
from foreset.store.manifest import FLOOR
from foreset.store.protocol import lease_holds

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Lease:
    """A promise of gc to keep `seq` readable until `expires` (seconds since 1970)."""

    path: str
    seq: int
    expires: float
    holder: str

    def renew(self, seconds: float = HOUR) -> Lease:
        """The same lease with a later end."""
        return _store(Lease(self.path, self.seq, time.time() + seconds, self.holder))

    def release(self) -> None:
        """Give it up; gc may take the seq from now on."""
        folder, name = self.path.rsplit("/", 1)
        files.delete(folder, [name])


def floor(layout: Layout) -> int:
    """The seq from which on everything is promised to be readable."""
    table = delta.open_table(layout.manifest)
    return (table.transaction_version(FLOOR) or 0) if table else 0


def take(layout: Layout, seq: int, *, holder: str = "", seconds: float = HOUR) -> Lease:
    """Lease `seq`, or say that it has expired: never a missing file in the middle of a query."""
    path = join(layout.leases, f"{seq}-{uuid.uuid4().hex}.json")
    lease = _store(Lease(path, seq, time.time() + seconds, holder))
    if not lease_holds(seq, bound := floor(layout)):
        lease.release()
        raise UsageError(
            f"seq {seq} of group {layout.group} is no longer kept",
            hint=f"the oldest kept seq is {bound}; open a new snapshot",
        )
    return lease


def leased(layout: Layout, at: float | None = None) -> frozenset[int]:
    """The seqs that readers hold now."""
    moment = time.time() if at is None else at
    return frozenset(lease.seq for lease in _all(layout) if lease.expires > moment)


def drop_expired(layout: Layout) -> int:
    """Delete the files of leases that ended; says how many."""
    ended = [lease for lease in _all(layout) if lease.expires <= time.time()]
    for lease in ended:
        lease.release()
    return len(ended)


def _all(layout: Layout) -> list[Lease]:
    found = []
    for file in files.list_files(layout.leases):
        path = join(layout.leases, file.path)
        if file.path.startswith(".") or (text := files.read_text(path)) is None:
            continue
        data = json.loads(text)
        found.append(Lease(path, int(data["seq"]), float(data["expires"]), str(data["holder"])))
    return found


def _store(lease: Lease) -> Lease:
    data = {"seq": lease.seq, "expires": lease.expires, "holder": lease.holder}
    files.write_text(lease.path, json.dumps(data))
    return lease
