"""Strata in tasks, killed in their deletion, behind it and in their insertion: a retry goes on in a new context."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.roads import CLOSURE, GROUP, PAPER, World, closed, words

from foreset.plan import marks
from foreset.plan.frozen import Request
from foreset.records.events import PhaseBegun
from foreset.records.strata import DeletionRecord, StratumRecord
from foreset.refresh import maintaining, phase_break
from foreset.refresh.capturing import capture_sources
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.context import Context
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh, reopen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OTHERS = """\
  counted:
    columns: {src: string, dst: string}
    strategy: dredc
    rules:
      - counted(X, Y) :- edge(X, Y)
      - counted(X, Y) :- counted(X, Z), edge(Z, Y)
  middle:
    columns: {node: string}
    strategy: counting
    rules:
      - middle(Y) :- edge(X, Y), edge(Y, Z)
  apart:
    columns: {src: string, dst: string}
    strategy: dred
    rules:
      - apart(X, Y) :- middle(X), middle(Y), not closure(X, Y), not counted(Y, X)
  anew:
    columns: {node: string}
    strategy: recompute
    rules:
      - anew(X) :- apart(X, _)
"""
SPEC = f"{GROUP}{CLOSURE}    strategy: dred\n{OTHERS}"
STRATEGIES = {"closure": "dred", "counted": "dredc", "middle": "counting", "apart": "dred", "anew": "recompute"}


class Killed(BaseException):
    """The process is gone."""


def views(pairs: set[str]) -> dict[str, set[str]]:
    """All views, from nothing."""
    closure = closed(pairs)
    middle = {a[1] for a in pairs for b in pairs if a[1] == b[0]}
    apart = {x + y for x in middle for y in middle if x + y not in closure and y + x not in closure}
    return {"closure": closure, "counted": closure, "middle": middle, "apart": apart, "anew": {w[0] for w in apart}}


DEATHS: dict[str, tuple[Any, str]] = {
    "insertion": (maintaining, "_stage_view"),
    "deletion": (phase_break, "save"),
    "between": (maintaining, "_keep"),
}


@pytest.mark.parametrize("death", [*DEATHS, ""][: None if os.environ.get("FORESET_LONG") else 1])
def test_in_parts(death: str, world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stratum in a task that dies, and in another one that goes on."""
    world.spec(SPEC)
    wh = world.open()
    world.settle()
    world.delete("bc")
    world.delete("ea")
    world.insert("hd ga")
    layout = wh.layout("reach")
    opened = open_refresh(spark, layout, wh.spec("reach"), Request("night", "incremental"))
    assert isinstance(opened, Context)
    capture_sources(opened)
    deletions: dict[str, DeletionRecord | None] = {}
    records: dict[str, StratumRecord] = {}
    for stratum in opened.layering.strata:
        if death:
            with monkeypatch.context() as patch, suppress(Killed):
                patch.setattr(*DEATHS[death], deadly(*DEATHS[death]))
                maintain(reopen(spark, layout, "night"), stratum.number, in_parts=True)
        context = reopen(spark, layout, "night")
        records[stratum.names[0]] = maintain(context, stratum.number, in_parts=True)
        deletions[stratum.names[0]] = context.mark(marks.deletion(stratum.number))
    assert words(wh.read("reach.closure")) == closed(PAPER)
    verify(reopen(spark, layout, "night"))
    commit(reopen(spark, layout, "night"))

    before, after = views(set(PAPER.split())), views({*PAPER.split(), "hd", "ga"} - {"bc", "ea"})
    for view, rows in after.items():
        assert words(wh.read(f"reach.{view}")) == rows, view
        plus, minus = wh.changes(f"reach.{view}")
        assert (words(plus), words(minus)) == (rows - before[view], before[view] - rows), view
        first, whole = deletions[view], records[view]
        assert whole.strategy == STRATEGIES[view]
        assert whole.rows == plus.num_rows + minus.num_rows
        if first is None:
            assert whole.strategy == "recompute", "which has no deletion phase"
            continue
        assert (first.strategy, first.reason) == (whole.strategy, whole.reason)
        assert whole.seconds >= first.seconds
        assert whole.rounds >= first.rounds
    deleted = deletions["closure"]
    assert deleted is not None
    assert deleted.rows >= len(before["closure"] - after["closure"])
    assert wh.manifest("reach")[-1]["seq"] == 2
    world.delete("dc")
    assert world.settle(mode="incremental", verify="full").verification["verdict"] == "passed"


def test_a_retry_goes_on_from_a_finished_deletion(
    world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh that Airflow began, and the command line ends; what was chosen first stays."""
    world.spec(f"{GROUP}{CLOSURE}    strategy: dredf\n")
    wh = world.open()
    world.settle()
    world.delete("bc")
    context = open_refresh(spark, wh.layout("reach"), wh.spec("reach"), Request("night", "incremental"))
    assert isinstance(context, Context)
    capture_sources(context)
    with monkeypatch.context() as patch:
        patch.setattr(maintaining, "_stage_view", deadly(maintaining, "_stage_view"))
        with pytest.raises(Killed):
            maintain(context, 1, in_parts=True)
    deleted = context.mark(marks.deletion(1))
    assert deleted is not None
    assert deleted.strategy == "dredf"
    # In another mode the choice would be another one, but it has been made.
    other = reopen(spark, wh.layout("reach"), "night")
    object.__setattr__(other.plan, "mode", "recompute")
    ran: list[str] = []
    other.listen = lambda event: ran.append(event.phase) if isinstance(event, PhaseBegun) else None
    done = maintain(other, 1)
    assert ran == ["insert"], "what was deleted is not looked for again"
    assert done.strategy == deleted.strategy
    assert maintain(other, 1, in_parts=True) == done
    assert wh.refresh("reach", refresh_id="night", verify="full").seq == 2
    assert words(wh.read("reach.closure")) == closed(set(PAPER.split()) - {"bc"})


def deadly(module: Any, name: str) -> Any:
    """A function, and then the end."""
    honest = getattr(module, name)

    def dies(*args: Any) -> None:
        honest(*args)
        raise Killed

    return dies
