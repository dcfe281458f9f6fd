"""Edits that cannot be, or that do not fit their views any more: refused with what to do, and nothing stays locked."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, EDGE, GROUP, World, closed, words

from foreset.errors import ForesetError, UsageError
from foreset.refresh import opening, runner
from foreset.store import epochs
from foreset.store.rollback import roll_back
from foreset.warehouse import Warehouse

ROADS = "ab bc cd"
COUNTS = """\
  counts:
    columns: {src: string, n: int}
    rules:
      - counts(X, int(N)) :- N = count{Y | closure(X, Y)}
"""


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", ROADS)
    found.spec(GROUP + CLOSURE + COUNTS)
    return found


@pytest.fixture
def wh(world: World) -> Warehouse:
    opened = world.open()
    opened.refresh("reach")
    return opened


def where(world: World) -> tuple[str, ...]:
    return "--specs", str(world.specs), "--warehouse", world.root


@pytest.mark.parametrize(
    ("view", "edit", "message"),
    [
        ("closure", {"delete": 'not (src = "a", dst = "b")'}, "tells no rows"),
        ("closure", {"delete": 'src = "a", (dst = "b" or dst = "c")'}, "is not a condition on the columns"),
        ("counts", {"insert": 'src = "z", n = 99999999999999999999'}, "the value does not fit column `n`"),
        ("counts", {"insert": 'src = "z"'}, "has no end"),
        ("counts", {"delete": "n = 1, n = 2"}, "can never hold"),
    ],
)
def test_a_refused_edit_locks_nobody_out(world: World, wh: Warehouse, view: str, edit: dict, message: str) -> None:
    with pytest.raises(ForesetError, match=message):
        wh.edit(f"reach.{view}", **edit)
    found = epochs.holder(wh.layout("reach"))
    assert found is not None
    assert (found.epoch, found.closed) == (1, True), "nothing was opened"
    world.insert("de")
    assert wh.refresh("reach").status == "committed"


def test_a_fault_after_opening_closes_the_run(world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> NoReturn:
        raise RuntimeError("no plan today")

    with monkeypatch.context() as patch:
        patch.setattr(opening, "read_fingerprints", fail)
        with pytest.raises(RuntimeError, match="no plan today"):
            wh.edit("reach.closure", delete='src = "a"')
    layout = wh.layout("reach")
    assert epochs.outcome(layout, 2) == "failed"
    last = cli("report", "reach", *where(world)).out
    assert "no plan today" in last, "the report knows the reason"
    wh.edit("reach.closure", delete='src = "a"')
    assert words(wh.read("reach.closure")) == closed("bc cd")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_rollback_that_fails_closes_its_run(
    wh: Warehouse, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    wh.edit("reach.closure", delete='src = "a"')

    def fail(*_: Any) -> NoReturn:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("foreset.store.rollback._pin_back", fail)
        with pytest.raises(error):
            roll_back(wh.layout("reach"), 1, "back")
    assert roll_back(wh.layout("reach"), 1, "back-again").seq == 3


def test_a_command_that_is_ended_from_outside_closes_its_run(
    world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill of the shell or of systemd: Python would end at once, and the group would be locked for its patience."""
    world.insert("de")
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whatever a test before this one has left

    def ended(*_: Any) -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(runner, "nothing_moved", ended)
        with pytest.raises(SystemExit) as told:
            cli("refresh", "reach", "-q", *where(world))
    assert told.value.code == 128 + signal.SIGTERM
    assert signal.signal(signal.SIGTERM, before) is signal.SIG_DFL
    assert wh.refresh("reach").status == "committed"


RENAMED = (GROUP + CLOSURE).replace("dst: string}\n    rules", "goal: string}\n    rules")


def test_a_renamed_column_is_told_before_and_the_edit_can_be_taken_back(world: World, wh: Warehouse) -> None:
    wh.edit("reach.closure", delete='dst = "c"', who="kay", why="closed")
    world.spec(RENAMED)
    ahead = cli("check", "--against-warehouse", *where(world))
    assert ahead.code == 2
    refused = 'edit 1 of `reach.closure`: delete dst = "c" (kay, '
    command = "foreset edit reach.closure --undo 1"
    for told in (ahead.out, cli("refresh", "reach", "-q", *where(world)).err):
        assert refused in told
        assert command in told
    assert words(wh.read("reach.closure")) == {"ab", "cd", "bd", "ad"}, "as it was"
    done = cli(*command.split()[1:], *where(world))
    assert done.code == 0, done.err
    assert words(wh.read("reach.closure")) == closed(ROADS)
    assert wh.edits() == []
    wh.edit("reach.closure", delete='goal = "c"')
    assert words(wh.read("reach.closure")) == {"ab", "cd", "bd", "ad"}


def test_one_of_two_that_do_not_fit_can_be_taken_back_first(world: World, wh: Warehouse) -> None:
    """The list of edits is published alone: no view can be built while the other stands."""
    wh.edit("reach.closure", delete='dst = "c"')
    before = words(wh.read("reach.closure"))
    wh.edit("reach.closure", insert='src = "x", dst = "y"')
    world.spec(RENAMED)
    world.insert("de")
    with pytest.raises(UsageError, match=r"(?s)edit 1 of .*edit 2 of .*--undo 1`; `.*--undo 2"):
        wh.refresh("reach")
    first = wh.edit("reach.closure", undo=1)
    assert (first.status, first.seq, first.views["closure"].strategy) == ("committed", 4, "skip")
    assert [one["id"] for one in wh.edits()] == [2]
    assert words(wh.read("reach.closure")) == before | {"xy"}, "as it was"
    assert [table.num_rows for table in wh.changes("reach.closure")] == [0, 0]
    wh.edit("reach.closure", undo=2)
    wh.refresh("reach")
    assert words(wh.read("reach.closure")) == closed(f"{ROADS} de")


def test_what_was_taken_back_alone_is_not_forgotten_when_the_spec_is_as_before(world: World, wh: Warehouse) -> None:
    wh.edit("reach.closure", delete='src = "a", dst = "c"')
    wh.edit("reach.closure", delete='src = "b", dst = "d"')
    world.spec(RENAMED)
    assert wh.edit("reach.closure", undo=1).views["closure"].strategy == "skip"
    world.spec(GROUP + CLOSURE + COUNTS)
    wh.refresh("reach")
    ways = closed(ROADS) - {"bd", "ad"}
    assert words(wh.read("reach.closure")) == ways, "the first edit is undone, the second one holds"
    counts = {row["src"]: row["n"] for row in wh.read("reach.counts").to_pylist()}
    assert counts == {src: sum(way[0] == src for way in ways) for src in "abc"}
    world.insert("de")
    assert wh.refresh("reach").views["closure"].strategy != "recompute"


def test_a_retyped_column(world: World, wh: Warehouse) -> None:
    wh.edit("reach.counts", delete="n = 3")
    world.spec((GROUP + CLOSURE + COUNTS).replace("n: int}", "n: string}").replace("int(N)", "string(N)"))
    with pytest.raises(UsageError, match="edit 1 of `reach.counts`: delete n = 3"):
        wh.refresh("reach")
    wh.edit("reach.counts", undo=1)
    assert {row["n"] for row in wh.read("reach.counts").to_pylist()} == {"1", "2", "3"}


def test_a_wider_type_keeps_the_edit(world: World, wh: Warehouse) -> None:
    wh.edit("reach.counts", delete="n = 3")
    world.spec((GROUP + CLOSURE + COUNTS).replace("n: int}", "n: bigint}").replace("int(N)", "N"))
    wh.refresh("reach")
    assert {row["n"] for row in wh.read("reach.counts").to_pylist()} == {1, 2}


def test_an_edit_of_a_view_that_is_gone_warns_and_can_be_taken_back(world: World, wh: Warehouse) -> None:
    wh.edit("reach.closure", delete='src = "a"', who="kay")
    world.spec(f"{EDGE}views:\n" + CLOSURE.replace("closure", "ways"))
    assert "edit 1 of `reach.closure`" in cli("check", "--against-warehouse", *where(world)).out
    night = wh.refresh("reach")
    assert night.status == "committed"
    (warning,) = night.warnings
    assert "the group has no view `closure` any more; `foreset edit reach.closure --undo 1`" in warning
    assert cli("edit", "reach.closure", "--undo", "1", *where(world)).code == 0
    assert wh.edits() == []
    assert wh.refresh("reach").warnings == ()
    world.spec(GROUP + CLOSURE)
    wh.refresh("reach")
    assert words(wh.read("reach.closure")) == closed(ROADS), "it was taken back, though no view changed"
