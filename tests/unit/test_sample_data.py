"""The committed excerpt in examples/supply_chain: small, distinct, and day 2 fits day 1."""

import importlib.util
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "supply_chain"
PYTHON_TYPES = {"string": str, "int": int, "bigint": int, "date": date}


def _load_reader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply_chain_read", FOLDER / "read.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reader = _load_reader()
DAY1 = reader.read_day1()
DAY2 = reader.read_day2()
SECOND = {table: (set(DAY1[table]) - set(delete)) | set(insert) for table, (insert, delete) in DAY2.items()}
BOTH_DAYS = pytest.mark.parametrize("day", [{t: set(rows) for t, rows in DAY1.items()}, SECOND], ids=["day1", "day2"])


def test_committed_size_is_below_three_megabytes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("day?/*.csv.gz")) < 3_000_000


@pytest.mark.parametrize("table", reader.TABLES)
def test_rows_are_sorted_distinct_and_typed(table: str) -> None:
    types = [PYTHON_TYPES[sql_type] for sql_type in reader.TABLES[table].values()]
    for rows in (DAY1[table], *DAY2[table]):
        assert rows == sorted(set(rows))
        assert all([type(value) for value in row] == types for row in rows)


@pytest.mark.parametrize("table", reader.TABLES)
def test_day2_deletes_what_is_there_and_inserts_what_is_not(table: str) -> None:
    insert, delete = DAY2[table]
    assert set(delete) <= set(DAY1[table])
    assert set(insert).isdisjoint(DAY1[table])


@BOTH_DAYS
def test_each_package_has_one_version(day: dict[str, set[tuple[object, ...]]]) -> None:
    names = [row[0] for row in day["package"]]
    assert len(names) == len(set(names))


@BOTH_DAYS
def test_references_between_tables_hold(day: dict[str, set[tuple[object, ...]]]) -> None:
    names = {row[0] for row in day["package"]}
    for table in ("depends", "provides", "conflicts", "built_using"):
        assert {row[0] for row in day[table]} <= names
    assert {row[6] for row in day["package"]} == {row[0] for row in day["maintainer"]}
    assert {row[0] for row in day["affects"]} <= {row[0] for row in day["advisory"]}


@BOTH_DAYS
def test_every_dependency_can_be_met(day: dict[str, set[tuple[object, ...]]]) -> None:
    known = {row[0] for row in day["package"]} | {row[1] for row in day["provides"]}
    demands = {(row[0], row[2]) for row in day["depends"]}
    assert demands == {(row[0], row[2]) for row in day["depends"] if row[3] in known}


@BOTH_DAYS
def test_the_excerpt_has_dependency_cycles(day: dict[str, set[tuple[object, ...]]]) -> None:
    edges = {(row[0], row[3]) for row in day["depends"]}
    assert {("libc6", "libgcc-s1"), ("libgcc-s1", "libc6")} <= edges


def test_day2_replaces_versions() -> None:
    insert, delete = DAY2["package"]
    assert {row[0] for row in delete} <= {row[0] for row in insert}
    assert len(insert) > len(delete) > 0
