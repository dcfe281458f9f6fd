"""Many views: what one touched view costs, a chain of ten, all fifty, and none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
from bench.worlds import Change, Fingerprint, fingerprint, write_changes, write_table
from deltalake import DeltaTable

CHAIN, BESIDE = 10, 40
ONE, DEEP = 1, 0  # kinds of events: only one view reads the first, the chain reads the second


@dataclass(slots=True)
class Views:
    """Events of many kinds: a view for each of forty kinds, and ten views on top of each other for one more."""

    events: int = 200_000
    name: str = "views"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    next_id: int = 0
    view = f"step{CHAIN}"
    tables = ("event",)
    query = f"select id, value + {CHAIN - 1} as value from event where kind = {DEEP}"

    def spec(self, group: str) -> str:
        """The spec under a group's name."""
        columns = "    columns: {id: bigint, value: bigint}\n    rules:\n"
        source = "event: {table: raw/event, columns: {id: bigint, kind: int, value: bigint}}"
        text = f"group: {group}\nsources:\n  {source}\nviews:\n"
        text += f"  step1:\n{columns}      - step1(I, V) :- event(I, {DEEP}, V)\n"
        for k in range(2, CHAIN + 1):
            text += f"  step{k}:\n{columns}      - step{k}(I, W) :- step{k - 1}(I, V), W = V + 1\n"
        for k in range(1, BESIDE + 1):
            text += f"  kind{k}:\n{columns}      - kind{k}(I, V) :- event(I, {k}, V)\n"
        return text

    def create(self, root: str) -> None:
        """Write the events."""
        write_table(root, "raw/event", self._events(self.events, range(BESIDE + 1)))

    def changes(self) -> list[tuple[str, int, str]]:
        """A hundred new events for one view, for the chain, and for all of them."""
        return [("one view", 100, "one"), ("chain of 10", 100, "chain"), ("all 50", 100, "all")]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """New events."""
        kinds = {"one": (ONE,), "chain": (DEEP,)}.get(kind, tuple(range(BESIDE + 1)))
        plus = self._events(size, kinds)
        write_changes(root, "raw/event", plus, plus.slice(0, 0))
        return Change(plus.num_rows, 0)

    def expected(self, root: str) -> Fingerprint:
        """The end of the chain, by DuckDB."""
        with duckdb.connect() as connection:
            connection.register("event", DeltaTable(f"{root}/raw/event").to_pyarrow_dataset())
            return fingerprint(connection.sql(self.query).to_arrow_table())

    def _events(self, count: int, kinds: Sequence[int]) -> pa.Table:
        first, self.next_id = self.next_id, self.next_id + count
        return pa.table(
            {
                "id": np.arange(first, first + count, dtype=np.int64),
                "kind": np.array([kinds[k % len(kinds)] for k in range(count)], dtype=np.int32),
                "value": self.rng.integers(0, 1000, count),
            }
        )
