"""Time is UTC, whatever the time zone of the process is: each test runs the product in a process of its own."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

PACKAGE = Path(__file__).resolve().parents[2] / "plugins" / "foreset"
ZONES = ("America/New_York", "Asia/Kolkata")
AT = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
ROWS = pa.table({
    "k": ["a"],
    "t": pa.array([AT], pa.timestamp("us", "UTC")),
    "n": pa.array([AT.replace(tzinfo=None)], pa.timestamp("us")),
    "many": pa.array([[AT]], pa.list_(pa.timestamp("us", "UTC"))),
})  # fmt: skip
TOLD = "2024-01-02T03:04:05"

ASK = """
import sys
from foreset.domains.asking import Calls
from foreset.domains.provider import Access
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.program import Column
from foreset.ir.types import parse_type

def columns(*pairs):
    return tuple(Column(name, parse_type(kind)) for name, kind in pairs)

root, kind = sys.argv[1:]
K, T, N, MANY = ("k", "string"), ("t", "timestamp"), ("n", "timestamp_ntz"), ("many", "array<timestamp>")
got = DomainFunction("got", columns(K), columns(T, N, *([] if kind == "csv" else [MANY])))
by = DomainFunction("by", columns(T, N), columns(K))
domain = Domain("d", "files", (got, by), options={"path": "rows", "format": kind})
calls = Calls(root + "/run", None, Access(root))
[(t, n, *many)] = calls.answers(domain, got, [("a",)])["a",]
print(t.isoformat(), n.isoformat(), *(one.isoformat() for one in (many[0] if many else [])))
print(calls.answers(domain, by, [(t, n)])[t, n])
"""

CONVERT = """
import datetime as dt
import sys
from foreset.backends.duckdb.database import session
from foreset.reports.headline import overdue
with session() as connection:
    print(connection.sql("SELECT CAST(TIMESTAMPTZ '2024-01-02 03:04:05+00' AS TIMESTAMP)").fetchall()[0][0].isoformat())
last = dt.datetime(2024, 7, 1, 0, 0, tzinfo=dt.UTC)
now = dt.datetime(2024, 7, 2, 12, 0, tzinfo=dt.UTC)
print(overdue("0 2 * * *", "Europe/Berlin", last, now).isoformat())
"""


def run_in(zone: str, program: str, *arguments: str) -> list[str]:
    """What a program prints in a process of that time zone."""
    command = [sys.executable, "-c", program, *arguments]
    environment = os.environ | {"TZ": zone, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write(path: Path, kind: str) -> None:
    match kind:
        case "parquet":
            pq.write_table(ROWS, path)
        case "delta":
            write_deltalake(str(path), ROWS.set_column(2, "n", ROWS["n"].cast(pa.timestamp("us", "UTC"))))
        case "json":
            path.write_text(json.dumps({"k": "a", "t": "2024-01-02 08:34:05+05:30", "n": TOLD, "many": [f"{TOLD}Z"]}))
        case "csv":
            path.write_text(f"k,t,n\na,2024-01-02 08:34:05+05:30,{TOLD}\n")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", ["parquet", "delta", "json", "csv"])
def test_files_are_read_in_utc(tmp_path: Path, zone: str, kind: str) -> None:
    write(tmp_path / "rows", kind)
    times, found = run_in(zone, ASK, str(tmp_path), kind)
    assert set(times.split()) == {TOLD}
    assert found == "(('a',),)", "an argument is looked up in UTC too"


@pytest.mark.parametrize("zone", ZONES)
def test_strata_and_schedules_do_not_know_the_zone_of_the_process(zone: str) -> None:
    assert run_in(zone, CONVERT) == [TOLD, "2024-07-02T00:00:00+00:00"]


def test_each_database_is_opened_in_one_place() -> None:
    """`scratch.opened` sets UTC; a DuckDB opened elsewhere would have the zone of the process."""
    opening = [str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.py") if "duckdb.connect(" in p.read_text()]
    assert opening == ["store/scratch.py"]


def test_spark_is_given_and_gives_values_in_one_place() -> None:
    """Only `spark_values` knows how timestamps pass; elsewhere `collect` and `lit` of values would use local time.

    Listings of a table's log are text, and the shares and counts that `lit` is given elsewhere are constants of ours.
    """
    modules = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}
    collecting = {name for name, text in modules.items() if ".collect()" in text or ".toPandas()" in text}
    assert collecting == {"store/spark_values.py", "store/capture/spark_log.py"}
    of_values = re.compile(r"\blit\((value|constant\.value|term\.function\(\))\)")
    assert [name for name, text in modules.items() if of_values.search(text)] == []
