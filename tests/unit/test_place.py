"""Where a stratum begins: by what it reads, what it holds and what this machine has."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.ir.sizes import amount, read_width, row_width
from foreset.plan.choose import Size
from foreset.plan.cost import DUCKDB, SPARK
from foreset.plan.place import FEW_CHANGES, FEW_ROWS, LITTLE, Load, Place, Room, by_room

GB = 10**9
LINES = Size(0, 0, 60_000_000, 40, 2 * GB)  # lineitem of TPC-H at scale 10, of which five columns are read
ORDERS = Size(15_000, 0, 15_000_000, 20, GB // 2)
TPCH = {"lineitem": LINES, "orders": ORDERS}


def place(strategy: str, sizes: Mapping[str, Size], room: Room, own: int = 0) -> Place:
    return by_room(Load(strategy == "recompute", sizes, own), room)


def test_sixty_million_rows_are_built_in_process_on_a_machine_of_24_gb() -> None:
    found = place("recompute", TPCH, Room(14 * GB))
    assert found.engine == DUCKDB
    assert found.reason == "2.5 GB to read, 2.7 GB to hold, 14 GB of memory free"


@pytest.mark.parametrize("free", [0, GB, 2 * GB])
def test_a_small_container_leaves_them_to_spark(free: int) -> None:
    found = place("recompute", TPCH, Room(free))
    assert (found.engine, found.reason) == (
        SPARK, f"2.5 GB to read, 2.7 GB to hold, {amount(free)} of memory free",
    )  # fmt: skip


def test_a_change_is_worked_on_in_process_however_large_the_view_is() -> None:
    found = place("dred", TPCH, Room(GB))
    assert (found.engine, found.reason) == (DUCKDB, "15,000 changed rows, 1.2 MB to hold, 1.0 GB of memory free")
    half = {"lineitem": Size(30_000_000, 1, 60_000_000, 40)}
    assert place("dred", half, Room(GB)).engine == SPARK
    assert place("dred", half, Room(14 * GB)).engine == DUCKDB


def test_the_rows_that_are_compared_with_count() -> None:
    small = {"edge": Size(0, 0, 1_000_000, 16)}
    assert place("recompute", small, Room(GB)).engine == DUCKDB
    assert place("recompute", small, Room(GB), 2 * GB).engine == SPARK


def test_a_little_is_done_in_process_without_any_memory() -> None:
    rows = LITTLE // 16
    assert place("recompute", {"edge": Size(0, 0, rows, 16)}, Room(0)).engine == DUCKDB
    assert place("recompute", {"edge": Size(0, 0, rows + 1, 16)}, Room(0)).engine == SPARK


def test_a_warehouse_elsewhere_has_bounds_of_rows_too() -> None:
    there = Room(100 * GB, local=False)
    assert place("recompute", {"edge": Size(0, 0, FEW_ROWS, 16)}, there).engine == DUCKDB
    found = place("recompute", {"edge": Size(0, 0, FEW_ROWS + 1, 16)}, there)
    assert found.engine == SPARK
    assert found.reason == "20,000,001 rows to build from, more than 20,000,000, and the warehouse is not on this disk"
    assert place("dred", {"edge": Size(FEW_CHANGES, 0, 0, 16)}, there).engine == DUCKDB
    assert place("dred", {"edge": Size(FEW_CHANGES, 1, 0, 16)}, there).engine == SPARK
    assert place("dred", {"edge": Size(1, 0, 10**9, 16)}, Room(0, local=False)).engine == DUCKDB


def test_only_columns_that_rules_read_have_a_width() -> None:
    text = """\
group: stock
sources:
  item: {table: shop/item, columns: {id: bigint, name: string, left: int, "day": date}}
views:
  names:
    columns: {name: string}
    rules: ["names(N) :- item(_, N, L, _), L > 3", "names(N) :- item(7, N, _, _)"]
"""
    program, layering = in_normal_form(load_program(text, "spec"))
    columns = program.columns_of()["item"]
    assert (read_width(layering.strata[0], "item", columns), row_width(columns)) == (8 + 24 + 4, 8 + 24 + 4 + 4)


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (9_960_000, "10 MB"), (310e6, "310 MB"), (14e9, "14 GB")],
)
def test_amounts_have_two_digits_that_matter(size: float, words: str) -> None:
    assert amount(size) == words
