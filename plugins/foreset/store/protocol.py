"""The decisions of the refresh protocol, as pure functions of what was read.

The store's drivers (`manifest`, `epochs`, `pins`, `gc`) read, ask here what to do, and do it by a
write that succeeds only if nothing moved since the reading. tests/unit/protocol_model.py runs
these same functions through every interleaving of refreshes, crashes, readers and collectors.

One Delta table, the manifest, is the only place where writers compete. Its log carries three
numbers: the *epoch* (who may commit), the *floor* (below it nothing is promised to be readable)
and the *seq* of the newest row. Every change of any of them is a commit at exactly the table
version that was read, so a decision can never rest on an old reading.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

TRIES_PER_EPOCH = 1000


@dataclass(frozen=True, slots=True)
class Committed:
    """This attempt's row is in the manifest."""

    seq: int


@dataclass(frozen=True, slots=True)
class AlreadyCommitted:
    """Another attempt of the same refresh has committed it: the answer is the old seq."""

    seq: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A later writer has taken over; nothing of ours may be published."""

    epoch: int  # the epoch that stands now
    reason: str


@dataclass(frozen=True, slots=True)
class Append:
    """Write the row as a commit right after manifest version `version`."""

    version: int
    seq: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What decisions need of a manifest row."""

    seq: int
    refresh_id: str
    attempt_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Reading:
    """One consistent reading of the manifest: a table version and what stands at it."""

    version: int
    epoch: int = 0
    floor: int = 0
    newest: Entry | None = None
    same_refresh: Entry | None = None  # the row of the refresh in question, if it has one

    @property
    def seq(self) -> int:
        """The newest committed seq; 0 before the first."""
        return self.newest.seq if self.newest else 0


def decide_commit(reading: Reading, row: Entry, prev_seq: int) -> Append | Committed | AlreadyCommitted | Refused:
    """What to do with `row`, built on `prev_seq`; asked before each try and after each doubt."""
    if (found := reading.same_refresh) is not None:
        return Committed(found.seq) if found.attempt_id == row.attempt_id else AlreadyCommitted(found.seq)
    if reading.epoch > row.epoch:
        return Refused(reading.epoch, f"epoch {reading.epoch} was opened after epoch {row.epoch}")
    if reading.seq != prev_seq:
        return Refused(reading.epoch, f"seq {reading.seq} was committed, but this refresh builds on seq {prev_seq}")
    return Append(reading.version, prev_seq + 1)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who opened the current epoch, and whether it may still be at work."""

    epoch: int
    refresh_id: str
    closed: bool
    silent_for: float = 0.0  # seconds since its last heartbeat


@dataclass(frozen=True, slots=True)
class Allocate:
    """Open epoch `epoch` by a commit right after manifest version `version`."""

    version: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Busy:
    """Another refresh holds the epoch and gives signs of life."""

    holder: Holder


def decide_open(
    reading: Reading, refresh_id: str, holder: Holder | None, patience: float, *, force: bool = False
) -> Allocate | AlreadyCommitted | Busy:
    """Whether a refresh may open an epoch: a retry always may, a rival only if the holder is done or silent."""
    if reading.same_refresh is not None:
        return AlreadyCommitted(reading.same_refresh.seq)
    free = holder is None or holder.closed or holder.refresh_id == refresh_id or holder.silent_for > patience
    if holder is not None and not free and not force:
        return Busy(holder)
    return Allocate(reading.version, reading.epoch + 1)


def decide_fence(standing: int, mine: int) -> Refused | None:
    """None while nobody has opened a later epoch."""
    return Refused(standing, f"epoch {standing} was opened after epoch {mine}") if standing > mine else None


# ---------------------------------------------------------------------------- view and state tables


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One version of a view or state table after the pin, as its commit says of itself."""

    version: int
    kind: str  # "write" | "reset" | "other"
    epoch: int = 0
    refresh_id: str = ""
    to: int | None = None  # of a reset: the version whose contents it brought back
    absolute: bool = False  # of a write: it replaced all rows, so what stood before does not matter


@dataclass(frozen=True, slots=True)
class Write:
    """Write now; the new version must be `version`, otherwise something slipped in between."""

    version: int


@dataclass(frozen=True, slots=True)
class Reset:
    """Bring back the contents of the pin by a commit right after `head`."""

    head: int
    to: int


@dataclass(frozen=True, slots=True)
class Reuse:
    """An earlier try of the same epoch has written this version, whole and on clean ground."""

    version: int


def decide_stage(
    pin: int, later: Collection[TableCommit], epoch: int, refresh_id: str, *, absolute: bool = False
) -> Write | Reset | Reuse | Refused:
    """How to put this refresh's rows on top of `pin`, given the versions after it in order.

    A write stands on clean ground if its predecessor is the pin or a reset to it; only then do
    its contents equal the pin's plus its own rows, whatever others have appended meanwhile.
    """
    ground = {pin}
    mine: int | None = None
    newest = max((commit.epoch for commit in later), default=0)
    if newest > epoch:
        return Refused(newest, f"epoch {newest} has written this table after epoch {epoch} was opened")
    for commit in later:
        clean = commit.version - 1 in ground
        if commit.kind == "reset" and commit.to == pin:
            ground.add(commit.version)
        elif commit.kind == "write" and commit.epoch == epoch and commit.refresh_id == refresh_id:
            mine = commit.version if clean or commit.absolute else mine
    if mine is not None:
        return Reuse(mine)
    head = max((commit.version for commit in later), default=pin)
    if head in ground or absolute:
        return Write(head + 1)
    return Reset(head, pin)


def decide_written(expected: int, found: int | None, standing: int, mine: int) -> Reuse | Refused | None:
    """After a write: the version to pin, a fence, or None when the ground had moved and it must be done again.

    `found` is the version whose commit carries our token. Without one, the table has silently
    skipped the write because a later transaction number stands in it.
    """
    if found == expected:
        return Reuse(found)
    if found is None and standing > mine:
        return Refused(standing, f"transaction {standing} stands in the table, ours was {mine}")
    return None


def transaction(epoch: int, tries: int) -> int:
    """The transaction number of a write: rises with the epoch, then with the tries within it."""
    return epoch * TRIES_PER_EPOCH + tries


# ---------------------------------------------------------------------------- readers and garbage


def lease_holds(seq: int, floor: int) -> bool:
    """Whether a lease taken on `seq` counts: asked after the lease is stored, with the floor read after it.

    The collector raises the floor first and reads the leases second; so either it sees the
    lease, or the reader sees the floor.
    """
    return seq >= floor


def kept(seqs: Iterable[int], floor: int, leased: Collection[int]) -> frozenset[int]:
    """The seqs whose versions must stay: from the floor on, and those that readers hold."""
    return frozenset(seq for seq in seqs if seq >= floor or seq in leased)


def new_floor(newest: int, keep: int, standing: int) -> int:
    """The floor that keeps the last `keep` seqs; a floor never falls."""
    return max(standing, newest - max(keep, 1) + 1)
