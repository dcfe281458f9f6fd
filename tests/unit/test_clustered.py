"""Rows that are looked up together lie together: in which order, and that readers skip what cannot hold a key."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import FEED

import foreset
from foreset.plan.layout import laid_out
from foreset.store import clustered as module
from foreset.store.clustered import clustered

SPEC = """\
group: g
sources:
  edge: {table: t/edge, columns: {a: bigint, b: bigint}}
  mark: {table: t/mark, columns: {a: bigint}}
views:
  step:
    columns: {a: bigint, b: bigint}
    rules: ["step(X, Y) :- edge(X, Y), X != Y"]
  READER
"""
READERS = {
    "nobody": ("", "ab"),
    "by the second column": (
        "marked: {columns: {a: bigint}, rules: ['marked(X) :- step(X, Y), mark(Y)']}",
        "ba",
    ),
    "by both, more often by the first": (
        "both: {columns: {a: bigint}, rules: ['both(X) :- step(X, Y), mark(Y)', 'both(Y) :- step(X, Y), mark(X)']}",
        "ab",
    ),
    "by a constant": ("one: {columns: {a: bigint}, rules: ['one(X) :- step(X, 1)']}", "ba"),
    "beside itself": (
        "two: {columns: {a: bigint, b: bigint}, rules: ['two(X, Z) :- step(X, Y), step(Y, Z)']}",
        "ab",
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_view_is_laid_out_by_what_it_is_looked_up_by(reader: str) -> None:
    text, order = READERS[reader]
    _, layering = in_normal_form(load_program(SPEC.replace("READER", text), "spec"))
    view = layering.of("step").views[0]
    assert "".join(view.columns[place].name for place in laid_out(view.name, layering)) == order


def test_members_are_laid_out_by_their_groups() -> None:
    text = SPEC.replace(
        "READER", "least: {columns: {b: bigint, m: bigint}, rules: ['least(Y, M) :- M = min{X | step(X, Y)}']}"
    )
    _, layering = in_normal_form(load_program(text, "spec"))
    (members,) = (s.views[0] for s in layering.strata if "~members" in s.names[0])
    assert laid_out(members.name, layering) == (0, 1)


COLUMNS = {
    "whole numbers": (pa.int64(), [3, -1, None, 7]),
    "texts": (pa.string(), ["b", "", None, "a"]),
    "doubles": (pa.float64(), [1.5, float("nan"), -0.0, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "lists": (pa.list_(pa.int64()), [[1], [], None]),
}


@pytest.mark.parametrize("first", COLUMNS)
@pytest.mark.parametrize("second", COLUMNS)
def test_the_same_rows_with_equal_ones_together(first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY_ROWS", 10)
    rng = Random(4)
    columns = [
        pa.array([rng.choice(values) for _ in range(60)], kind) for kind, values in map(COLUMNS.get, (first, second))
    ]  # type: ignore[misc]
    rows = pa.table({"a": columns[0], "b": columns[1]})
    found = clustered(rows, ["a", "b"])
    assert Counter(map(repr, found.to_pylist())) == Counter(map(repr, rows.to_pylist()))
    keys = [repr(row) for row in found.to_pylist()]
    if "lists" not in (first, second):
        assert sum(one != other for one, other in pairwise(keys)) == len(set(keys)) - 1


def test_few_rows_are_left_as_they_are() -> None:
    rows = pa.table({"a": [3, 1, 2]})
    assert clustered(rows, ["a"]) is rows


def test_a_look_for_a_few_keys_skips_most_of_a_large_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored in order by a first load, by a rewrite, and a night's rows too, whatever the order in the source."""
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    for module_ in ("backends.duckdb.tables", "store.delta"):
        monkeypatch.setattr(f"foreset.{module_}.ROW_GROUP", 10_000)
    numbers = np.random.default_rng(1).permutation(120_000)
    root, specs = str(tmp_path / "lake"), tmp_path / "specs"
    specs.mkdir()
    (specs / "g.yaml").write_text(SPEC.replace("READER", READERS["by the second column"][0]))

    def write(many: np.ndarray, mode: str) -> None:
        table = pa.table({"a": many[::-1].copy() + 1_000_000, "b": many})
        write_deltalake(f"{root}/t/edge", table, mode=mode, configuration=FEED if mode == "overwrite" else None)

    write(numbers, "overwrite")
    write_deltalake(f"{root}/t/mark", pa.table({"a": pa.array([5], pa.int64())}), configuration=FEED)
    wh = foreset.open(root, str(specs), "nowhere")
    for night in (np.arange(0), np.random.default_rng(2).permutation(55_000) + 200_000, np.arange(300_000, 360_000)):
        if len(night):
            write(night, "append")
        wh.refresh("g", verify=20)
        files = DeltaTable(f"{root}/g/step").file_uris()
        groups = [group for file in files for group in _bounds(file, "b")]
        assert len(groups) >= 12
        assert sum(low <= 77_777 <= high for low, high in groups) == 1
    assert wh.read("g.step").num_rows == 120_000 + 55_000 + 60_000


def _bounds(file: str, name: str) -> list[tuple[int, int]]:
    metadata = pq.ParquetFile(file).metadata
    place = metadata.schema.names.index(name)
    found = (metadata.row_group(i).column(place).statistics for i in range(metadata.num_row_groups))
    return [(one.min, one.max) for one in found]
