"""A view of another group as a source: its committed differentials are the feed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.capture_sources import read, rows_of

from foreset.errors import SourceError
from foreset.ir.program import Column, Source
from foreset.ir.types import STRING
from foreset.ir.versions import Version
from foreset.store import delta, manifest, signed
from foreset.store.capture.plan import Feed, Reload, SnapshotDiff, Unchanged
from foreset.store.capture.take import capture, current_pin
from foreset.store.layout import Layout
from foreset.store.write_once import Txn

pytestmark = pytest.mark.spark
COLUMNS = {"src": "string", "dst": "string"}


class Group:
    """Commits refreshes of the view `reach.closure`, as the store does."""

    def __init__(self, spark, warehouse):
        self.spark, self.layout, self.seq = spark, Layout(warehouse, "reach"), 0
        self.path = self.layout.view("closure")
        signed.create(self.path, COLUMNS)

    def commit(self, plus=(), minus=(), *, kept=True):
        self.seq += 1
        txn = Txn("closure", self.seq, delta.Mark("write", "reach", self.seq))
        frames = [self.spark.createDataFrame(list(r), "src string, dst string") if r else None for r in (plus, minus)]
        if self.seq == 1:
            signed.load(self.path, frames[0], 1, txn)
        elif plus or minus:
            signed.append(self.path, *frames, self.seq, txn)
        references = []
        for name, frame in zip(("plus", "minus"), frames, strict=True):
            path = f"{self.layout.run(str(self.seq))}/{name}"
            if frame is not None and kept:
                frame.write.parquet(path)
            references.append(self.layout.relative(path) if frame is not None and kept else None)
        version = delta.open_table(self.path).version()
        pin = manifest.ViewPin("reach/closure", "id", version, COLUMNS, inserted=len(plus), deleted=len(minus),
                               plus_ref=references[0], minus_ref=references[1])  # fmt: skip
        row = manifest.ManifestRow(self.seq, f"r{self.seq}", "a", 0, self.seq - 1, views={"closure": pin})
        manifest.commit(self.layout, row)


def test_a_view_as_source(spark, warehouse):
    start = Source("start", (Column("src", STRING),), view="reach.closure")  # fewer columns: rows become copies
    with pytest.raises(SourceError, match="has not been committed"):
        current_pin(spark, start, warehouse)
    group = Group(spark, warehouse)
    group.commit([("a", "b"), ("a", "c"), ("b", "c")])
    first = capture(spark, start, None, warehouse, str(Path(warehouse, "run")))
    assert (first.pin.version, isinstance(first.way, Reload)) == (1, True)
    directory = str(Path(warehouse, "run"))
    assert set(rows_of(read(spark, start, warehouse, first, directory, Version.NEW))) == {("a",), ("b",)}

    group.commit([("d", "a")], [("a", "b")])
    group.commit([("e", "a")], [("b", "c"), ("d", "a")])
    second = capture(spark, start, first.pin, warehouse, str(Path(warehouse, "run")))
    assert second.way == Feed(1, 3)
    sides = (read(spark, start, warehouse, second, directory, side) for side in (Version.PLUS, Version.MINUS))
    assert [rows_of(side) for side in sides] == [[("e",)], [("b",)]]
    assert set(rows_of(read(spark, start, warehouse, second, directory, Version.OLD))) == {("a",), ("b",)}

    group.commit()
    third = capture(spark, start, second.pin, warehouse, str(Path(warehouse, "run")))
    assert isinstance(third.way, Unchanged)

    group.commit([("f", "a")], kept=False)  # a refresh whose differential was not kept
    fourth = capture(spark, start, third.pin, warehouse, str(Path(warehouse, "run")))
    assert isinstance(fourth.way, SnapshotDiff)
    assert rows_of(read(spark, start, warehouse, fourth, directory, Version.PLUS)) == [("f",)]

    wrong = Source("start", (Column("none", STRING),), view="reach.closure")
    with pytest.raises(SourceError, match="`none` does not exist"):
        current_pin(spark, wrong, warehouse)
