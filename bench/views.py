"""Many views: what one touched view costs, a chain of ten, all fifty, and none; every view reads the one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from bench.shop import FLAT
from bench.worlds import NO_KEYS, Change, Fingerprints, by_duckdb, fingerprints, write_changes, write_table

CHAIN, BESIDE = 10, 40
ONE, DEEP = 1, 0  # kinds of events: only one view reads the first, the chain reads the second


def queries() -> dict[str, str]:
    """All fifty views in SQL."""
    chain = {f"step{k + 1}": f"select id, value + {k} as value from event where kind = {DEEP}" for k in range(CHAIN)}
    return chain | {f"kind{k}": f"select id, value from event where kind = {k}" for k in range(1, BESIDE + 1)}


@dataclass(slots=True)
class Views:
    """Events of many kinds: a view for each of forty kinds, and ten views on top of each other for one more."""

    events: int = 200_000
    name: str = "views"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    next_id: int = 0
    tables = ("event",)
    keyed = NO_KEYS
    queries: Mapping[str, str] = field(default_factory=queries)
    peers: Mapping[str, str] = field(default_factory=lambda: FLAT)

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The spec under a group's name."""
        columns = f"    columns: {{id: bigint, value: bigint}}\n    strategy: {strategy}\n    rules:\n"
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

    def expected(self, root: str) -> Fingerprints:
        """All views by DuckDB."""
        return fingerprints(by_duckdb(self, root))

    def _events(self, count: int, kinds: Sequence[int]) -> pa.Table:
        first, self.next_id = self.next_id, self.next_id + count
        return pa.table(
            {
                "id": np.arange(first, first + count, dtype=np.int64),
                "kind": np.array([kinds[k % len(kinds)] for k in range(count)], dtype=np.int32),
                "value": self.rng.integers(0, 1000, count),
            }
        )
