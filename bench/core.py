"""One world in a warehouse: load it, make its changes, and measure Foreset and its peers after each.

Two groups hold the same views over the same tables. After each change one is refreshed as it chooses, the other with
`--mode recompute`; each from open to publish, with 200 rows verified. What they and the peers have is compared with
what the world expects, which is computed without Foreset.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from bench import machine
from bench.worlds import Change, Fingerprints, World, fingerprint, raw
from deltalake import DeltaTable

import foreset
from foreset.plan.place import VARIABLE
from foreset.refresh.whole import RefreshResult
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from bench.peers.here import Peer
    from pyspark.sql import SparkSession

KEPT, BUILT = "kept", "built"  # the two groups
FIRST, IDLE = "first load", "no-op"


@dataclass(slots=True)
class Run:
    """One refresh as it was measured."""

    status: str
    strategy: str
    engine: str
    reason: str
    seconds: float
    phases: dict[str, float]
    rounds: int
    rows_read: int
    overdeleted: int
    rederived: int
    inserted: int
    deleted: int
    peak_mb: int
    written: int = 0  # rows in all tables of the group, hidden ones included
    reads: dict[str, int] = field(default_factory=dict)  # rows read, by view


@dataclass(slots=True)
class PeerRun:
    """What a peer took for the same state; None where it did not come to an end, and why."""

    seconds: float | None
    note: str = ""


@dataclass(slots=True)
class Line:
    """One change, refreshed both ways, and by peers."""

    case: str
    change: str
    came: int
    gone: int
    kept: Run
    built: Run | None
    rows: int = 0  # of the views that are compared
    peers: dict[str, PeerRun] = field(default_factory=dict)
    vanilla: dict[str, int] = field(default_factory=dict)  # rows of the sources that a view's query reads
    versions: dict[str, int] = field(default_factory=dict)  # of the sources
    expected: Fingerprints = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times longer the recompute takes."""
        return self.built.seconds / self.kept.seconds if self.built else None

    def against(self, peer: str) -> float | None:
        """How many times longer a peer takes."""
        found = self.peers.get(peer)
        return found.seconds / self.kept.seconds if found and found.seconds is not None else None


@dataclass(slots=True)
class Watch:
    """Listens to a refresh: when its phases end, and what its strategy had to touch."""

    started: float = field(default_factory=time.monotonic)
    phases: dict[str, float] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    _last: float = field(default_factory=time.monotonic)

    def __call__(self, event: dict[str, Any]) -> None:
        """Take one event."""
        now = time.monotonic()
        if event["event"] == "finished":
            name = str(event["phase"]).partition("-")[0]
            spent = now - self._last
            if not self.phases:
                self.phases["open"] = max(spent - float(event.get("seconds", 0.0)), 0.0)
                spent -= self.phases["open"]
            self.phases[name] = self.phases.get(name, 0.0) + spent
            self._last = now
            self.engines |= {str(event["engine"])} if event.get("engine") else set()
        elif event["event"] == "work":
            for key in ("overdeleted", "rederived"):
                self.work[key] = max(self.work.get(key, 0), int(event.get(key) or 0))


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured, and by what."""

    engine: str = "auto"  # auto | spark | inproc
    built_by: str = ""  # what runs the recompute; by default the same
    baseline: str = "each"  # recompute which changes: each | first | none
    only: Sequence[str] = ()  # labels of changes; by default all


def measured(warehouse: Warehouse, root: str, group: str, mode: str, engine: str) -> Run:
    """One refresh from open to publish."""
    machine.let_go()
    watch = Watch()
    os.environ[VARIABLE] = engine
    with machine.PeakMemory(root) as memory:
        result: RefreshResult = warehouse.refresh(group, mode=mode, verify=200, listen=watch)
    view = max(result.views.values(), key=lambda one: one.inserted + one.deleted)
    reads = {name: sum(one.rows_read.values()) for name, one in result.views.items()}
    return Run(
        result.status,
        " and ".join(sorted({one.strategy for one in result.views.values()} - {"skip"})) or "skip",
        " and ".join(sorted(watch.engines)),
        view.reason,
        round(result.seconds, 3),
        {name: round(seconds, 3) for name, seconds in watch.phases.items()},
        view.rounds,
        sum(reads.values()),
        watch.work.get("overdeleted", 0),
        watch.work.get("rederived", 0),
        sum(one.inserted for one in result.views.values()),
        sum(one.deleted for one in result.views.values()),
        memory.peak >> 20,
        written(root, group, result.seq) if result.status == "committed" else 0,
        reads,
    )


def written(root: str, group: str, seq: int) -> int:
    """Rows that a refresh added to the tables of its group."""
    total = 0
    for log in Path(root, group).rglob("_delta_log"):
        actions = pa.table(DeltaTable(str(log.parent)).get_add_actions(flatten=True)).to_pylist()
        total += sum(action["num_records"] or 0 for action in actions if action.get("partition._seq") == seq)
    return total


@dataclass(slots=True)
class Bench:
    """One world in a warehouse of its own."""

    world: World
    root: str
    spark: SparkSession
    settings: Settings = field(default_factory=Settings)
    peers: Sequence[Peer] = ()  # those that work in this process

    def lines(self) -> Iterator[Line]:
        """Load, then every change; nothing new to take in comes last."""
        only, baseline = self.settings.only, self.settings.baseline
        specs = Path(self.root, "specs")
        specs.mkdir()
        groups = [KEPT] if baseline == "none" else [BUILT, KEPT]
        for group in groups:
            (specs / f"{group}.yaml").write_text(self.world.spec(group))
        self.world.create(self.root)
        warehouse = foreset.open(self.root, str(specs), self.spark)
        if BUILT in groups:  # warms up as well
            self._checked(warehouse, BUILT, self._loaded(warehouse))
        yield self._line(warehouse, FIRST, Change(0, 0), None)
        compared = False
        for label, size, kind in self.world.changes():
            if only and label not in only:
                continue
            change = self.world.apply(self.root, size, kind)
            # The other group is brought along even where it is not the measure, or its differential would grow.
            against = BUILT if baseline == "each" or (baseline == "first" and not compared) else None
            yield self._line(warehouse, label, change, against)
            compared = True
        yield self._line(warehouse, IDLE, Change(0, 0), None)

    def _loaded(self, warehouse: Warehouse) -> Fingerprints:
        measured(warehouse, self.root, BUILT, "auto", self.settings.engine)
        return self.world.expected(self.root)

    def _line(self, warehouse: Warehouse, label: str, change: Change, against: str | None) -> Line:
        kept = measured(warehouse, self.root, KEPT, "auto", self.settings.engine)
        by = self.settings.built_by or self.settings.engine
        built = measured(warehouse, self.root, against, "recompute", by) if against else None
        expected = self.world.expected(self.root)
        for one in [KEPT, *([against] if against else [])]:
            self._checked(warehouse, one, expected)
        line = Line(self.world.name, label, change.inserted, change.deleted, kept, built)
        line.rows, line.expected = sum(count for count, _ in expected.values()), expected
        line.vanilla = vanilla(self.world, self.root)
        line.versions = {name: DeltaTable(raw(self.root, name)).version() for name in self.world.tables}
        if label != IDLE:
            line.peers = {peer.name: peer.run(self.world, self.root, expected) for peer in self.peers}
        return line

    def _checked(self, warehouse: Warehouse, group: str, expected: Fingerprints) -> None:
        """Hold what was published to a result of another hand; a benchmark of wrong results is worth nothing."""
        for view, wanted in expected.items():
            found = fingerprint(warehouse.read(f"{group}.{view}"))
            if found != wanted:
                raise SystemExit(f"{self.world.name}: {group}.{view} has {found}, expected {wanted}")


def vanilla(world: World, root: str) -> dict[str, int]:
    """Rows of the sources that stand in each view's query: what computing it anew has to read."""
    rows = {name: table_rows(raw(root, name)) for name in world.tables}
    return {
        view: sum(count for name, count in rows.items() if re.search(rf"\b{name}\b", query))
        for view, query in world.queries.items()
    }


def table_rows(path: str) -> int:
    """Rows of a Delta table, from its log."""
    return sum(pa.table(DeltaTable(path).get_add_actions(flatten=True))["num_records"].to_pylist())
