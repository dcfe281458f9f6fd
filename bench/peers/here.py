"""What DuckDB takes to keep views true, in this process: it computes all anew, and deltalake writes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import duckdb
import pyarrow as pa
from bench.core import PeerRun, World
from bench.worlds import Fingerprints, by_duckdb, fingerprint
from deltalake import write_deltalake


class Peer(Protocol):
    """Keeps the views of a world in its own way."""

    @property
    def name(self) -> str:
        """As the report calls it."""

    def run(self, world: World, root: str, expected: Fingerprints) -> PeerRun:
        """Bring the views to the present state of the sources, and check them."""


def judged(seconds: float, found: Mapping[str, pa.Table], expected: Fingerprints, note: str = "") -> PeerRun:
    """A time counts only for a right result."""
    wrong = [name for name, rows in found.items() if fingerprint(rows) != expected[name]]
    if wrong:
        return PeerRun(None, f"wrong result in {', '.join(wrong)}")
    return PeerRun(round(seconds, 3), note)


@contextmanager
def within(seconds: float, stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` when the block takes longer."""
    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass(slots=True)
class DuckDb:
    """The views' SQL over the same Delta tables; deltalake writes the results."""

    limit: float
    name: str = "DuckDB"

    def run(self, world: World, root: str, expected: Fingerprints) -> PeerRun:
        """Compute all views anew and write them."""
        started = time.monotonic()
        try:
            with duckdb.connect() as connection, within(self.limit, connection.interrupt):
                found = by_duckdb(world, root, connection)
        except duckdb.Error as error:
            return PeerRun(None, str(error).partition("\n")[0])
        for view, rows in found.items():
            write_deltalake(f"{root}/duckdb/{view}", rows, mode="overwrite")
        seconds = time.monotonic() - started
        return judged(seconds, {view: found[view] for view in expected}, expected)


@dataclass(slots=True)
class Written:
    """deltalake writes the rows of all views, which are there already: what is left when nothing has to be computed."""

    name: str = "write"

    def run(self, world: World, root: str, expected: Fingerprints) -> PeerRun:
        """Write all views; only that is timed."""
        found = by_duckdb(world, root)
        started = time.monotonic()
        for view, rows in found.items():
            write_deltalake(f"{root}/written/{view}", rows, mode="overwrite")
        return judged(time.monotonic() - started, {view: found[view] for view in expected}, expected)


def refused(world: World, peer: str) -> str | None:
    """Why a peer cannot do a world's work."""
    said = world.peers.get(peer, "not: nobody has written it")
    return said.removeprefix("not: ") if said.startswith("not: ") else None
