"""`make bench-choice`: what `auto` chooses after ten nights, beside every way that there is.

    python -m bench.choice [--rows 20000,200000] [--changes 0.0005,0.01,0.3] [--without-spark] [--out FILE]

For each scale one warehouse lives through ten nights of changes of all sizes, by `auto`. Then, for each size of a
change, copies of it take the same change by each way: maintained and recomputed, in process and in Spark. What `auto`
took in the work on strata is compared with the least of them. Every copy is held to the same rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import foreset
from foreset.plan.place import VARIABLE
from foreset.session import Settings, open_session

NIGHTS, PRODUCTS, LINES = 10, 1_000, 4  # before anything is judged; in all; of an order
TRIES = 2  # in process
WORSE, SLACK_S = 1.2, 0.2  # times the best way, beyond what a busy machine adds
WAYS = {"maintained in process": ("duckdb", "incremental"), "recomputed in process": ("duckdb", "recompute"),
        "maintained in Spark": ("spark", "incremental"), "recomputed in Spark": ("spark", "recompute")}  # fmt: skip
SPEC = """\
group: sales
sources:
  orders: {table: raw/orders, columns: {id: bigint, customer: bigint}, key: [id]}
  lines: {table: raw/lines, columns: {id: bigint, order_id: bigint, product: bigint, quantity: bigint}, key: [id]}
views:
  bought:
    columns: {customer: bigint, product: bigint}
    rules: ["bought(C, P) :- orders(O, C), lines(_, O, P, _)"]
  total:
    columns: {product: bigint, quantity: bigint}
    rules: ["total(P, S) :- S = sum{Q, L | lines(L, _, P, Q)}"]
"""
FEED = {"delta.enableChangeDataFeed": "true"}


class Shop:
    """A warehouse with orders and their lines; changes are the same wherever they are made."""

    def __init__(self, root: Path, rows: int) -> None:
        self.root, self.rows, self.next = root, rows, rows
        orders = np.arange(max(rows // LINES, 1), dtype=np.int64)
        table = pa.table({"id": orders, "customer": orders * 7919 % max(rows // 20, 1)})
        write_deltalake(str(root / "raw" / "orders"), table, configuration=FEED)
        write_deltalake(str(root / "raw" / "lines"), self._lines(0, rows), configuration=FEED)
        (root / "specs").mkdir()
        (root / "specs" / "sales.yaml").write_text(SPEC, encoding="utf-8")

    def _lines(self, first: int, count: int) -> pa.Table:
        ids = np.arange(first, first + count, dtype=np.int64)
        return pa.table({"id": ids, "order_id": ids * 6007 % max(self.rows // LINES, 1), "product": ids * 31 % PRODUCTS,
                         "quantity": ids % 9 + 1})  # fmt: skip

    def change(self, share: float) -> None:
        """Lines that go, the oldest first, and as many that come."""
        count = max(1, int(self.rows * share / 2))
        table = DeltaTable(str(self.root / "raw" / "lines"))
        table.delete(f"id < {self.next - self.rows + count}")
        write_deltalake(table, self._lines(self.next, count), mode="append")
        self.next += count

    @contextmanager
    def copied(self) -> Iterator[Shop]:
        """The same at another place, for as long as it is looked at."""
        with tempfile.TemporaryDirectory(dir=self.root.parent) as folder:
            other = Shop.__new__(Shop)
            other.root, other.rows, other.next = Path(folder) / "shop", self.rows, self.next
            shutil.copytree(self.root, other.root)
            yield other


@dataclass(frozen=True)
class Took:
    """The work on the strata of a refresh."""

    seconds: float
    ways: str
    rows: tuple[int, ...]


def refreshed(shop: Shop, spark: object, engine: str, mode: str) -> Took:
    os.environ[VARIABLE] = engine
    wh = foreset.open(str(shop.root), str(shop.root / "specs"), spark)
    wh.refresh("sales", mode=mode, verify="off")
    row = wh.manifest("sales")[-1]
    strata = row["extra"]["strata"]
    ways = sorted({f"{one['strategy']} {one.get('engine') or ''}".strip() for one in strata})
    rows = tuple(view["rows"] for name, view in sorted(row["views"].items()) if "~" not in name)
    return Took(round(sum(one["seconds"] for one in strata), 3), ", ".join(ways), rows)


def judged(shop: Shop, spark: object, share: float, ways: Sequence[str]) -> list[str]:
    """One line of the table."""
    tries: dict[str, list[Took]] = {}
    for name, how in {"auto": ("auto", "auto"), **{way: WAYS[way] for way in ways}}.items():
        for _ in range(1 if how[0] == "spark" else TRIES):
            with shop.copied() as other:
                other.change(share)
                tries.setdefault(name, []).append(refreshed(other, spark, *how))
    assert len({took.rows for some in tries.values() for took in some}) == 1, "every way comes to as many rows"
    seconds = {name: min(took.seconds for took in some) for name, some in tries.items()}
    best = min(seconds[way] for way in ways)
    verdict = "yes" if seconds["auto"] <= WORSE * best + SLACK_S else "**no**"
    took = [f"{seconds[name]:.2f}" for name in ("auto", *ways)]
    return [f"{shop.rows:,}", f"{100 * share:g} %", *took, f"{seconds['auto'] / best:.2f}", verdict,
            tries["auto"][0].ways]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="20000,200000", help="lines of the shops")
    parser.add_argument("--changes", default="0.0005,0.01,0.3", help="shares of the lines that change")
    parser.add_argument("--without-spark", action="store_true")
    parser.add_argument("--out", help="a file for the table")
    options = parser.parse_args()
    ways = [way for way in WAYS if not (options.without_spark and WAYS[way][0] == "spark")]
    shares = [float(one) for one in options.changes.split(",")]
    head = ["lines", "changed", "auto", *ways, "auto / best", f"within {WORSE} (+ {SLACK_S} s)", "what auto did"]
    table = [head, ["---"] * len(head)]
    with tempfile.TemporaryDirectory(prefix="foreset-choice-") as folder, _spark(folder, ways) as spark:
        for rows in map(int, options.rows.split(",")):
            shop = Shop(Path(folder) / str(rows), rows)
            refreshed(shop, spark, "auto", "auto")
            for night in range(NIGHTS):
                shop.change(shares[night % len(shares)])
                refreshed(shop, spark, "auto", "auto")
            table += [judged(shop, spark, share, ways) for share in shares]
    text = "\n".join(f"| {' | '.join(line)} |" for line in table)
    print(text)
    if options.out:
        Path(options.out).write_text(f"{__doc__}\nSeconds of the work on all strata.\n\n{text}\n", encoding="utf-8")


@contextmanager
def _spark(folder: str, ways: Sequence[str]) -> Iterator[object]:
    """A warm session, where one is needed."""
    if not any(WAYS[way][0] == "spark" for way in ways):
        yield "nowhere"
        return
    with open_session("local[2]", str(Path(folder) / "session"), Settings()) as handle:
        first = Shop(Path(folder) / "first", 1_000)
        refreshed(first, handle.spark, "spark", "auto")  # what is cold costs once
        yield handle.spark


if __name__ == "__main__":
    main()
