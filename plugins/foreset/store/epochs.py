"""Epochs: who may write for a group, and what a run set out to do.

Opening a run raises the epoch in the manifest's log, which fences every earlier attempt. What
the run rests on (the seq before it and the vector of source versions) is recorded once in
`run.json`; a retry reads it again and never asks for the latest. When another refresh has
committed in between, that record is void and the same refresh starts over in a new directory,
`<refresh id>~2`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from foreset.errors import Fenced, UsageError
from foreset.records import codec
from foreset.store import attempts, delta, events, files, manifest
from foreset.store.layout import Layout, join
from foreset.store.protocol import Allocate, AlreadyCommitted, Busy, Holder, Refused, decide_open
from foreset.store.rows import ManifestRow, SourcePin

PATIENCE = 900.0  # seconds without a heartbeat after which a rival may take over
WELL = ("committed", "unchanged")  # what readers see is true
Vector = Mapping[str, SourcePin]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run rests on, in `run.json`."""

    refresh_id: str
    group: str
    prev_seq: int
    sources: Vector


@dataclass(frozen=True, slots=True)
class Opened:
    """Which run an epoch was opened for, in the epoch's own file."""

    run_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class Closed:
    """How the run of an epoch ended."""

    outcome: str


@dataclass(frozen=True, slots=True)
class Alive:
    """The last sign of life of an epoch, in seconds since 1970."""

    at: float


@dataclass(frozen=True, slots=True)
class Run:
    """An open run: all that its tasks must agree on."""

    layout: Layout
    run_id: str  # the name of its directory
    refresh_id: str
    attempt_id: str
    epoch: int
    prev_seq: int
    sources: Vector

    @property
    def seq(self) -> int:
        """The seq that it will commit."""
        return self.prev_seq + 1

    @property
    def directory(self) -> str:
        """Where plan, differentials, events and report lie."""
        return self.layout.run(self.run_id)

    def based_on(self, row: ManifestRow) -> ManifestRow:
        """What `row` says, as the row that this run commits next."""
        return dataclasses.replace(
            row,
            seq=self.seq,
            prev_seq=self.prev_seq,
            refresh_id=self.refresh_id,
            attempt_id=self.attempt_id,
            epoch=self.epoch,
            committed_at="",
        )


def open_run(
    layout: Layout,
    refresh_id: str,
    vector: Callable[[ManifestRow | None], Vector],
    *,
    attempt_id: str = "",
    patience: float = PATIENCE,
    force: bool = False,
) -> Run | AlreadyCommitted:
    """Open an epoch for `refresh_id`; `vector` is asked for the source versions only where none are recorded.

    Raises `Fenced` while another refresh is at work; `force` takes over regardless.
    """
    attempt = attempt_id or uuid.uuid4().hex
    try:
        layout.run(refresh_id)
    except ValueError as error:  # before anything is opened
        raise UsageError(
            f"{refresh_id!r} cannot be the id of a refresh", hint="use only letters, digits and _.~+:-"
        ) from error
    mark = delta.Mark("open", layout.group, 0, refresh_id, attempt, note=f"{time.time():.0f}")
    epoch = allocate(layout, mark, patience=patience, force=force)
    if isinstance(epoch, AlreadyCommitted):
        return epoch
    try:
        run_id, record = _recorded(layout, refresh_id, vector)
        manifest.check_fence(layout, epoch, refresh_id)
        run = Run(layout, run_id, refresh_id, attempt, epoch, record.prev_seq, record.sources)
        files.write_once(_epoch_file(layout, epoch), codec.to_text(Opened(run_id, attempt)))
        heartbeat(run)
        events.emit(run.directory, "opened", epoch=epoch, attempt=attempt)
    except BaseException:  # a source that cannot be read must not keep the next refresh waiting
        with contextlib.suppress(OSError):
            close_epoch(layout, epoch, "failed")
        raise
    return run


def load_run(layout: Layout, refresh_id: str) -> Run:
    """The run of `refresh_id` as its `open` task left it, for a later task in another process."""
    snapshot = manifest.read(layout)
    epoch = snapshot.reading.epoch if snapshot else 0
    mark = manifest.epoch_mark(layout, epoch)
    if mark is None or mark.refresh_id != refresh_id:
        refused = Refused(epoch, f"epoch {epoch} belongs to another refresh")
        raise manifest.fenced(layout, refused, refresh_id)
    text = files.read_once(_epoch_file(layout, epoch))
    if text is None:
        raise Fenced(f"refresh {refresh_id} has not finished its `open` task", hint="run that task again")
    run_id = codec.from_text(Opened, text, f"epoch {epoch} of group {layout.group}").run_id
    record = read_record(layout, run_id)
    assert record is not None, "run.json is stored before the epoch's file"
    return Run(layout, run_id, refresh_id, mark.attempt_id, epoch, record.prev_seq, record.sources)


def check_fence(run: Run) -> None:
    """Raise `Fenced`, naming the successor, when a later epoch was opened."""
    manifest.check_fence(run.layout, run.epoch, run.refresh_id)


def heartbeat(run: Run) -> None:
    """Say that the run is alive: rivals wait for it as long as this is repeated."""
    files.write_text(_sign_file(run.layout, run.epoch, "alive"), json.dumps(codec.to_plain(Alive(time.time()))))


@contextlib.contextmanager
def closed_after(run: Run) -> Iterator[None]:
    """Close the run after this block: committed, or failed by whatever leaves it. No command leaves one open."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # a disk that is full must not hide what it has done
            close_run(run, "failed")
        raise
    close_run(run, "committed")


def close_run(run: Run, outcome: str) -> None:
    """Say that the run is over (`committed`, `unchanged`, `failed`): a rival need not wait any more."""
    close_epoch(run.layout, run.epoch, outcome)
    if outcome in WELL:
        attempts.forget(run.layout)
    events.emit(run.directory, "closed", outcome=outcome, attempt=run.attempt_id)


def close_epoch(layout: Layout, epoch: int, outcome: str) -> None:
    """The same for an epoch without a run, such as that of gc."""
    files.write_text(_sign_file(layout, epoch, "closed"), json.dumps(codec.to_plain(Closed(outcome))))


def outcome(layout: Layout, epoch: int) -> str:
    """How the run of an epoch ended, as `close_run` was told; empty while it is open."""
    text = files.read_text(_sign_file(layout, epoch, "closed"))
    return "" if text is None else codec.from_plain(Closed, json.loads(text), f"the end of epoch {epoch}").outcome


def last_sign(layout: Layout, epoch: int) -> float | None:
    """When the run of an epoch was last alive; None where it never said so."""
    text = files.read_text(_sign_file(layout, epoch, "alive"))
    return None if text is None else codec.from_plain(Alive, json.loads(text), f"the sign of epoch {epoch}").at


def holder(layout: Layout) -> Holder | None:
    """Who opened the current epoch; None before the first."""
    snapshot = manifest.read(layout)
    return _holder(layout, snapshot) if snapshot else None


def allocate(
    layout: Layout, mark: delta.Mark, *, patience: float = PATIENCE, force: bool = False
) -> int | AlreadyCommitted:
    """Raise the epoch for `mark.refresh_id`; `Fenced` while a rival is at work."""
    for snapshot in manifest.readings(layout, mark.refresh_id):
        current = _holder(layout, snapshot)
        decision = decide_open(snapshot.reading, mark.refresh_id, current, patience, force=force)
        match decision:
            case AlreadyCommitted():
                return decision
            case Busy(holder=rival):
                raise Fenced(
                    f"refresh {rival.refresh_id} (epoch {rival.epoch}) is already running for group {layout.group}; "
                    f"its last sign of life was {rival.silent_for:.0f} s ago",
                    hint=f"wait for it; after {patience:.0f} s without a sign of life, another refresh may take over",
                )
            case Allocate(epoch=epoch):
                try:
                    manifest.raise_number(snapshot, manifest.EPOCH, epoch, dataclasses.replace(mark, epoch=epoch))
                except delta.Moved:
                    continue
                return epoch
    raise AssertionError("readings end by raising")


def _holder(layout: Layout, snapshot: manifest.Snapshot) -> Holder | None:
    epoch = snapshot.reading.epoch
    if not epoch:
        return None
    mark = manifest.epoch_mark(layout, epoch, snapshot.table)
    committed = snapshot.newest is not None and snapshot.newest.epoch == epoch
    closed = committed or files.read_text(_sign_file(layout, epoch, "closed")) is not None
    alive = last_sign(layout, epoch)
    since = alive if alive is not None else float(mark.note) if mark and mark.note else 0.0
    return Holder(epoch, mark.refresh_id if mark else "", closed, max(0.0, time.time() - since))


def _recorded(layout: Layout, refresh_id: str, vector: Callable[[ManifestRow | None], Vector]) -> tuple[str, RunRecord]:
    last = manifest.newest(layout.root, layout.group)
    seq = last.seq if last else 0
    generation = 1
    while True:
        run_id = refresh_id if generation == 1 else f"{refresh_id}~{generation}"
        record = read_record(layout, run_id)
        if record is None:
            wanted = RunRecord(refresh_id, layout.group, seq, vector(last))
            files.write_once(_run_file(layout, run_id), codec.to_text(wanted))
            continue  # read it back: another attempt may have been first
        if record.prev_seq == seq:
            return run_id, record
        generation += 1


def read_record(layout: Layout, run_id: str) -> RunRecord | None:
    """What the run of that name rests on; None when there is no such run."""
    text = files.read_once(_run_file(layout, run_id))
    return None if text is None else codec.from_text(RunRecord, text, f"run {run_id} of group {layout.group}")


def _run_file(layout: Layout, run_id: str) -> str:
    return join(layout.run(run_id), "run.json")


def _epoch_file(layout: Layout, epoch: int) -> str:
    return _sign_file(layout, epoch, "run")


def _sign_file(layout: Layout, epoch: int, what: str) -> str:
    return join(layout.epochs, f"{epoch}-{what}.json")
