"""What a sample is drawn from: rows in memory and rows in the files of a signed table are the same rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from pyarrow.dataset import Dataset

from foreset.ir.program import Column, Source
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, DOUBLE, STRING, TIMESTAMP
from foreset.ir.versions import Version
from foreset.relations.files import Plain, SignedFiles, entries, one_part, plain
from foreset.relations.located import Located, SourceAt, published
from foreset.store import arrow, delta, signed, write_once
from foreset.store.arrow_values import to_rows
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.delta import SparkOnly
from foreset.store.layout import Layout
from foreset.store.rows import ViewPin
from foreset.verify.entries import Draw, present, sampled
from foreset.verify.facts import SourceFacts

COLUMNS = (Column("n", BIGINT), Column("what is it?", STRING), Column("x", DOUBLE), Column("at", TIMESTAMP))
NAMES = [column.name for column in COLUMNS]
NOON = dt.datetime(2026, 3, 1, 12)


def row_of(k: int) -> Row:
    """Distinct rows, with NULLs, a zero, and a quote in a text."""
    return (k, None if k % 5 == 0 else f"it's {k % 7}", k / 4, NOON + dt.timedelta(hours=k))


def table_of(rows: set[Row]) -> pa.Table | None:
    ordered = sorted(rows, key=lambda row: row[0])
    kinds = [pa.int64(), pa.string(), pa.float64(), pa.timestamp("us", "UTC")]
    arrays = [pa.array([row[i] for row in ordered], kind) for i, kind in enumerate(kinds)]
    return pa.table(arrays, names=NAMES) if rows else None


@pytest.mark.parametrize(("seed", "folder"), [(0, "lake"), (1, "lake"), (2, "lake"), (3, "n=9/_seq=7")])
@pytest.mark.parametrize("near", [True, False], ids=["by name", "elsewhere"])
def test_rows_come_and_go_and_come_back(
    seed: int, folder: str, near: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the names of files, and by delta-rs where DuckDB does not open them; rows are not read as a whole."""
    if not near:
        monkeypatch.setattr(delta, "on_this_disk", lambda *_: None)
    rng, layout = Random(seed), Layout(str(tmp_path / folder), "g")
    path = layout.resolve("g/v")
    kinds = {"n": "bigint", "what is it?": "string", "x": "double", "at": "timestamp"}
    signed.create(path, kinds)
    everything = {row_of(k) for k in range(40)}
    there: set[Row] = set()
    for seq in range(1, 7):
        gone = {row for row in there if rng.random() < 0.3}
        came = {row for row in everything - there if rng.random() < 0.5}
        there = (there - gone) | came
        txn = write_once.Txn(f"t{seq}", seq, delta.Mark("write", token=str(seq)))
        signed.append(path, table_of(came), table_of(gone), seq, txn)
        table = delta.open_table(path)
        assert table is not None
        rows = entries(published(layout, "v", ViewPin("g/v", "id", table.version(), kinds)))
        assert isinstance(rows, SignedFiles)
        assert isinstance(rows.came, tuple if near else Dataset)
        whole = arrow.read(path, table.version(), NAMES)
        newest = table_of(came)  # a row that is in some of the parts, but not in others, is told by each for itself
        parts = [rows, None, whole, newest, SignedFiles((), ())]
        assert present(parts, COLUMNS, sorted(everything, key=repr)) == [there, set(), there, came, set()]
        assert set(to_rows(arrow.read(path, table.version(), NAMES), COLUMNS)) == there
        draws = [Draw(rows, 10, seed), Draw(None, 10, seed), Draw(whole, 100, seed), Draw(whole, 0, seed)]
        drawn, nothing, all_of_them, none = sampled(draws, COLUMNS)
        assert 5 < len(drawn) <= 10
        assert set(drawn) <= everything
        assert set(all_of_them) == there
        assert nothing == none == []


def test_nothing_has_no_rows() -> None:
    empty = (None, (), SignedFiles((), ()))
    assert sampled([Draw(rows, 5, 1) for rows in empty], COLUMNS) == [[], [], []]
    assert present(empty, COLUMNS, [row_of(1)]) == [set(), set(), set()]
    assert present(empty, COLUMNS, []) == [set(), set(), set()]


def in_files(root: str, source: Source, version: int) -> Plain:
    place = SourceAt(source, root, RecordedPin("id", version))
    return plain(Located(source.name, Version.NEW, source.columns, place))


def test_sources_are_read_by_their_files_only_where_those_hold_all(tmp_path: Path) -> None:
    """Not where a column lies in the names of folders, nor where one was added that no file has."""
    rows = pa.table({"n": pa.array([1, 2], pa.int64()), "k": pa.array(["a", "b"])})
    source = Source("s", (Column("n", BIGINT), Column("k", STRING)), "s")
    write_deltalake(f"{tmp_path}/s", rows)
    files = in_files(str(tmp_path), source, 0)
    assert isinstance(files, tuple)
    facts = SourceFacts({"s": source.columns}, lambda _: files)
    assert facts.rows("s", (1,), [("b",), ("c",)]) == {("b",): [(2, "b")], ("c",): []}
    DeltaTable(f"{tmp_path}/s").alter.add_columns(Field("later", "string"))
    wider = replace(source, columns=(*source.columns, Column("later", STRING)))
    assert isinstance(in_files(str(tmp_path), wider, 1), Dataset)
    assert in_files(str(tmp_path), source, 1) == files
    write_deltalake(f"{tmp_path}/p", rows, partition_by=["k"])
    assert isinstance(in_files(str(tmp_path), replace(source, table="p"), 0), Dataset)
    with pytest.raises(SparkOnly, match="is not there"):
        in_files(str(tmp_path), replace(source, table="nowhere"), 0)
    assert delta.on_this_disk("s3://bucket/s", []) is None


def test_a_large_source_is_drawn_from_by_one_of_its_files(tmp_path: Path) -> None:
    for number in range(3):
        rows = pa.table({"n": pa.array([number], pa.int64()), "k": ["a"]})
        write_deltalake(f"{tmp_path}/s", rows, mode="append")
        write_deltalake(f"{tmp_path}/p", rows, mode="append", partition_by=["k"])
    columns = (Column("n", BIGINT), Column("k", STRING))
    for table in "sp":
        whole = in_files(str(tmp_path), Source("s", columns, table), 2)
        parts = [one_part(whole, number) for number in range(3, 6)]
        drawn = sampled([Draw(part, 9, 1) for part in parts], columns)
        assert sorted(drawn) == [[(0, "a")], [(1, "a")], [(2, "a")]]
    assert one_part((), 7) == ()
    assert one_part(rows, 7) is rows
