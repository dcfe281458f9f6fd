"""What a refresh of aggregates costs as the base grows, against recomputing them in the same session.

    python -m bench.aggregates                              10^4 to 10^7 rows, 1,000 changes
    python -m bench.aggregates --sizes 10000,1000000 --repeat 1

For each size n: a table of n sales in n / 100 shops and one shop with a tenth of them; three views: `totals`
(count, sum and mean: invertible), `best` (a maximum: an extremum) and `items` (distinct items: members counted).
A round makes k changes, half of them deletions, refreshes, and then recomputes everything in the same
session. Each result is compared with DuckDB over the table. Times are of the refresh without verification.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from bench.machine import facts
from bench.worlds import write_changes, write_table
from deltalake import DeltaTable, write_deltalake

import foreset
from foreset.session import stop_server
from foreset.warehouse import Warehouse

SPEC = """\
group: sales
sources:
  sale: {table: raw/sale, columns: {id: bigint, shop: bigint, item: bigint, amount: bigint}}
views:
  totals:
    columns: {shop: bigint, n: bigint, total: bigint, mean: double}
    rules:
      - totals(S, N, T, M) :- setof((A, I, X), sale(I, S, X, A), R), count(R, N), sum(R, T), avg(R, M)
  best:
    columns: {shop: bigint, most: bigint}
    rules:
      - best(S, M) :- M = max{A, I | sale(I, S, _, A)}
  items:
    columns: {shop: bigint, n: bigint}
    rules:
      - items(S, N) :- N = count{X | sale(_, S, X, _)}
"""
TRUTH = {
    "totals": "select shop, count(*), sum(amount), sum(amount)::double / count(*) from sale group by shop",
    "best": "select shop, max(amount) from sale group by shop",
    "items": "select shop, count(distinct item) from sale group by shop",
}
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(slots=True)
class Line:
    """One size: the median refresh of `changes`, and a recompute."""

    rows: int
    changes: int
    refresh: float
    recompute: float
    load: float
    engine: str
    base_rows_read: int
    rows_read: dict[str, int] = field(default_factory=dict)
    strategies: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of the refresh, by view
    written: int = 0  # rows in all tables of the group under the refresh's seq

    @property
    def ratio(self) -> float:
        """How often a refresh goes into a recompute."""
        return self.recompute / self.refresh


def sales(ids: np.ndarray, shops: int) -> pa.Table:
    """Sales by number: every tenth is of shop 0, the others are spread."""
    shop = np.where(ids % 10 == 0, 0, ids % shops)
    amount = (ids * 7919) % 100_003
    return pa.table({"id": ids, "shop": shop, "item": (ids * 31) % 997, "amount": amount})


def measure(root: str, rows: int, changes: int, repeat: int, spark: str) -> Line:
    """Load, then `repeat` rounds of changes and refreshes, then a recompute of the same changes."""
    half, shops = changes // 2, max(rows // 100, 1)
    write_table(root, "raw/sale", sales(np.arange(rows), shops))
    # What a round takes away lies in a small file of its own, so that the change itself is quickly made.
    doomed = [np.arange(rows + i * half, rows + (i + 1) * half) for i in range(repeat + 2)]
    write_deltalake(f"{root}/raw/sale", pa.concat_tables([sales(ids, shops) for ids in doomed]), mode="append")
    specs = Path(root, "specs")
    specs.mkdir()
    (specs / "sales.yaml").write_text(SPEC)
    wh = foreset.open(root, str(specs), spark)
    load = timed(wh, "auto")[0]
    times: list[float] = []
    found = None
    for i in range(repeat + 1):  # the first one warms up
        change(root, doomed[i], np.arange(10**9 + i * half, 10**9 + (i + 1) * half), shops)
        seconds, found = timed(wh, "incremental")
        times += [seconds] if i else []
    assert found is not None
    compare(wh, root)
    last = repeat + 1
    change(root, doomed[last], np.arange(10**9 + last * half, 10**9 + (last + 1) * half), shops)
    built, _ = timed(wh, "recompute")
    compare(wh, root)
    read: dict[str, int] = {}
    for view in found.views.values():
        for name, count in view.rows_read.items():
            read[name] = read.get(name, 0) + count
    engines = sorted({view.engine for view in found.views.values()} - {""})
    return Line(
        rows, changes, statistics.median(times), built, load, "+".join(engines), read.get("sale", 0), read,
        {name: view.strategy for name, view in found.views.items()},
        {name: view.seconds for name, view in found.views.items()}, written(root, found.seq),
    )  # fmt: skip


def change(root: str, gone: np.ndarray, come: np.ndarray, shops: int) -> None:
    """Take some rows away and add as many."""
    table = DeltaTable(f"{root}/raw/sale")
    table.delete(f"id >= {gone[0]} and id <= {gone[-1]}")
    write_changes(root, "raw/sale", sales(come, shops), sales(come[:0], shops))


def timed(wh: Warehouse, mode: str) -> tuple[float, foreset.RefreshResult]:
    """Seconds of a refresh without verification."""
    started = time.perf_counter()
    result = wh.refresh("sales", mode=mode, verify="off")
    return time.perf_counter() - started, result


def compare(wh: Warehouse, root: str) -> None:
    """Stop if a view is not what DuckDB makes of the table."""
    with duckdb.connect() as connection:
        connection.register("sale", DeltaTable(f"{root}/raw/sale").to_pyarrow_dataset())
        for view, query in TRUTH.items():
            connection.register("mine", wh.read(f"sales.{view}"))
            both = f"(select * from mine except {query}) union all ({query} except select * from mine)"
            ((wrong,),) = connection.execute(f"select count(*) from ({both})").fetchall()
            assert wrong == 0, f"{view}: {wrong} rows differ from DuckDB"


def written(root: str, seq: int) -> int:
    """Rows that a refresh added to the tables of the group."""
    total = 0
    for log in Path(root, "sales").rglob("_delta_log"):
        actions = pa.table(DeltaTable(str(log.parent)).get_add_actions(flatten=True)).to_pylist()
        total += sum(action["num_records"] for action in actions if action.get("partition._seq") == seq)
    return total


def table(lines: Sequence[Line]) -> str:
    """As text."""
    names = ("base rows", 12), ("changes", 8), ("refresh s", 10), ("recompute s", 12), ("ratio", 7), ("base read", 10)
    head = " ".join(f"{name:>{width}}" for name, width in (*names, ("written", 8))) + "  engine"
    rows = [
        f"{one.rows:12,} {one.changes:8,} {one.refresh:10.2f} {one.recompute:12.2f} {one.ratio:6.1f}x "
        f"{one.base_rows_read:10,} {one.written:8,}  {one.engine}"
        for one in lines
    ]
    return "\n".join((head, *rows))


def main() -> None:
    """Parse arguments, measure, print and keep the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000,1000000,10000000")
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engine", choices=("auto", "spark", "inproc"), default="auto")
    parser.add_argument("--spark", default="embedded", help="as FORESET_SPARK")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ["FORESET_ENGINE"] = options.engine
    about = facts()
    lines: list[Line] = []
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="foreset-bench-") as root:
            lines.append(measure(root, size, options.changes, options.repeat, options.spark))
            print(table(lines[-1:]), flush=True)
            keep(lines, about, options.out, options.engine)
            stop_server(root)
    print(table(lines))
    if len(lines) > 1:
        first, last = lines[0], lines[-1]
        growth = last.refresh / first.refresh
        print(f"{last.rows // first.rows:,} times the base: a refresh takes {growth:.2f} times as long")


def keep(lines: Sequence[Line], about: dict[str, Any], folder: Path, engine: str) -> None:
    """Write what is known so far: a long run that is cut leaves its sizes behind."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"machine": about, "lines": [{**asdict(one), "ratio": round(one.ratio, 1)} for one in lines]}
    path = folder / f"aggregates-{engine}-{about['date']}.json"
    path.write_text(json.dumps(kept, indent=1) + "\n")
    path.with_suffix(".txt").write_text(table(lines) + "\n")


if __name__ == "__main__":
    main()
