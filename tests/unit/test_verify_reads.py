"""What proofs read of a large source: what a look for some keys has to read, however large the source is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.roads import World

from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING
from foreset.refresh import checking
from foreset.verify import facts
from foreset.verify.facts import SourceFacts

COLUMNS = (Column("id", BIGINT), Column("customer", BIGINT), Column("note", STRING))
GROUP = 8_192  # rows that Parquet files tell apart
SMALL, LARGE = 20 * GROUP, 200 * GROUP
LOOKS = 10
OF_A_PART = 2_500  # bytes: what Parquet says of so many rows, read at each look to see whether a key can be there


@pytest.fixture(autouse=True)
def _large_is_not_very_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "LARGE_ROWS", 10 * GROUP)


def orders(folder: Path, rows: int) -> str:
    """Orders by number; each customer has four, anywhere; the notes take most of the room."""
    path, rng = folder / f"{rows}.parquet", np.random.default_rng(rows)
    notes = pa.array(rng.integers(1 << 60, 1 << 62, rows)).cast(pa.string())
    ids = pa.array(np.arange(rows))
    pq.write_table(pa.table([ids, rng.permutation(rows) // 4, notes], names=["id", "customer", "note"]), path,
                   row_group_size=GROUP, use_dictionary=False)  # fmt: skip
    return str(path)


def bytes_read(source: SourceFacts, *, known: tuple[int, ...], keys: list[tuple[int]]) -> int:
    """By system calls, while it is found out how many rows a key finds, and some are looked for, look by look."""
    before = psutil.Process().io_counters().read_chars
    source.fanout("orders", known)
    for number in range(LOOKS):
        found = source.rows("orders", known, [(key[0] + number,) for key in keys])
        assert found[keys[0][0] + number,]
    return int(psutil.Process().io_counters().read_chars - before)


@pytest.mark.skipif(not hasattr(psutil.Process, "io_counters"), reason="no counts of bytes on this system")
def test_ten_times_the_source_costs_looks_by_key_hardly_more(tmp_path: Path) -> None:
    taken = {}
    for rows in (SMALL, LARGE):
        path = orders(tmp_path, rows)
        source = SourceFacts({"orders": COLUMNS}, lambda _, path=path: (path,))
        read = bytes_read(source, known=(0,), keys=[(rows // 2,), (rows // 2 + 20,)])
        assert source.rows_read["orders"] <= 20
        taken[rows] = (read, Path(path).stat().st_size)
        source.close()
    (small, _), (large, whole) = taken[SMALL], taken[LARGE]
    assert large < 0.2 * whole
    assert large - small < LOOKS * OF_A_PART * (LARGE - SMALL) / GROUP


@pytest.mark.skipif(not hasattr(psutil.Process, "io_counters"), reason="no counts of bytes on this system")
def test_a_key_that_lies_everywhere_costs_its_column(tmp_path: Path) -> None:
    path = orders(tmp_path, LARGE)
    columns = pq.ParquetFile(path).metadata
    wide = sum(columns.row_group(i).column(1).total_compressed_size for i in range(columns.num_row_groups))
    source = SourceFacts({"orders": COLUMNS}, lambda _: (path,))
    before = psutil.Process().io_counters().read_chars
    assert source.fanout("orders", (1,)) == pytest.approx(4, abs=1)
    read = psutil.Process().io_counters().read_chars - before
    assert read < 1.5 * wide + 4 * GROUP * 100
    source.close()


def test_how_many_rows_a_key_finds_is_tried_where_counting_them_reads_all(tmp_path: Path) -> None:
    source = SourceFacts({"orders": COLUMNS}, lambda _: (orders(tmp_path, LARGE),))
    assert source.fanout("orders", ()) == LARGE
    assert source.fanout("orders", (0,)) == 1
    assert source.fanout("orders", (0, 1)) == 1
    for number in range(50):  # never taken into memory
        source.rows("orders", (0,), [(number,)])
    assert not source._kept
    source.close()


def test_a_large_source_is_drawn_from_by_what_changed_or_by_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "DRAWN_ROWS", -1)
    drawn, one_part = list[object](), checking.one_part
    monkeypatch.setattr(checking, "one_part", lambda rows, seq: (drawn.append(rows), one_part(rows, seq))[1])
    (tmp_path / "warehouse").mkdir()
    world = World(str(tmp_path / "warehouse"), tmp_path / "specs", "embedded")
    assert world.settle().status == "committed"
    assert drawn
    drawn.clear()
    world.night()
    assert world.settle().status == "committed"
    assert not drawn, "what changed is enough"
