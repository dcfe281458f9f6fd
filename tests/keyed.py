"""A group whose sources declare keys, random nights that keep them, and what its views must hold, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.roads import FEED

import foreset
from foreset.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from foreset.warehouse import Warehouse

KEYS = {"client": "[c]", "sale": "[s]", "line": "[s, n]"}
SPEC = """\
group: shop
sources:
  client: {table: shop/client, columns: {c: int, region: string}, key: CLIENT}
  sale: {table: shop/sale, columns: {s: int, c: int, day: int}, key: SALE}
  line: {table: shop/line, columns: {s: int, n: int, part: string, amount: bigint}, key: LINE}
views:
  shipped:
    columns: {s: int, n: int, region: string}
    rules:
      - shipped(S, N, R) :- line(S, N, _, _), sale(S, C, _), client(C, R)
  turnover:
    columns: {region: string, total: bigint}
    rules:
      - turnover(R, T) :- T = sum{A, S, N | line(S, N, _, A), sale(S, C, _), client(C, R)}
  largest:
    columns: {part: string, amount: bigint}
    rules:
      - largest(P, M) :- M = max{A, S, N | line(S, N, P, A)}
  sold:
    columns: {part: string, region: string}
    rules:
      - sold(P, R) :- line(S, _, P, _), sale(S, C, _), client(C, R)
  quiet:
    columns: {c: int}
    rules:
      - quiet(C) :- client(C, _), not sale(_, C, _)
"""
TYPES = {
    "client": {"c": pa.int32(), "region": pa.string()},
    "sale": {"s": pa.int32(), "c": pa.int32(), "day": pa.int32()},
    "line": {"s": pa.int32(), "n": pa.int32(), "part": pa.string(), "amount": pa.int64()},
}
SINGLE = ("shipped",)  # views whose rows tell how they were derived
Rows = dict[tuple[Any, ...], tuple[Any, ...]]


def spec(**keys: str) -> str:
    """The spec with other keys; an empty one is left out."""
    text = SPEC
    for name, key in {**KEYS, **keys}.items():
        text = text.replace(f", key: {name.upper()}", f", key: {key}" if key else "")
    return text


class Shop:
    """The tables as they are now, by key, and the warehouse over them."""

    def __init__(self, place: Path, rng: Random, spark: SparkSession | None = None) -> None:
        self.root, self.specs, self.rng, self.spark = str(place / "lake"), place / "specs", rng, spark
        self.specs.mkdir()
        self.tables: dict[str, Rows] = {name: {} for name in TYPES}
        self.declare(spec())

    def declare(self, text: str) -> None:
        """Write the spec."""
        (self.specs / "shop.yaml").write_text(text)

    def warehouse(self) -> Warehouse:
        """The warehouse with the spec as it is."""
        return foreset.open(self.root, str(self.specs), "nowhere" if self.spark is None else self.spark)

    def write(self, name: str, more: Iterable[tuple[Any, ...]] = ()) -> None:
        """Put a table to the disk, with more rows than it should have."""
        rows = [*self.tables[name].values(), *more]
        types = TYPES[name]
        columns = {column: pa.array([row[i] for row in rows], kind) for i, (column, kind) in enumerate(types.items())}
        write_deltalake(f"{self.root}/shop/{name}", pa.table(columns), mode="overwrite", configuration=FEED)

    def night(self) -> None:
        """Rows come, go and change; none takes the key of another, and in some nights some are written twice."""
        rng = self.rng
        twice = rng.choice((0.0, 0.0, 0.1))
        for name in TYPES:
            rows = self.tables[name]
            if rng.random() < 0.08:
                rows.clear()
            for _ in range(rng.choice((0, 1, 3, 6))):
                key, row = self._any(name)
                if key in rows and rng.random() < 0.5:
                    del rows[key]
                else:
                    rows[key] = row
            self.write(name, [row for row in rows.values() if rng.random() < twice])

    def _any(self, name: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        rng = self.rng
        client, sale = rng.choice((None, 1, 2, 3, 4)), rng.randrange(6)
        match name:
            case "client":
                return (client,), (client, rng.choice((None, "north", "south")))
            case "sale":
                return (sale,), (sale, client, rng.randrange(3))
            case _:
                number = rng.randrange(3)
                return (sale, number), (sale, number, rng.choice(("bolt", "nut")), rng.randrange(5))

    def expected(self) -> dict[str, set[tuple[Any, ...]]]:
        """What the views must hold; NULL joins with nothing."""
        clients = {c: region for c, region in self.tables["client"].values() if c is not None}
        sales = {s: c for s, c, _ in self.tables["sale"].values()}
        lines = [line for line in self.tables["line"].values() if sales.get(line[0]) in clients]
        placed = [(s, n, part, amount, clients[sales[s]]) for s, n, part, amount in lines]
        most: dict[str, int] = {}
        for _, _, part, amount in self.tables["line"].values():
            most[part] = max(amount, most.get(part, amount))
        regions = {region for *_, region in placed}
        return {
            "shipped": {(s, n, region) for s, n, _, _, region in placed},
            "turnover": {(one, sum(a for _, _, _, a, region in placed if region == one)) for one in regions},
            "largest": set(most.items()),
            "sold": {(part, region) for _, _, part, _, region in placed},
            "quiet": {(c,) for c, _ in self.tables["client"].values() if c is None or c not in sales.values()},
        }


def contents(wh: Warehouse, view: str) -> set[tuple[Any, ...]]:
    """The rows of a view."""
    return {tuple(row.values()) for row in wh.read(f"shop.{view}").to_pylist()}


def follows(shop: Shop, nights: int, *, loaded: bool = False) -> None:
    """After each night every view holds what it must, and told exactly what came and went."""
    before: dict[str, set[tuple[Any, ...]]] = shop.expected() if loaded else {}
    for night in range(nights):
        shop.night()
        wh, wanted = shop.warehouse(), shop.expected()
        result = wh.refresh("shop", "incremental" if night or loaded else "recompute", verify=60)
        for view, rows in wanted.items():
            assert contents(wh, view) == rows, f"night {night}, {view}"
            old = before.get(view, set())
            if result.status == "committed":
                told = (result.views[view].inserted, result.views[view].deleted)
                assert told == (len(rows - old), len(old - rows)), f"night {night}, {view}"
        before = wanted


def stops_at_two_clients_of_one_number(world: Shop) -> None:
    """The first refresh names the key, and goes on when the other row is a copy."""
    world.tables["client"] = {(1,): (1, "north"), (2,): (2, None)}
    for name in world.tables:
        world.write(name)
    world.write("client", [(1, "south")])
    with pytest.raises(SourceError, match=r"`client`: several rows have the key \(c = 1\)\n"):
        world.warehouse().refresh("shop")
    world.write("client", [(1, "north")])
    assert world.warehouse().refresh("shop").status == "committed", "copies of one row are one row"
