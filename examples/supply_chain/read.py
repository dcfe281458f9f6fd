"""Read the committed excerpt: typed rows for day 1, and the signed changes of day 2.

`TABLES` is the one place that says which columns the excerpt has; `make_excerpt.py`
writes by it. Rows are tuples in the order of the columns. The files hold no NULL:
an absent constraint is an empty text.
"""

import csv
import gzip
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent

Value = str | int | date
Row = tuple[Value, ...]

# table -> column -> Spark SQL type
TABLES: dict[str, dict[str, str]] = {
    "package": {
        "name": "string",
        "version": "string",
        "source": "string",
        "source_version": "string",
        "section": "string",
        "installed_kib": "bigint",
        "maintainer": "string",
    },
    "depends": {
        "package": "string",
        "kind": "string",
        "clause": "int",
        "target": "string",
        "relation": "string",
        "version": "string",
    },
    "provides": {"package": "string", "virtual": "string", "version": "string"},
    "conflicts": {
        "package": "string",
        "kind": "string",
        "target": "string",
        "relation": "string",
        "version": "string",
    },
    "built_using": {"package": "string", "source": "string", "source_version": "string"},
    "maintainer": {"name": "string", "kind": "string"},
    "advisory": {
        "id": "string",
        "source": "string",
        "fixed_version": "string",
        "published": "date",
    },
    "affects": {"advisory": "string", "source": "string", "source_version": "string"},
}

_PARSERS: dict[str, Callable[[str], Value]] = {
    "string": str,
    "int": int,
    "bigint": int,
    "date": date.fromisoformat,
}


def read_day1(folder: Path = HERE) -> dict[str, list[Row]]:
    """Return every table of day 1, its rows sorted and distinct."""
    return {table: [row for _, row in _rows(folder / "day1", table)] for table in TABLES}


def read_day2(folder: Path = HERE) -> dict[str, tuple[list[Row], list[Row]]]:
    """Return, for every table, the rows to insert and the rows to delete on day 2."""
    changes: dict[str, tuple[list[Row], list[Row]]] = {}
    for table in TABLES:
        signed = list(_rows(folder / "day2", table))
        insert = [row for op, row in signed if op == "+"]
        delete = [row for op, row in signed if op == "-"]
        changes[table] = insert, delete
    return changes


def _rows(folder: Path, table: str) -> Iterator[tuple[str, Row]]:
    columns = TABLES[table]
    parsers = [_PARSERS[sql_type] for sql_type in columns.values()]
    path = folder / f"{table}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        header = next(reader)
        signed = header[:1] == ["op"]
        if header[signed:] != list(columns):
            raise ValueError(f"{path.name}: expected columns {list(columns)}, found {header}")
        for record in reader:
            op = record[0] if signed else "+"
            yield op, tuple(p(text) for p, text in zip(parsers, record[signed:], strict=True))
