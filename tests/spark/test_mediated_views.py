"""What domains answer, constraints and edits where Spark does the strata: the same rows as in process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import foreset
from foreset.domains import registry
from foreset.domains.builtin import PythonDomain
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SPEC = """\
group: rooms
sources:
  person: {table: raw/person, columns: {name: string, age: int, height: "decimal(4,2)", born: date}}
domains:
  desk:
    provider: desk
    functions:
      room: {args: {name: string}, results: {room: int}}
views:
  adult:
    columns: {age: int}
    rules:
      - adult(X) :- X >= 18
  lives:
    columns: {name: string, room: int}
    rules:
      - lives(N, R) :- person(N, A, _, _), adult(A), in(R, desk:room(N))
  tall:
    columns: {name: string, height: "decimal(4,2)", born: date}
    rules:
      - tall(N, H, B) :- person(N, _, H, B)
"""


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    found = {"ann": [1], "bob": [2, 3], "eve": [4], "kid": [9]}
    provider = PythonDomain({"room": lambda name: found.get(name, [])})
    monkeypatch.setitem(registry._registered, "desk", provider)
    return found


@pytest.fixture
def wh(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/rooms.yaml").write_text(SPEC)
    people(tmp_path, ("ann", 30, "1.70", 1990), ("bob", 40, "1.80", 1980), ("kid", 3, "0.90", 2020))
    return foreset.open(str(tmp_path / "wh"), str(tmp_path / "specs"), spark)


def people(root: Path, *rows: tuple[str, int, str, int]) -> None:
    import datetime as dt
    from decimal import Decimal

    table = pa.table(
        {
            "name": [name for name, *_ in rows],
            "age": pa.array([age for _, age, *_ in rows], pa.int32()),
            "height": pa.array([Decimal(height) for *_, height, _ in rows], pa.decimal128(4, 2)),
            "born": pa.array([dt.date(year, 1, 1) for *_, year in rows], pa.date32()),
        }
    )
    write_deltalake(root / "wh/raw/person", table, mode="append")


def rows(table: pa.Table) -> set[tuple]:
    return {tuple(row.values()) for row in table.to_pylist()}


def names(table: pa.Table) -> set[str]:
    return {row["name"] for row in table.to_pylist()}


def test_nights_and_corrections(wh: Warehouse, rooms: dict[str, list[int]], tmp_path: Path) -> None:
    first = wh.refresh("rooms", verify="full")
    assert first.views["lives"].engine == "spark"
    assert first.verification["verdict"] == "passed"
    assert rows(wh.read("rooms.lives")) == {("ann", 1), ("bob", 2), ("bob", 3)}

    rooms["bob"] = [3]
    people(tmp_path, ("eve", 18, "1.75", 2008))
    wh.refresh("rooms", mode="incremental")
    assert rows(wh.changes("rooms.lives")[0]) == {("eve", 4)}
    assert rows(wh.changes("rooms.lives")[1]) == {("bob", 2)}
    wh.edit("rooms.tall", delete='height < 1.71, born >= date("1985-01-01"), name != "kid"')
    assert names(wh.read("rooms.tall")) == {"bob", "kid", "eve"}
