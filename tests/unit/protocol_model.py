"""A model of the refresh protocol, small enough to run through every interleaving.

The world is what a store would hold: the manifest's log, one log per view table, leases. Every
process is a small machine; one step is one call to the store. All decisions are those of
`foreset.store.protocol`, the same functions that the drivers call. The explorer takes every
order of steps; at each step a process may also crash (nothing more of it happens, a retry with
the same refresh id comes instead) or hear an error although the write has happened.

A process that is never scheduled again *is* a stopped one, and one scheduled much later is a
zombie, so both are in every exploration. Invariants are checked in each state.

Appends to view tables are blind, as Spark's are: they land on whatever the head is, and are
skipped without a word when a later transaction number stands. Commits to the manifest and resets
are put-if-absent of exactly the next version, as deltalake's are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from foreset.store import protocol
from foreset.store.protocol import (
    Allocate,
    AlreadyCommitted,
    Append,
    Committed,
    Entry,
    Holder,
    Reading,
    Refused,
    Reset,
    Reuse,
    TableCommit,
    Write,
)

sys.setrecursionlimit(10_000)


class Opened(NamedTuple):
    """A commit to the manifest that raises the epoch."""

    epoch: int
    refresh: str


class Row(NamedTuple):
    """A commit to the manifest that publishes: pins per view, and the refreshes whose work they should hold."""

    entry: Entry
    pins: tuple[int, ...]
    holds: frozenset[str]


class Raised(NamedTuple):
    """A commit to the manifest that raises the floor."""

    floor: int


class Version(NamedTuple):
    """One version of a view table."""

    kind: str
    epoch: int
    refresh: str
    token: str
    number: int  # the transaction number, 0 for none
    to: int | None
    holds: frozenset[str]  # the refreshes whose rows are in it


class World(NamedTuple):
    """All that is stored."""

    manifest: tuple[Opened | Row | Raised, ...]
    tables: tuple[tuple[Version, ...], ...]
    gone: frozenset[tuple[int, int]] = frozenset()  # (table, version) whose files are deleted
    bases: tuple[tuple[str, int], ...] = ()  # run.json: (run id, the seq before it)
    leases: frozenset[tuple[str, int]] = frozenset()


class Process(NamedTuple):
    """A machine: where it is, and what it remembers."""

    name: str
    kind: str
    at: str
    memory: tuple[Any, ...] = ()
    tries: int = 1


Outcome = tuple[World, Process]
FINAL = ("done", "fenced", "dead")


@dataclass(frozen=True)
class Rules:
    """What the processes do; the broken variants of test_protocol replace a part."""

    decide_open: Callable[..., Any] = protocol.decide_open
    decide_commit: Callable[..., Any] = protocol.decide_commit
    decide_stage: Callable[..., Any] = protocol.decide_stage
    decide_written: Callable[..., Any] = protocol.decide_written
    decide_fence: Callable[..., Any] = protocol.decide_fence
    lease_holds: Callable[..., Any] = protocol.lease_holds
    kept: Callable[..., Any] = protocol.kept
    reads_back: bool = True  # False: believes that a manifest write which raised no error was its own
    exact_commit: bool = True  # False: the manifest append is blind, skipped if its seq stands there
    gc_lists_first: bool = True  # False: the collector reads the manifest first and lists files later


class Broken(AssertionError):
    """An invariant does not hold in a reachable state."""


# ---------------------------------------------------------------------------- readings


@lru_cache(maxsize=200_000)
def reading(manifest: tuple[Opened | Row | Raised, ...], refresh: str) -> Reading:
    rows = [commit for commit in manifest if isinstance(commit, Row)]
    return Reading(
        version=len(manifest),
        epoch=max((commit.epoch for commit in manifest if isinstance(commit, Opened)), default=0),
        floor=max((commit.floor for commit in manifest if isinstance(commit, Raised)), default=0),
        newest=rows[-1].entry if rows else None,
        same_refresh=next((row.entry for row in rows if row.entry.refresh_id == refresh), None),
    )


@lru_cache(maxsize=200_000)
def row_at(manifest: tuple[Opened | Row | Raised, ...], seq: int) -> Row | None:
    return next((commit for commit in manifest if isinstance(commit, Row) and commit.entry.seq == seq), None)


@lru_cache(maxsize=200_000)
def later(table: tuple[Version, ...], pin: int) -> tuple[TableCommit, ...]:
    return tuple(
        TableCommit(n, version.kind, version.epoch, version.refresh, version.to)
        for n, version in enumerate(table)
        if n > pin
    )


def pins_before(world: World, seq: int) -> tuple[tuple[int, ...], frozenset[str]]:
    row = row_at(world.manifest, seq)
    return (row.pins, row.holds) if row else (tuple(0 for _ in world.tables), frozenset())


def put(world: World, i: int, version: Version) -> World:
    table = (*world.tables[i], version)
    return world._replace(tables=(*world.tables[:i], table, *world.tables[i + 1 :]))


# ---------------------------------------------------------------------------- the machines


def steps(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    """What may come of the next call of `process` to the store."""
    yield from globals()[f"{process.kind}_{process.at}"](world, process, rules)


def to(process: Process, at: str, *memory: Any) -> Process:
    return process._replace(at=at, memory=memory)


def _open(world: World, process: Process, rules: Rules, refresh: str) -> Process:
    now = reading(world.manifest, refresh)
    holder = Holder(now.epoch, "", closed=True)  # takeovers happen at any time: the worst case
    match rules.decide_open(now, refresh, holder, 0.0):
        case AlreadyCommitted(seq=seq):
            return to(process, "done", seq)
        case Allocate(version=version, epoch=epoch):
            return to(process, "allocate", version, epoch)
    raise AssertionError


def _allocate(world: World, process: Process, refresh: str, following: str) -> Outcome:
    version, epoch = process.memory
    if len(world.manifest) != version:
        return world, to(process, "open")
    world = world._replace(manifest=(*world.manifest, Opened(epoch, refresh)))
    return world, to(process, following, epoch)


# A refresh: open, record, stage each view, commit. `name` is refresh/attempt.


def refresh_id(process: Process) -> str:
    return process.name.split("/")[0]


def refresh_open(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield world, _open(world, process, rules, refresh_id(process))


def refresh_allocate(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield _allocate(world, process, refresh_id(process), "record")


def refresh_record(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (epoch,) = process.memory
    seq = reading(world.manifest, "").seq
    yield world, to(process, "write_record", epoch, seq)


def refresh_write_record(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, seq = process.memory
    known = dict(world.bases)
    for generation in range(1, 9):
        run = f"{refresh_id(process)}~{generation}"
        if known.setdefault(run, seq) == seq:
            break
    world = world._replace(bases=tuple(sorted(known.items())))
    yield world, to(process, "stage", epoch, seq, ())


def refresh_stage(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    """Read one table and decide; with all views staged, go on to commit."""
    epoch, base, versions = process.memory
    i = len(versions)
    if i == len(world.tables):
        yield from refresh_decide(world, to(process, "decide", epoch, base, versions), rules)
        return
    pin = pins_before(world, base)[0][i]
    match rules.decide_stage(pin, later(world.tables[i], pin), epoch, refresh_id(process)):
        case Refused():
            yield world, to(process, "fenced")
        case Reuse(version=version):
            yield world, to(process, "stage", epoch, base, (*versions, version))
        case Reset(head=head, to=back):
            yield world, to(process, "reset", epoch, base, versions, head, back)
        case Write(version=expected):
            yield world, to(process, "write", epoch, base, versions, expected)


def refresh_reset(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, base, versions, head, back = process.memory
    i = len(versions)
    if len(world.tables[i]) - 1 == head:
        holds = world.tables[i][back].holds
        world = put(world, i, Version("reset", epoch, refresh_id(process), "", 0, back, holds))
    yield world, to(process, "stage", epoch, base, versions)


def refresh_write(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    """The blind append; an error that hides a success leads to the same reading back."""
    epoch, base, versions, expected = process.memory
    i = len(versions)
    standing = max((version.number for version in world.tables[i]), default=0)
    tries = standing % protocol.TRIES_PER_EPOCH + 1 if standing // protocol.TRIES_PER_EPOCH == epoch else 0
    number = protocol.transaction(epoch, tries)
    token = f"{process.name}:{number}"
    if number > standing:
        holds = world.tables[i][-1].holds | {refresh_id(process)}
        world = put(world, i, Version("write", epoch, refresh_id(process), token, number, None, holds))
    yield world, to(process, "written", epoch, base, versions, expected, token)


def refresh_written(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, base, versions, expected, token = process.memory
    table = world.tables[len(versions)]
    found = next((n for n, version in enumerate(table) if version.token == token), None)
    standing = max(version.number for version in table) // protocol.TRIES_PER_EPOCH
    match rules.decide_written(expected, found, standing, epoch):
        case Refused():
            yield world, to(process, "fenced")
        case Reuse(version=version):
            yield world, to(process, "stage", epoch, base, (*versions, version))
        case None:
            yield world, to(process, "stage", epoch, base, versions)


def refresh_decide(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, base, versions = process.memory
    entry = Entry(base + 1, refresh_id(process), process.name, epoch)
    match rules.decide_commit(reading(world.manifest, refresh_id(process)), entry, base):
        case Committed(seq=seq) | AlreadyCommitted(seq=seq):
            yield world, to(process, "done", seq)
        case Refused():
            yield world, to(process, "fenced")
        case Append(version=version):
            yield world, to(process, "commit", epoch, base, versions, version)


def refresh_commit(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, base, versions, version = process.memory
    again = to(process, "decide", epoch, base, versions)
    holds = pins_before(world, base)[1] | {refresh_id(process)}
    row = Row(Entry(base + 1, refresh_id(process), process.name, epoch), versions, holds)
    free = len(world.manifest) == version if rules.exact_commit else reading(world.manifest, "").seq <= base
    if free:
        world = world._replace(manifest=(*world.manifest, row))
    yield world, (again if rules.reads_back else to(process, "done", base + 1))


# A rollback: a new row with the pins of an older one.


def rollback_open(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield world, _open(world, process, rules, process.name)


def rollback_allocate(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield _allocate(world, process, process.name, "decide")


def rollback_decide(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (epoch,) = process.memory
    now = reading(world.manifest, process.name)
    if now.floor > 1:
        yield world, to(process, "done", 0)
        return
    match rules.decide_commit(now, Entry(now.seq + 1, process.name, process.name, epoch), now.seq):
        case Committed(seq=seq) | AlreadyCommitted(seq=seq):
            yield world, to(process, "done", seq)
        case Refused():
            yield world, to(process, "fenced")
        case Append(version=version, seq=seq):
            yield world, to(process, "commit", epoch, seq, version)


def rollback_commit(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, seq, version = process.memory
    first = row_at(world.manifest, 1)
    assert first is not None
    if len(world.manifest) == version:
        row = Row(Entry(seq, process.name, process.name, epoch), first.pins, first.holds)
        world = world._replace(manifest=(*world.manifest, row))
    yield world, to(process, "decide", epoch)


# A reader: resolve once, lease, look at the floor, read every view at its pin.


def reader_open(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    seq = reading(world.manifest, "").seq
    yield world, (to(process, "lease", seq) if seq else to(process, "done"))


def reader_lease(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (seq,) = process.memory
    yield world._replace(leases=world.leases | {(process.name, seq)}), to(process, "floor", seq)


def reader_floor(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (seq,) = process.memory
    if rules.lease_holds(seq, reading(world.manifest, "").floor):
        yield world, to(process, "read", seq, 0)
    else:
        yield world._replace(leases=world.leases - {(process.name, seq)}), to(process, "open")


def reader_read(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    seq, i = process.memory
    row = row_at(world.manifest, seq)
    assert row is not None
    if (i, row.pins[i]) in world.gone:
        raise Broken(f"the reader of seq {seq} finds view {i} deleted")
    if world.tables[i][row.pins[i]].holds != row.holds:
        raise Broken(f"the reader of seq {seq} sees {set(world.tables[i][row.pins[i]].holds)} in view {i}")
    if i + 1 < len(row.pins):
        yield world, to(process, "read", seq, i + 1)
    else:
        yield world._replace(leases=world.leases - {(process.name, seq)}), to(process, "done")


# The collector: keeps the newest seq and leased ones; epoch, floor, list, leases and fence, delete.


def gc_open(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield world, _open(world, process, rules, process.name)


def gc_allocate(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    yield _allocate(world, process, process.name, "decide")


def gc_decide(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (epoch,) = process.memory
    now = reading(world.manifest, "")
    if rules.decide_fence(now.epoch, epoch) is not None:
        yield world, to(process, "fenced")
    else:
        yield world, to(process, "raise", epoch, now.version, protocol.new_floor(now.seq, 1, now.floor))


def gc_raise(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, version, floor = process.memory
    if len(world.manifest) != version:
        yield world, to(process, "decide", epoch)
        return
    world = world._replace(manifest=(*world.manifest, Raised(floor)))
    yield world, (to(process, "list", epoch) if rules.gc_lists_first else to(process, "keep", epoch, None))


def _listed(world: World) -> frozenset[tuple[int, int]]:
    return frozenset((i, n) for i, table in enumerate(world.tables) for n in range(len(table)))


def gc_list(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    (epoch,) = process.memory
    yield world, to(process, "keep", epoch, _listed(world))


def gc_keep(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    epoch, listed = process.memory
    now = reading(world.manifest, "")
    if rules.decide_fence(now.epoch, epoch) is not None:
        yield world, to(process, "fenced")
        return
    seqs = rules.kept(range(1, now.seq + 1), now.floor, frozenset(seq for _, seq in world.leases))
    pinned = frozenset((i, pin) for seq in seqs for i, pin in enumerate(pins_before(world, seq)[0]))
    yield world, to(process, "delete", None if listed is None else listed - pinned, pinned)


def gc_delete(world: World, process: Process, rules: Rules) -> Iterator[Outcome]:
    doomed, pinned = process.memory
    doomed = _listed(world) - pinned if doomed is None else doomed
    yield world._replace(gone=world.gone | doomed), to(process, "done", 0)


# ---------------------------------------------------------------------------- invariants


def check(world: World, processes: tuple[Process, ...]) -> None:
    """What must hold in every reachable state."""
    _check_manifest(world.manifest)
    now = reading(world.manifest, "")
    promised = protocol.kept(range(1, now.seq + 1), now.floor, ())
    for seq in promised:
        row = row_at(world.manifest, seq)
        assert row is not None
        for i, pin in enumerate(row.pins):
            if (i, pin) in world.gone:
                raise Broken(f"seq {seq} pins version {pin} of view {i}, whose files are deleted")
            if world.tables[i][pin].holds != row.holds:
                raise Broken(f"seq {seq}: view {i} holds {set(world.tables[i][pin].holds)}, not {set(row.holds)}")
    for process in processes:
        if process.kind == "refresh" and process.at == "done":
            row = row_at(world.manifest, process.memory[0])
            if row is None or row.entry.refresh_id != refresh_id(process):
                raise Broken(f"{process.name} was told seq {process.memory[0]}, which is not its own")


@lru_cache(maxsize=200_000)
def _check_manifest(manifest: tuple[Opened | Row | Raised, ...]) -> None:
    rows = [commit.entry for commit in manifest if isinstance(commit, Row)]
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)):
        raise Broken(f"the seqs are {[row.seq for row in rows]}")
    if len({row.refresh_id for row in rows}) != len(rows):
        raise Broken("one refresh has two seqs")
    epoch = 0
    for commit in manifest:
        if isinstance(commit, Opened):
            if commit.epoch <= epoch:
                raise Broken(f"epoch {commit.epoch} was opened twice")
            epoch = commit.epoch
        if isinstance(commit, Row) and commit.entry.epoch < epoch:
            raise Broken(f"a zombie of epoch {commit.entry.epoch} committed after epoch {epoch} was opened")


# ---------------------------------------------------------------------------- the explorer


@dataclass
class Explored:
    """How much was seen."""

    states: int = 0
    interleavings: int = 0
    crashes: int = 0


def explore(world: World, processes: tuple[Process, ...], crashes: int, rules: Rules | None = None) -> Explored:
    """Go through every order of the processes' steps with at most `crashes` crashes; raises `Broken`.

    States that are reached again are not explored again, but the ways through them are counted.
    """
    chosen = rules or Rules()
    seen: dict[tuple[World, tuple[Process, ...], int], int] = {}
    found = Explored()

    def ways(now: World, running: tuple[Process, ...], left: int) -> int:
        key = (now, running, left)
        if (known := seen.get(key)) is not None:
            return known
        check(now, running)
        count = 0
        for i, process in enumerate(running):
            if process.at in FINAL:
                continue
            for after, moved in steps(now, process, chosen):
                count += ways(after, (*running[:i], moved, *running[i + 1 :]), left)
            if left and process.at != "open":
                found.crashes += 1
                count += ways(now, (*running[:i], _restarted(process), *running[i + 1 :]), left - 1)
        seen[key] = count = max(count, 1)
        return count

    found.interleavings = ways(world, processes, crashes)
    found.states = len(seen)
    return found


def _restarted(process: Process) -> Process:
    """The scheduler starts it anew: nothing is remembered but the refresh id."""
    if process.kind == "reader":
        return process._replace(at="dead", memory=())  # its lease stays behind
    name = f"{refresh_id(process)}/{process.tries + 1}" if process.kind == "refresh" else process.name
    return process._replace(name=name, at="open", memory=(), tries=process.tries + 1)
