"""Fill a warehouse with the sample data, without Spark: the tables on day 1, the bulk load of day 2, and a bad load.

Loaders write Delta tables by whatever they like; this one uses deltalake. A table with its change
data feed on is read by difference; one without it is compared as a whole, which costs more.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

sys.path.insert(0, str(Path(__file__).resolve().parent / "supply_chain"))
import read  # the reader of the excerpt, beside the excerpt

FEED = {"delta.enableChangeDataFeed": "true"}
ARROW = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "date": pa.date32()}
ROADS = [
    ("Lisbon", "Madrid"), ("Madrid", "Paris"), ("Paris", "Brussels"), ("Brussels", "Cologne"), ("Cologne", "Berlin"),
    ("Berlin", "Warsaw"), ("Paris", "Zurich"), ("Zurich", "Vienna"), ("Vienna", "Warsaw"), ("Warsaw", "Vilnius"),
]  # fmt: skip
CLOSED, OPENED = [("Cologne", "Berlin")], [("Vilnius", "Riga")]


def load_day1(warehouse: str) -> None:
    """Create every source table of the sample views."""
    for table, rows in read.read_day1().items():
        _create(f"{warehouse}/supply_chain/{table}", _arrow(read.TABLES[table], rows))
    _create(f"{warehouse}/sales/edge", _roads(ROADS))


def load_day2(warehouse: str) -> dict[str, int]:
    """The bulk load: what changed in the Debian indexes, and in the roads. Says the version of each changed table."""
    changes = {
        f"supply_chain/{table}": tuple(_arrow(read.TABLES[table], rows) for rows in both)
        for table, both in read.read_day2().items()
    }
    changes["sales/edge"] = _roads(OPENED), _roads(CLOSED)
    return {table: _change(f"{warehouse}/{table}", *both) for table, both in changes.items() if any(map(len, both))}


def load_bad(warehouse: str) -> dict[str, int]:
    """A load gone wrong: a road from a city to itself, which the spec of `reach` denies."""
    return {"sales/edge": _change(f"{warehouse}/sales/edge", _roads([("Porto", "Porto")]), _roads([]))}


def _create(path: str, rows: pa.Table) -> None:
    write_deltalake(path, rows, configuration=FEED)


def _change(path: str, came: pa.Table, went: pa.Table) -> int:
    """Delete, then append: two commits, as loaders do it."""
    if len(went):
        on = " and ".join(f"(t.`{name}` is not distinct from s.`{name}`)" for name in went.column_names)
        DeltaTable(path).merge(went, on, source_alias="s", target_alias="t").when_matched_delete().execute()
    if len(came):
        write_deltalake(path, came, mode="append")
    return DeltaTable(path).version()


def _roads(rows: list[tuple[str, str]]) -> pa.Table:
    return _arrow({"src": "string", "dst": "string"}, rows)


def _arrow(columns: dict[str, str], rows: list[Any]) -> pa.Table:
    arrays = [pa.array([row[i] for row in rows], ARROW[sql]) for i, sql in enumerate(columns.values())]
    return pa.table(arrays, names=list(columns))


if __name__ == "__main__":
    load_day1(sys.argv[1])
    sys.stdout.write(f"day 1 is in {sys.argv[1]}\n")
