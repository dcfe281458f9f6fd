"""What others do to keep views true, in this process: compute all anew and write it, or MERGE what a change touches."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import duckdb
import pyarrow as pa
from bench.core import PeerRun, World
from bench.worlds import Fingerprints, Keyed, by_duckdb, fingerprint, raw
from deltalake import DeltaTable, write_deltalake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Versions = Mapping[str, int]  # of the sources


class Peer(Protocol):
    """Keeps the views of a world in its own way."""

    @property
    def name(self) -> str:
        """As the report calls it."""

    def run(self, world: World, root: str, since: Versions, expected: Fingerprints) -> PeerRun:
        """Bring the views from the state at `since` (nothing: not there yet) to the present one, and check them."""


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

    def run(self, world: World, root: str, _since: Versions, expected: Fingerprints) -> PeerRun:
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
class SparkRecompute:
    """Each view overwritten with its query, as a materialized view of Declarative Pipelines is fully refreshed."""

    spark: SparkSession
    limit: float
    name: str = "Spark"

    def run(self, world: World, root: str, _since: Versions, expected: Fingerprints) -> PeerRun:
        """Compute all views anew and write them."""
        if (reason := refused(world, "spark")) is not None:
            return PeerRun(None, reason)
        return self._timed(root, lambda: self.overwrite(world, root, world.queries), expected)

    def overwrite(self, world: World, root: str, views: Mapping[str, str]) -> None:
        """Write these views."""
        for table in world.tables:
            self.spark.read.format("delta").load(raw(root, table)).createOrReplaceTempView(table)
        for view, query in views.items():
            self.spark.sql(query).write.format("delta").mode("overwrite").save(self.place(root, view))

    def place(self, root: str, view: str) -> str:
        """Where a view is written."""
        return f"{root}/by-{self.name.lower()}/{view}"

    def _timed(self, root: str, act: Callable[[], object], expected: Fingerprints) -> PeerRun:
        started = time.monotonic()
        try:
            with within(self.limit, self.spark.interruptAll):
                act()
        except Exception as error:  # noqa: BLE001 - whatever Spark says ends this peer here, and nothing else
            return PeerRun(None, f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}")
        seconds = time.monotonic() - started
        found = {view: DeltaTable(self.place(root, view)).to_pyarrow_table() for view in expected}
        return judged(seconds, found, expected)


@dataclass(slots=True)
class MergePerView(SparkRecompute):
    """MERGE by key where a view has one that changes can be traced to; other touched views are overwritten."""

    name: str = "MERGE"

    def run(self, world: World, root: str, since: Versions, expected: Fingerprints) -> PeerRun:
        """Merge what the change touches."""
        if (reason := refused(world, "merge")) is not None:
            return PeerRun(None, reason)
        if not since:
            return self._timed(root, lambda: self.overwrite(world, root, world.queries), expected)
        return self._timed(root, lambda: self._merge_all(world, root, since), expected)

    def _merge_all(self, world: World, root: str, since: Versions) -> None:
        moved = [name for name in world.tables if self._changes(root, name, since[name])]
        reading = re.compile(rf"\b({'|'.join(moved) or 'nothing'})\b")
        touched = {view: query for view, query in world.queries.items() if reading.search(query)}
        self.overwrite(world, root, {view: query for view, query in touched.items() if view not in world.keyed})
        for view in touched.keys() & world.keyed.keys():
            self._merge(self.place(root, view), touched[view], world.keyed[view])

    def _changes(self, root: str, table: str, version: int) -> bool:
        """Make `<table>_changes` known; whether there are any."""
        now, path = DeltaTable(raw(root, table)).version(), raw(root, table)
        reader = self.spark.read.format("delta")
        if now == version:
            reader.load(path).limit(0).createOrReplaceTempView(f"{table}_changes")
            return False
        feed = reader.option("readChangeFeed", "true").option("startingVersion", version + 1)
        feed.option("endingVersion", now).load(path).createOrReplaceTempView(f"{table}_changes")
        return True

    def _merge(self, path: str, query: str, keyed: Keyed) -> None:
        by = ", ".join(keyed.keys)
        touched: DataFrame = self.spark.sql(keyed.touched)
        touched.createOrReplaceTempView("touched")
        fresh = self.spark.sql(f"select v.*, true as there from ({query}) v left semi join touched using ({by})")
        fresh.createOrReplaceTempView("fresh")
        columns = [name for name in fresh.columns if name != "there"]
        same = " and ".join(f"t.{key} <=> s.{key}" for key in keyed.keys)
        sets = ", ".join(f"t.{name} = s.{name}" for name in columns)
        values = ", ".join(f"s.{name}" for name in columns)
        self.spark.sql(
            f"merge into delta.`{path}` t using (select * from touched left join fresh using ({by})) s on {same} "
            f"when matched and s.there is null then delete when matched then update set {sets} "
            f"when not matched and s.there then insert ({', '.join(columns)}) values ({values})"
        ).collect()


def refused(world: World, peer: str) -> str | None:
    """Why a peer cannot do a world's work."""
    said = world.peers.get(peer, "not: nobody has written it")
    return said.removeprefix("not: ") if said.startswith("not: ") else None
