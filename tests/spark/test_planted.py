"""Errors planted in what a refresh has staged: rows dropped, added, altered; all seen by a whole sample, and by a
sample of some rows as often as its size says. Six in `make test`, thirty under FORESET_LONG=1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from tests.roads import World, closed, words

import foreset
from foreset.plan import marks
from foreset.plan.frozen import Request
from foreset.records.strata import StagedFile
from foreset.refresh.capturing import capture_sources
from foreset.refresh.checking import verify
from foreset.refresh.context import Context
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLANTINGS = 30 if os.environ.get("FORESET_LONG") else 6
NODES = "abcdefghijkl"
START = "ab bc cd de ef fg gh hi ij jk kl"
WHOLE, SOME = "6000", "60"  # rows of all views: every combination of nodes several times over, and a part of them


@pytest.fixture
def staged(warehouse: str, tmp_path: Path, spark: SparkSession) -> Context:
    """A night that is staged and not verified yet: the chain is cut and joined elsewhere."""
    world = World(warehouse, tmp_path / "specs", spark, START)
    wh = world.open()
    world.settle(verify="off")
    world.delete("fg")
    world.insert("ag la")
    context = open_refresh(spark, wh.layout("reach"), wh.spec("reach"), Request("night", "incremental"))
    assert isinstance(context, Context)
    capture_sources(context)
    for stratum in context.layering.strata:
        maintain(context, stratum.number)
    return context


def rows_of(place: StagedFile) -> pa.Table:
    return pyarrow.dataset.dataset(place.path, format="parquet").to_table()


@contextmanager
def planted(context: Context, view: str, kind: str, rng: Random) -> Iterator[str]:
    """One error in the staged differential of `view`; everything is put back."""
    number = context.layering.of(view).number
    record = context.mark(marks.stratum(number))
    assert record is not None
    sides = {"plus": record.views[view].plus, "minus": record.views[view].minus}
    side = rng.choice([name for name, file in sides.items() if file.rows > 1])
    place = sides[side]
    assert place.path is not None
    kept = {file: file.read_bytes() for file in Path(place.path).glob("*.parquet")}
    true = rows_of(place)
    found = sorted(tuple(row.values()) for row in true.to_pylist())  # the same victims in every run
    added = rng.choice(sorted(wrong_rows(context, view, side, set(found))))
    victim = rng.randrange(len(found))
    if kind != "added":
        del found[victim]
    if kind != "dropped":
        found.insert(rng.randrange(len(found) + 1), added)
    arrays = [pa.array([row[k] for row in found], true.schema.types[k]) for k in range(true.num_columns)]
    for file in kept:
        file.unlink()
    pyarrow.parquet.write_table(pa.table(arrays, schema=true.schema), f"{place.path}/part-0.parquet")
    try:
        yield f"{kind} {side} of {view}"
    finally:
        Path(place.path, "part-0.parquet").unlink(missing_ok=True)
        for file, content in kept.items():
            file.write_bytes(content)
        Path(context.path("marks", "verify.json")).unlink(missing_ok=True)


def wrong_rows(context: Context, view: str, side: str, there: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Rows that would be wrong on that side: in `plus` what is not derived, in `minus` what stays."""
    after = {*START.split(), "ag", "la"} - {"fg"}
    state = closed(after) if view == "closure" else {a[0] + b[1] for a in after for b in after if a[1] == b[0]}
    every = {x + y for x in NODES for y in NODES}
    old = {*START.split()}
    before = closed(old) if view == "closure" else {a[0] + b[1] for a in old for b in old if a[1] == b[0]}
    found = every - state - before if side == "plus" else state & before
    return {tuple(word) for word in found} - there


def caught(context: Context, size: str) -> bool:
    try:
        verify(replace(context, plan=replace(context.plan, verify=size)))
    except foreset.VerificationFailed:
        return True
    return False


def test_planted_errors_are_caught(staged: Context) -> None:
    assert not caught(staged, WHOLE)
    Path(staged.path("marks", "verify.json")).unlink()
    rng, some = Random(11), 0
    for number in range(PLANTINGS):
        view, kind = ("closure", "two_steps")[number % 2], ("added", "dropped", "altered")[number % 3]
        with planted(staged, view, kind, rng) as what:
            assert caught(staged, WHOLE), what
            some += caught(staged, SOME)
    print(f"\n{PLANTINGS} plantings: all caught by {WHOLE} rows, {some} by {SOME}")
    assert some > 0
    if PLANTINGS >= 30:
        assert some >= PLANTINGS // 3


def test_what_is_right_is_published(staged: Context) -> None:
    """The same night without an error passes and is what full evaluation says."""
    from foreset.refresh.committing import commit

    verify(staged)
    assert commit(staged).seq == 2
    wh = foreset.open(staged.layout.root, "", staged.spark)
    assert words(wh.read("reach.closure")) == closed({*START.split(), "ag", "la"} - {"fg"})
