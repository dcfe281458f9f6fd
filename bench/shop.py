"""Five tables joined and filtered: a view over millions of order lines, of which a thousandth changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from bench.worlds import Change, Fingerprints, Keyed, by_duckdb, fingerprints, write_changes, write_table
from deltalake import DeltaTable

SPEC = """\
group: {group}
sources:
  line: {{table: raw/line, key: [id], columns: {{id: bigint, customer: int, product: int, store: int, quantity: int}}}}
  customer: {{table: raw/customer, key: [id], columns: {{id: int, segment: string}}}}
  product: {{table: raw/product, key: [id], columns: {{id: int, maker: int, price: int}}}}
  store: {{table: raw/store, key: [id], columns: {{id: int, region: string}}}}
  maker: {{table: raw/maker, key: [id], columns: {{id: int, country: string}}}}
views:
  sale:
    columns: {{line: bigint, segment: string, region: string, country: string, value: bigint}}
    strategy: {strategy}
    rules:
      - |
        sale(L, G, R, K, V) :- line(L, C, P, S, Q), Q >= 5, customer(C, G), product(P, M, A), A < 400,
          store(S, R), R != "north", maker(M, K), V = bigint(Q) * A
"""
QUERY = """
select l.id as line, c.segment, s.region, m.country, cast(l.quantity as bigint) * p.price as value
from line l join customer c on c.id = l.customer join product p on p.id = l.product
join store s on s.id = l.store join maker m on m.id = p.maker
where l.quantity >= 5 and p.price < 400 and s.region <> 'north'
"""
TABLES = ("line", "customer", "product", "store", "maker")
FLAT = {  # peers of views without recursion
    "spark": "sql",
    "merge": "sql",
    "pg_ivm": "sql",
    "nemo": "not: it recomputes in memory as DuckDB does, and is here for recursion",
    "clingo": "not: it recomputes in memory as DuckDB does, and is here for recursion",
    "pathway": "not: its program would have to be written by hand, and is here for recursion",
}


@dataclass(slots=True)
class Shop:
    """Order lines and what they refer to."""

    lines: int
    name: str = "join"
    fixed: int = 0  # rows of each change; 0: a thousandth
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    next_id: int = 0
    tables = TABLES
    queries: Mapping[str, str] = field(default_factory=lambda: {"sale": QUERY})
    peers: Mapping[str, str] = field(default_factory=lambda: FLAT)
    keyed: Mapping[str, Keyed] = field(
        default_factory=lambda: {"sale": Keyed(("line",), "select distinct id as line from line_changes")}
    )

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The view's spec under a group's name."""
        return SPEC.format(group=group, strategy=strategy)

    def create(self, root: str) -> None:
        """Write all five tables."""
        few = max(self.lines // 100, 50)
        write_table(root, "raw/line", self._lines(self.lines))
        segments = pa.array(["home", "office", "trade"]).take(pa.array(np.arange(few) % 3))
        write_table(root, "raw/customer", pa.table({"id": _ids(few), "segment": segments}))
        price = self.rng.integers(1, 1000, few // 2).astype(np.int32)
        maker = (np.arange(few // 2) % 40).astype(np.int32)
        write_table(root, "raw/product", pa.table({"id": _ids(few // 2), "maker": maker, "price": price}))
        regions = pa.array(["north", "south", "east", "west"]).take(pa.array(np.arange(20) % 4))
        write_table(root, "raw/store", pa.table({"id": _ids(20), "region": regions}))
        countries = pa.array([f"land{i % 12}" for i in range(40)])
        write_table(root, "raw/maker", pa.table({"id": _ids(40), "country": countries}))

    def changes(self) -> list[tuple[str, int, str]]:
        """A thousandth of the lines, in each way; or as many as always."""
        if self.fixed:
            return [(f"mixed {self.fixed:,}", self.fixed, "mixed")]
        return [(f"{kind} 0.1 %", max(2, self.lines // 1000), kind) for kind in ("insert", "delete", "mixed")]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Change order lines."""
        came = {"insert": size, "delete": 0, "mixed": size // 2}[kind]
        gone = {"insert": 0, "delete": size, "mixed": size // 2}[kind]
        present = DeltaTable(f"{root}/raw/line").to_pyarrow_table()
        minus = present.take(pa.array(np.sort(self.rng.choice(present.num_rows, gone, replace=False))))
        plus = self._lines(came)
        write_changes(root, "raw/line", plus, minus)
        return Change(plus.num_rows, minus.num_rows)

    def expected(self, root: str) -> Fingerprints:
        """The same join by DuckDB."""
        return fingerprints(by_duckdb(self, root))

    def _lines(self, count: int) -> pa.Table:
        few = max(self.lines // 100, 50)
        first, self.next_id = self.next_id, self.next_id + count
        numbers = {"customer": few, "product": few // 2, "store": 20, "quantity": 10}
        columns = {name: self.rng.integers(0, top, count).astype(np.int32) for name, top in numbers.items()}
        return pa.table({"id": np.arange(first, first + count, dtype=np.int64), **columns})


def _ids(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)
