"""Stages one by one, each in a session of its own, as Airflow's tasks run them: tried again, cleared, and haunted."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake
from tests.roads import AFTER_THE_NIGHT, FEED, PAPER, REACH, World, closed, edges, words

import foreset
from foreset.plan import marks
from foreset.plan.frozen import Request
from foreset.plan.stages import COMMIT, STAGES, WORKING, EachStratum, named
from foreset.records.codec import to_plain
from foreset.refresh import maintaining, runner, tasks
from foreset.refresh.committing import commit
from foreset.refresh.context import Context
from foreset.refresh.tasks import Job, perform
from foreset.store.manifest import AlreadyCommitted

NO_SPARK: Any = "sc://127.0.0.1:9"  # nobody is there: changes of this size are the task's own work
ROOT = Path(__file__).resolve().parents[2]
STRATA = (1, 2, 3)


class Night:
    """One refresh, stage by stage."""

    def __init__(self, world: World, refresh_id: str, **asked: Any) -> None:
        spec = str(world.specs / "reach.yaml")
        self.job = Job(STAGES[0], world.root, "reach", Request(refresh_id, **asked), spec=spec, spark=NO_SPARK)

    def do(self, name: str, stratum: int = 0, *, again: bool = False) -> dict[str, Any]:
        stage = named(name)
        assert stage is not None
        return to_plain(perform(replace(self.job, stage=stage, stratum=stratum, again=again)))

    def to(self, last: str) -> dict[str, Any]:
        """Every stage from `open` to `last`, each at its first try."""
        found: dict[str, Any] = {"open": self.do("open")}
        for stage in WORKING:
            numbers = STRATA if isinstance(stage, EachStratum) else (0,)
            found |= {f"{stage.name}{number or ''}": self.do(stage.name, number) for number in numbers}
            if stage.name == last:
                break
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    place = tmp_path / "warehouse"
    place.mkdir()
    return World(str(place), tmp_path / "specs", NO_SPARK)


def test_nights_stage_by_stage_are_nights_in_one_go(world: World) -> None:
    first = Night(world, "first").to("publish")
    assert first["capture"]["idle"] == [], "a first load reaches everything"
    assert first["stratum1"]["views"] == {"closure": {"inserted": len(closed(PAPER)), "deleted": 0}}
    assert (first["commit"]["seq"], first["publish"]["seq"]) == (1, 1)
    world.night()
    second = Night(world, "second").to("publish")
    before, after = closed(PAPER), closed(AFTER_THE_NIGHT)
    counts = {"inserted": len(after - before), "deleted": len(before - after)}
    assert second["publish"]["views"]["closure"] == {**counts, "rows": len(after)}
    assert words(world.open().read("reach.closure")) == after


def test_the_session_of_a_night(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.session.open.REMOTE_ANSWER_S", 0.5)
    with pytest.raises(foreset.EnvironmentFault, match=r"127\.0\.0\.1:9"):
        Night(world, "night").do("session")  # a server elsewhere must answer before anything is opened
    night = Night(world, "night")
    night.job = replace(night.job, spark="embedded")
    assert night.do("session") == {"spark": "embedded", "answers": "not running"}, "it starts when it is needed"


def test_a_night_without_jars_is_opened(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is small needs none of them; who forces Spark hears of it before anything is opened."""
    monkeypatch.setenv("FORESET_JARS", str(tmp_path / "nowhere"))
    night = Night(world, "night")
    night.job = replace(night.job, spark="embedded")
    found = night.do("session")
    assert found["spark"] == "none"
    assert "delta-spark" in found["answers"]
    assert night.to("publish")["commit"]["seq"] == 1
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    with pytest.raises(foreset.EnvironmentFault, match="doctor --fix"):
        night.do("session")


def test_a_quiet_night_ends_with_capture_and_stays_ended(world: World) -> None:
    Night(world, "first").to("publish")
    quiet = Night(world, "quiet")
    quiet.do("open")
    assert quiet.do("capture")["status"] == "unchanged"
    assert quiet.do("close") == {"status": "unchanged", "seq": 1}
    for phase in ("verify", "quality", "commit"):  # somebody clears a task that was skipped
        assert quiet.do(phase, again=True)["status"] == "unchanged"
    assert [row["refresh_id"] for row in world.open().manifest("reach")] == ["first"]


def test_what_no_change_reaches_is_skipped_by_capture(world: World) -> None:
    world.spec(REACH.replace("views:", """\
  toll: {table: sales/toll, columns: {src: string, dst: string}}
views:
  tolled: {columns: {node: string}, rules: ["tolled(X) :- toll(X, _)"]}
  paid: {columns: {node: string}, rules: ["paid(X) :- tolled(X), not toll(_, X)"]}"""))  # fmt: skip
    write_deltalake(f"{world.root}/sales/toll", edges("ab"), configuration=FEED)
    world.open().refresh("reach")
    world.insert("hd")
    night = Night(world, "night")
    night.do("open")
    captured = night.do("capture")
    layers = {s.number: s.names for s in _layering(world).strata}
    assert {layers[n] for n in captured["idle"]} == {("tolled",), ("paid",)}


def _layering(world: World) -> Any:
    from foreset.refresh.context import read_spec

    return read_spec((world.specs / "reach.yaml").read_text(), "reach.yaml")[1]


def test_a_task_that_died_is_tried_again_and_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    Night(world, "first").to("publish")
    world.night()
    night = Night(world, "night")
    night.do("open")
    night.do("capture")
    done: list[int] = []
    honest = maintaining.maintain

    def counted(context: Any, number: int, *, in_parts: bool = False) -> Any:
        if context.mark(marks.stratum(number)) is None:
            done.append(number)
        return honest(context, number, in_parts=in_parts)

    monkeypatch.setattr(runner, "maintain", counted)
    with monkeypatch.context() as patch:
        patch.setattr(Context, "finish", _dies)  # everything is staged, and nobody knows of it
        with pytest.raises(ConnectionError):
            night.do("stratum", 1)
    with pytest.raises(foreset.Fenced, match=r"night.*already running"):
        Night(world, "rival").do("open")
    assert night.do("stratum", 1, again=True)["views"]["closure"]["inserted"] > 0
    done.clear()
    assert night.do("stratum", 1, again=True)["strategy"]  # cleared once more: said again, not done again
    assert done == []
    for number in STRATA[1:]:
        night.do("stratum", number, again=True)  # all that follows is cleared with it
    for phase in ("verify", "quality", "commit", "publish"):
        night.do(phase, again=True)
    assert words(world.open().read("reach.closure")) == closed(AFTER_THE_NIGHT)
    assert [row["seq"] for row in world.open().manifest("reach")] == [1, 2]
    assert night.do("open") == {"status": "committed", "seq": 2}, "the whole run cleared: nothing is done twice"
    assert night.do("commit", again=True) == {"status": "committed", "seq": 2}
    assert night.do("publish", again=True)["seq"] == 2


def _dies(*_: object, **__: object) -> None:
    raise ConnectionError("the server has gone")


def test_nothing_but_capture_captures(world: World) -> None:
    """A task that runs too early says what is missing, and leaves nothing behind."""
    night = Night(world, "night")
    night.do("open")
    with pytest.raises(foreset.EnvironmentFault, match="source edge is not captured in refresh night") as told:
        night.do("stratum", 1)
    assert not told.value.worth_retrying
    assert not list(Path(world.root).rglob("marks/*.json"))
    assert night.do("capture")["status"] == "moved"


def test_a_zombie_publishes_nothing_twice(world: World) -> None:
    """A commit that is taken for dead wakes up after its retry has committed."""
    night = Night(world, "night")
    night.to("quality")
    zombie = tasks._context(NO_SPARK, _layout(world), replace(night.job, stage=COMMIT), lambda _: None)
    assert zombie is not None
    assert night.do("commit", again=True)["seq"] == 1
    try:
        outcome = commit(zombie)
    except foreset.Fenced:
        pass
    else:
        assert outcome == AlreadyCommitted(1)
    assert [(row["seq"], row["refresh_id"]) for row in world.open().manifest("reach")] == [(1, "night")]
    assert words(world.open().read("reach.closure")) == closed(PAPER)


def test_a_zombie_before_its_retry_is_fenced(world: World) -> None:
    night = Night(world, "night")
    night.to("quality")
    zombie = tasks._context(NO_SPARK, _layout(world), replace(night.job, stage=COMMIT), lambda _: None)
    again = tasks._context(NO_SPARK, _layout(world), replace(night.job, stage=COMMIT, again=True), lambda _: None)
    assert zombie is not None
    assert again is not None
    with pytest.raises(foreset.Fenced):
        commit(zombie)
    assert commit(again).seq == 1


def _layout(world: World) -> Any:
    return world.open().layout("reach")


def test_a_task_cleared_after_another_refresh_says_so(world: World) -> None:
    night = Night(world, "night")
    night.to("capture")
    assert night.do("close") == {"status": "failed", "seq": 0}
    assert world.open().refresh("reach", refresh_id="other").seq == 1, "a run that failed keeps nobody waiting"
    with pytest.raises(foreset.Fenced):
        night.do("stratum", 1)
    with pytest.raises(foreset.Fenced, match="another refresh has been committed since"):
        night.do("stratum", 1, again=True)
    world.insert("xy")
    assert night.to("publish")["commit"]["seq"] == 2, "cleared from `open` on, it starts over"


def test_a_dry_run_publishes_nothing_whatever_is_cleared(world: World) -> None:
    night = Night(world, "dry", dry_run=True)
    assert night.to("quality")["quality"]["status"] == "dry-run"
    assert night.do("close") == {"status": "dry-run", "seq": 0}
    assert night.do("commit", again=True)["status"] == "dry-run"
    assert night.do("publish", again=True)["status"] == "dry-run"
    assert world.open().manifest("reach") == []


def test_jobs_do_stages_by_the_same_function(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def job(name: str, *more: str) -> tuple[int, str, str]:
        common = ["--spark", NO_SPARK, "--warehouse", world.root, "--group", "reach", "--refresh-id", "job"]
        monkeypatch.setattr(sys, "argv", [name, *common, *more])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "spark_jobs" / f"{name}.py"), run_name="__main__")
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    code, _, said = job("capture")
    assert code == 4, "nothing is open"
    assert "error:" in said
    opened = json.loads(job("open_run", "--spec", str(world.specs / "reach.yaml"), "--verify", "50")[1])
    assert (opened["status"], opened["seq"]) == ("open", 1)
    assert json.loads(job("capture")[1])["idle"] == []
    for number in ("1", "2", "3"):
        assert job("maintain_stratum", "--stratum", number)[0] == 0
    assert job("maintain_stratum", "--stratum", "3", "--again")[0] == 0
    for name in ("verify", "quality", "commit", "publish"):
        assert job(name)[0] == 0, name
    assert json.loads(job("close")[1]) == {"status": "committed", "seq": 1}
    assert words(world.open().read("reach.closure")) == closed(PAPER)
