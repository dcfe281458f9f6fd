"""A rollback that holds: no refresh brings the bad state back until somebody lets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, GROUP, PAPER, World, closed, words

from foreset.errors import Fenced, Held
from foreset.plan.frozen import Request
from foreset.plan.stages import CLOSE, OPEN
from foreset.records.results import Ended
from foreset.refresh import jobs, opening
from foreset.refresh.tasks import Job, perform
from foreset.reports.headline import group_headline, headline
from foreset.reports.reading import latest_run, read_history, read_run
from foreset.store import epochs, holds
from foreset.store.attempts import last_failure
from foreset.store.layout import Layout
from foreset.store.rollback import roll_back

NOWHERE = "nowhere"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two refreshes, of which the second took in what is wrong."""
    found = World(str(tmp_path / "wh"), tmp_path / "specs", NOWHERE)
    found.spec(f"{GROUP}{CLOSURE}")
    found.open().refresh("reach")
    found.insert("gx")
    found.open().refresh("reach")
    return found


@pytest.fixture
def layout(world: World) -> Layout:
    return Layout(world.root, "reach")


def command(world: World, *arguments: str) -> object:
    return cli(*arguments, "--specs", str(world.specs), "--warehouse", world.root)


def test_without_a_hold_the_next_refresh_brings_it_back(world: World, layout: Layout) -> None:
    roll_back(layout, 1, "back")
    assert world.open().refresh("reach").status == "committed"
    assert "gx" in words(world.open().read("reach.closure"))


def test_with_a_hold_no_refresh_does(world: World, layout: Layout) -> None:
    done = command(world, "rollback", "reach", "1", "--hold", "--why", "gx is wrong")
    assert done.code == 0
    assert "refreshes stop until `foreset rollback reach --release`" in done.out
    for _ in range(2):
        with pytest.raises(Held, match=r"on hold since .* with the contents of refresh 1 \(gx is wrong\)") as held:
            world.open().refresh("reach")
        assert "`foreset rollback reach --release`" in held.value.hint
    assert words(world.open().read("reach.closure")) == closed(PAPER)
    assert command(world, "refresh", "reach").code == 6
    assert last_failure(layout, 3) is None, "somebody wants it so: nothing has failed"

    (status,) = command(world, "status", "reach", "--json").data
    assert (status["hold"]["contents_of"], status["hold"]["why"]) == (1, "gx is wrong")
    assert "on hold since" in command(world, "status", "reach").out
    told = group_headline(latest_run(layout))
    assert told.answer == "On hold"
    assert "gx is wrong" in told.sentence
    assert told.sentence.endswith("foreset rollback reach --release")

    world.delete("gx")
    assert command(world, "rollback", "reach", "--release").out == "reach: refreshes are allowed again\n"
    assert command(world, "rollback", "reach", "--release").out == "reach: it was not on hold\n"
    world.open().refresh("reach")
    assert words(world.open().read("reach.closure")) == closed(PAPER)
    assert group_headline(latest_run(layout)).answer != "On hold"


def test_what_takes_in_nothing_still_works(world: World, layout: Layout) -> None:
    roll_back(layout, 1, "back", hold="")
    assert world.open().refresh("reach", dry_run=True).status == "dry-run"
    edited = world.open().edit("reach.closure", delete='src = "g"', who="ann", why="test")
    assert edited.status == "committed"
    with pytest.raises(Held):
        world.open().refresh("reach")
    roll_back(layout, 1, "again")
    with pytest.raises(Held):
        world.open().refresh("reach")


def test_airflow_skips_and_calls_nobody(world: World, layout: Layout) -> None:
    roll_back(layout, 1, "back", hold="gx is wrong")
    job = Job(OPEN, world.root, "reach", Request("night"), spec=str(world.specs / "reach.yaml"), spark=NOWHERE)
    found = perform(job)
    assert isinstance(found, Ended)
    assert found.status == "held"
    assert "gx is wrong" in (found.reason or "")
    assert perform(Job(CLOSE, world.root, "reach", Request("night"))) == Ended("held")
    assert read_history(layout).runs[0].refresh_id == "back"
    assert last_failure(layout, 3) is None
    page = headline(read_run(layout, "night", "success"))
    assert (page.answer, page.tone) == ("On hold", "caution")
    assert headline(read_run(layout, "night", "running")).answer == "Not yet"


def test_jobs_of_other_schedulers_stop_by_its_exit_code(
    world: World, layout: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    roll_back(layout, 1, "back", hold="gx is wrong")
    named = ["--warehouse", world.root, "--group", "reach", "--refresh-id", "night", "--spark", NOWHERE]
    assert jobs.run(OPEN, "", [*named, "--spec", str(world.specs / "reach.yaml")]) == Held.exit_code == 6
    assert "gx is wrong" in json.loads(capsys.readouterr().out)["reason"]
    assert jobs.run(CLOSE, "", named) == 0


def test_a_rollback_that_fails_holds_nothing(layout: Layout) -> None:
    with pytest.raises(Exception, match="cannot be rolled back to seq 7"):
        roll_back(layout, 7, "back", hold="x")
    assert holds.held(layout) is None
    roll_back(layout, 1, "first", hold="the first")
    with pytest.raises(Exception, match="cannot be rolled back"):
        roll_back(layout, 70, "second", hold="x")
    assert holds.held(layout).why == "the first"


def test_a_refresh_at_work_keeps_the_rollback_out(layout: Layout) -> None:
    epochs.open_run(layout, "r3", lambda last: last.sources)
    with pytest.raises(Fenced, match="refresh r3"):
        roll_back(layout, 1, "back", hold="x")
    assert holds.held(layout) is None


def test_a_hold_that_comes_while_a_refresh_opens_is_seen(
    world: World, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its first look and its epoch: it then has the newer epoch, and would publish."""
    looked: list[Layout] = []

    def look(where: Layout) -> None:
        looked.append(where)
        if len(looked) == 1:
            holds.refuse_if_held(where)
            roll_back(layout, 1, "back", hold="x")
            return
        holds.refuse_if_held(where)

    world.insert("xy")
    monkeypatch.setattr(opening, "refuse_if_held", look)
    with pytest.raises(Held):
        world.open().refresh("reach", refresh_id="r3")
    assert len(looked) == 2
    assert words(world.open().read("reach.closure")) == closed(PAPER)
    holds.release(layout)
    monkeypatch.undo()
    world.open().refresh("reach")
    assert "xy" in words(world.open().read("reach.closure"))


@pytest.mark.parametrize(
    "arguments", [(), ("1", "--release"), ("--hold",), ("--release", "--hold"), ("1", "--why", "x")]
)
def test_a_rollback_says_where_to_or_releases(world: World, layout: Layout, arguments: tuple[str, ...]) -> None:
    refused = command(world, "rollback", "reach", *arguments)
    assert refused.code == 2
    assert "GROUP --release" in refused.err
    assert holds.held(layout) is None
