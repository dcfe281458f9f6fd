"""Bad input and bad machines: a clear error that names what is wrong, nothing published, the last state readable.

Divisions and missing tables: also test_refresh.py; feeds and schemas: test_capture.py.
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from tests.roads import AFTER_THE_NIGHT, PAPER, REACH, World, closed, edges, words
from tests.spark.test_refresh import ENDLESS

import foreset
from foreset.store import files

pytestmark = pytest.mark.spark


@pytest.fixture
def world(world: World) -> World:
    """At seq 1, with a night of changes waiting."""
    world.settle(verify="off")
    world.night()
    return world


def unharmed(world: World) -> None:
    """What readers see is seq 1."""
    wh = world.open()
    assert [row["seq"] for row in wh.manifest("reach")] == [1]
    assert words(wh.read("reach.closure")) == closed(PAPER)
    assert words(wh.read("reach.dead_end")) == {"g"}


def goes_on(world: World, refresh_id: str = "night") -> None:
    """The same refresh, once the fault is gone."""
    assert world.settle(mode="incremental", refresh_id=refresh_id, verify="full").seq == 2
    assert words(world.open().read("reach.closure")) == closed(AFTER_THE_NIGHT)


def fails(world: World, kind: type[Exception], *parts: str, refresh_id: str = "night") -> None:
    with pytest.raises(kind) as caught:
        world.open().refresh("reach", mode="incremental", refresh_id=refresh_id)
    for part in parts:
        assert part in str(caught.value)


def test_specs_that_do_not_fit_the_data(world: World) -> None:
    """Each names the table or source, and the views or the rule."""
    columns = "string, dst: string"
    world.spec(REACH.replace("sales/edge", "sales/nowhere"))
    fails(world, foreset.SourceError, "sales/nowhere", "`edge`")
    world.spec(REACH.replace(columns, "string, dst: date", 1))
    fails(world, foreset.ForesetError, "dst", "date")
    world.spec(REACH.replace(columns, "string, weight: int", 1).replace("dst: string}}", "weight: int}}", 1))
    fails(world, foreset.ForesetError, "weight")
    write_deltalake(f"{world.root}/sales/loop", edges("ab ba"))
    world.spec(ENDLESS.replace("sales/edge", "sales/loop"))
    fails(world, foreset.EvaluationError, "far", "12 rounds")
    unharmed(world)
    world.spec(REACH)
    goes_on(world, "after")


def test_a_corrupt_log_of_a_source(world: World) -> None:
    log = max(Path(world.table, "_delta_log").glob("*.json"))
    kept = log.read_text()
    log.write_text(kept[: len(kept) // 2])
    fails(world, foreset.SourceError, "sales/edge", "`edge`")
    unharmed(world)
    log.write_text(kept)
    goes_on(world, "after")


def test_a_source_file_that_is_gone(world: World) -> None:
    """What the table's log promises is not there: named, and nothing is taken for a deletion."""
    write_deltalake(world.table, edges("xy"), mode="append")
    newest = max(Path(world.table).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    away = newest.rename(newest.with_suffix(".away"))
    fails(world, foreset.ForesetError, "edge")
    unharmed(world)
    away.rename(newest)
    assert world.settle(mode="incremental", verify="full").seq == 2
    assert "xy" in words(world.open().read("reach.closure"))


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[None]:
    """A file system of that size at `place`; skips where it cannot be mounted."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_under_the_run_directories(world: World) -> None:
    """A disk of 64 kB: the differentials of the night have no room on it."""
    runs = Path(world.root, "_foreset", "reach", "runs", "night")
    with small_disk(runs, 64):
        (runs / "ballast").write_bytes(b"x" * 30_000)
        fails(world, foreset.EnvironmentFault, "the disk is full", "of group reach", "free some space")
        unharmed(world)
        (runs / "ballast").unlink()
    unharmed(world)
    goes_on(world, "after")


def test_a_full_disk_at_the_very_commit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The views are written, and there is no room for the mark or the manifest: the same refresh ends it later."""
    honest = files.write_text

    def full(path: str, text: str) -> None:
        if path.endswith("marks/verify.json"):
            raise OSError(errno.ENOSPC, "No space left on device", path)
        honest(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_text", full)
        fails(world, foreset.EnvironmentFault, "the disk is full, during verify of group reach")
    unharmed(world)
    goes_on(world)


def test_a_table_that_may_not_be_written(world: World) -> None:
    """The folder of a view is made immutable, as root minds no mode bits."""
    folder = f"{world.root}/reach/two_steps/_delta_log"
    if subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode:
        pytest.skip("this file system has no immutable folders")
    try:
        fails(world, foreset.EnvironmentFault, "access is denied, during commit of group reach", "may write")
        unharmed(world)
    finally:
        subprocess.run(["chattr", "-i", folder], check=True)
    goes_on(world)


def test_a_source_that_may_not_be_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a store says it: root may read everything, so the no is planted where the source is opened."""

    class Guarded(DeltaTable):
        def __init__(self, table: str, *more: Any, **named: Any) -> None:
            if table == world.table:
                raise DeltaError("Generic error: The operation lacked the necessary privileges: Permission denied")
            super().__init__(table, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(deltalake, "DeltaTable", Guarded)
        fails(world, foreset.SourceError, "edge", "ermission")
        unharmed(world)
    goes_on(world)


def test_values_that_a_rule_cannot_take(world: World) -> None:
    """Division by zero and overflow on Delta data: rule, view and a row are named."""
    numbers = pa.table({"k": pa.array([1, 2], pa.int32()), "v": pa.array([2, 0], pa.int32())})
    write_deltalake(f"{world.root}/sales/number", numbers)
    spec = """\
group: reach
sources:
  number: {table: sales/number, columns: {k: int, v: int}}
views:
  shares:
    columns: {k: int, share: RESULT}
    rules:
      - shares(K, S) :- number(K, V), S = TERM
"""
    world.spec(spec.replace("RESULT", "double").replace("TERM", "100 / V"))
    fails(world, foreset.EvaluationError, "shares#1", "view shares", "V = 0")
    world.spec(spec.replace("RESULT", "int").replace("TERM", "V * 2000000000"))
    fails(world, foreset.EvaluationError, "shares#1", "view shares", "V = 2", refresh_id="second")
    unharmed(world)
