"""Warehouses as commit 1699e4e left them (`data/old_warehouse/make.py`), and what their views must hold."""

from __future__ import annotations

import json
import os
import tarfile
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tests.roads import closed, edges

import foreset
from foreset.store.epochs import PATIENCE
from foreset.warehouse import Warehouse

ARCHIVE = Path(__file__).parent / "data/old_warehouse/warehouses.tar.xz"
PLACE, TEXTS = b"@ROOT@", (".json", ".jsonl")
NOWHERE = "sc://127.0.0.1:9"
Rows = set[tuple[object, ...]]

# What `edge` held at each committed refresh of `reach`; from the third on `xa` is in `closure` by an edit.
NIGHTS = ("ab bc cd de ea ef", "ab bc de ea ef fg", "ab bc de ea ef fg", "ab bc de ef fg gh")
EDIT = 3
PENDING = "ab bc ef fg gh hb"  # what it holds since: the refresh `night` was killed while it took that in
LATER = "ab bc fg gh hb bk"


def unpacked(name: str, root: Path) -> Path:
    """One of the warehouses with its specs, below `root`."""
    with tarfile.open(ARCHIVE) as archive:
        found = [entry for entry in archive if entry.name.startswith(f"{name}/")]
        archive.extractall(root, found, filter="data")
    here = root / name
    for file in here.rglob("*"):
        if file.suffix in TEXTS and PLACE in (text := file.read_bytes()):
            file.write_bytes(text.replace(PLACE, str(here).encode()))
        os.utime(file)  # whenever this runs: gc and Delta look at ages
    for sign in here.glob("wh/_foreset/*/epochs/*-alive.json"):
        sign.write_text(json.dumps({"at": time.time() - 2 * PATIENCE}))  # whatever the clock says: nobody is at work
    return here


def opened(here: Path, spark: object = NOWHERE) -> Warehouse:
    """As a user has it."""
    return foreset.open(str(here / "wh"), str(here / "specs"), spark)


def expected(roads: str, *, edited: bool = True) -> dict[str, Rows]:
    """What the views of `reach` hold over these roads: no Datalog at all."""
    road, ways = set(roads.split()), closed(roads)
    counted = ways | ({"xa"} if edited else set())
    return {
        "closure": pairs(counted),
        "linked": pairs(ways),
        "two_steps": {(one[0], other[1]) for one in road for other in road if one[1] == other[0]},
        "dead_end": {(one[1],) for one in road if one[1] not in {other[0] for other in road}},
        "sizes": {(start, sum(way[0] == start for way in counted)) for start in {way[0] for way in counted}},
    }


def pairs(words: Iterable[str]) -> Rows:
    """`ab` as `("a", "b")`."""
    return {(word[0], word[1]) for word in words}


def rows(table: pa.Table) -> Rows:
    """Rows of a table; a row twice is a fault."""
    found = [tuple(row.values()) for row in table.to_pylist()]
    assert len(set(found)) == len(found)
    return set(found)


def state(wh: Warehouse, at: int | None = None) -> dict[str, Rows]:
    """What the views of `reach` hold."""
    return {view: rows(wh.read(f"reach.{view}", at)) for view in expected("")}


def changed(wh: Warehouse, seq: int | None = None) -> dict[str, tuple[Rows, Rows]]:
    """What came to each view of `reach` in a refresh, and what went."""
    found = {view: wh.changes(f"reach.{view}", seq) for view in expected("")}
    return {view: (rows(plus), rows(minus)) for view, (plus, minus) in found.items()}


def difference(new: dict[str, Rows], old: dict[str, Rows]) -> dict[str, tuple[Rows, Rows]]:
    """What must have come and gone."""
    return {view: (new[view] - old[view], old[view] - new[view]) for view in new}


def move(here: Path, before: str, after: str) -> None:
    """Bring `edge` from one state to another."""
    old, new = set(before.split()), set(after.split())
    for road in old - new:
        DeltaTable(here / "wh/sales/edge").delete(f"src = '{road[0]}' and dst = '{road[1]}'")
    write_deltalake(here / "wh/sales/edge", edges(*(new - old)), mode="append")
