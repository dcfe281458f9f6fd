"""TPC-H by tpchgen-cli: ten join and aggregate views, refresh functions RF1 and RF2, and updates.

A change of p touches p of all orders with their lines: new ones (RF1), old ones gone (RF2), and lines with another
quantity, price and discount, a third each when mixed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench import specs
from bench.shop import FLAT
from bench.worlds import Change, Fingerprints, Keyed, by_duckdb, fingerprints, raw, write_changes, write_table
from deltalake import DeltaTable

HERE = Path(__file__).resolve().parent
TABLES = ("lineitem", "orders", "customer", "supplier", "part", "partsupp", "nation", "region")
ORDERS_OF_LINES = "select l_orderkey from lineitem_changes union select o_orderkey from orders_changes"
KEYED = {
    "q3": Keyed(("orderkey",), f"select distinct l_orderkey as orderkey from ({ORDERS_OF_LINES})"),
    "q18": Keyed(("orderkey",), f"select distinct l_orderkey as orderkey from ({ORDERS_OF_LINES})"),
    "q10": Keyed(
        ("custkey",),
        f"""select distinct o_custkey as custkey from orders where o_orderkey in ({ORDERS_OF_LINES})
        union select o_custkey from orders_changes""",
    ),
    "late": Keyed(
        ("orderkey", "line"),
        """select l_orderkey as orderkey, l_linenumber as line from lineitem_changes union select l_orderkey,
        l_linenumber from lineitem where l_orderkey in (select o_orderkey from orders_changes)""",
    ),
}
IVM = ("q1", "q3", "q5", "q10", "q12", "late")  # no HAVING, no subquery under an aggregate, no DISTINCT in one


def generate(folder: Path, scale: float, command: Path) -> Path:
    """The eight tables as Parquet files, made once for each scale factor."""
    place = folder / f"tpch-{scale:g}"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        told = subprocess.run(
            [command, "parquet", "-s", f"{scale:g}", "-o", place, "--overwrite"], check=False, capture_output=True,
            text=True,
        )  # fmt: skip
        if told.returncode:
            raise RuntimeError(f"tpchgen-cli: {told.stderr.strip()[-300:]}")
        (place / "done").touch()
    return place


@dataclass(slots=True)
class Tpch:
    """Orders, their lines, and what these refer to."""

    files: Path  # Parquet files by name of the table
    name: str = "tpch"
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    tables = TABLES
    queries: Mapping[str, str] = field(default_factory=lambda: specs.queries(HERE / "tpch.sql"))
    peers: Mapping[str, str] = field(default_factory=lambda: {**FLAT, "pg_ivm": ",".join(IVM)})
    keyed: Mapping[str, Keyed] = field(default_factory=lambda: KEYED)

    def spec(self, group: str, strategy: str = "auto") -> str:
        """The spec under a group's name."""
        return specs.spec(HERE / "tpch.yaml", group, strategy)

    def create(self, root: str) -> None:
        """Write all eight tables, with all their columns, piece by piece: the largest do not fit into memory."""
        for name in TABLES:
            file = pq.ParquetFile(self.files / f"{name}.parquet")
            schema = pa.schema([_plain(column) for column in file.schema_arrow])
            pieces = (piece.cast(schema) for piece in file.iter_batches(batch_size=1 << 17))
            write_table(root, f"raw/{name}", pa.RecordBatchReader.from_batches(schema, pieces))

    def changes(self) -> list[tuple[str, int, str]]:
        """Each function alone, then all of them at three sizes, which are in ten-thousandths."""
        alone = [(f"{label} 0.1 %", 10, kind) for label, kind in (("RF1", "rf1"), ("RF2", "rf2"), ("update", "update"))]
        return [*alone, *((f"mixed {size / 100:g} %", size, "mixed") for size in (10, 100, 1000))]

    def apply(self, root: str, size: int, kind: str) -> Change:
        """Change orders and their lines."""
        keys = DeltaTable(raw(root, "orders")).to_pyarrow_dataset().to_table(columns=["o_orderkey"])["o_orderkey"]
        count = max(1, len(keys) * size // 10_000 // (3 if kind == "mixed" else 1))
        parts = ("rf1", "rf2", "update") if kind == "mixed" else (kind,)
        chosen = self.rng.choice(len(keys), count * len(parts), replace=False).reshape(len(parts), count)
        groups = {part: keys.take(pa.array(np.sort(rows))) for part, rows in zip(parts, chosen, strict=True)}
        came, gone = dict[str, list[pa.Table]](), dict[str, list[pa.Table]]()
        for part, picked in groups.items():
            orders, lines = _those(root, "orders", picked), _those(root, "lineitem", picked)
            if part == "rf1":
                fresh = int(pc.max(keys).as_py()) + 1
                _add(came, orders=_renumbered(orders, picked, fresh), lineitem=_renumbered(lines, picked, fresh))
            elif part == "rf2":
                _add(gone, orders=orders, lineitem=lines)
            else:
                _add(gone, lineitem=lines)
                _add(came, lineitem=self._updated(lines))
        return _written(root, came, gone)

    def expected(self, root: str) -> Fingerprints:
        """All views by DuckDB."""
        return fingerprints(by_duckdb(self, root))

    def _updated(self, lines: pa.Table) -> pa.Table:
        """Another quantity at the same price of a piece, and another discount."""
        before = lines["l_quantity"].cast(pa.float64()).to_numpy()
        quantity = np.where(before == 50, 1, before + 1)
        price = np.round(lines["l_extendedprice"].cast(pa.float64()).to_numpy() * quantity / before, 2)
        discount = self.rng.integers(0, 11, lines.num_rows) / 100
        for name, values in (("l_quantity", quantity), ("l_extendedprice", price), ("l_discount", discount)):
            text = pa.array([f"{value:.2f}" for value in values], pa.string())
            lines = lines.set_column(lines.column_names.index(name), name, text.cast(pa.decimal128(15, 2)))
        return lines


def _plain(column: pa.Field) -> pa.Field:
    return pa.field(column.name, pa.string() if pa.types.is_string_view(column.type) else column.type)


def _those(root: str, table: str, keys: pa.ChunkedArray) -> pa.Table:
    wanted = pc.field(f"{table[0]}_orderkey").isin(keys.combine_chunks())
    return DeltaTable(raw(root, table)).to_pyarrow_dataset().to_table(filter=wanted)


def _renumbered(rows: pa.Table, keys: pa.ChunkedArray, first: int) -> pa.Table:
    """The same rows under keys that nothing else has."""
    name = rows.column_names[0]
    places = pc.index_in(rows[name], value_set=keys.combine_chunks())
    return rows.set_column(0, name, pc.add(places.cast(pa.int64()), first))


def _add(found: dict[str, list[pa.Table]], **tables: pa.Table) -> None:
    for name, rows in tables.items():
        found.setdefault(name, []).append(rows)


def _written(root: str, came: dict[str, list[pa.Table]], gone: dict[str, list[pa.Table]]) -> Change:
    counts = [0, 0]
    for name in sorted(came.keys() | gone.keys()):
        empty = DeltaTable(raw(root, name)).to_pyarrow_dataset().schema.empty_table()
        plus, minus = (pa.concat_tables([empty, *side.get(name, [])]) for side in (came, gone))
        key = f"{name[0]}_orderkey"
        doomed = pa.table({key: pc.unique(minus[key])})  # orders go and change with all their lines
        write_changes(root, f"raw/{name}", plus, doomed)
        counts = [counts[0] + plus.num_rows, counts[1] + minus.num_rows]
    return Change(*counts)
