"""Deletion and insertion of a stratum as tasks of their own: each in a new context, as in a new process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.roads import CLOSURE, GROUP, PAPER, World, closed, words

from foreset.plan.frozen import Request
from foreset.refresh import maintaining, phase_break
from foreset.refresh.capturing import capture_all
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.context import Context
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh, reopen
from foreset.store.layout import Layout

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


def in_parts(spark: SparkSession, layout: Layout, spec: tuple[str, str], refresh_id: str) -> dict[str, Any]:
    """A refresh, each part in a context of its own; the marks of the parts."""
    opened = open_refresh(spark, layout, spec, Request(refresh_id, "incremental"))
    assert isinstance(opened, Context)
    capture_all(opened)
    marks = {}
    for stratum in opened.layering.strata:
        for part in ("delete", "insert"):
            key = f"{stratum.names[0]} {part}"
            marks[key] = maintain(reopen(spark, layout, refresh_id), stratum.number, part)
    verify(reopen(spark, layout, refresh_id))
    commit(reopen(spark, layout, refresh_id))
    return marks


@pytest.mark.parametrize("crash", ["", "delete", "between", "insert"][: None if os.environ.get("FORESET_LONG") else 1])
def test_in_two_parts(crash: str, world: World, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    world.spec(SPEC)
    wh = world.open()
    world.settle()
    world.delete("bc")
    world.delete("ea")
    world.insert("hd ga")
    layout, spec = wh.layout("reach"), wh.spec("reach")
    if crash:
        begins = {"delete": (phase_break, "save"), "between": (phase_break, "load")}
        point = {**begins, "insert": (maintaining, "_stage_view")}
        with monkeypatch.context() as patch:
            module, name = point[crash]
            honest = getattr(module, name)

            def deadly(*args: Any) -> Any:
                honest(*args)
                raise Killed

            patch.setattr(module, name, deadly)
            with pytest.raises(Killed):
                in_parts(spark, layout, spec, "night")
        assert words(wh.read("reach.closure")) == closed(PAPER)
    marks = in_parts(spark, layout, spec, "night")

    before, after = views(set(PAPER.split())), views({*PAPER.split(), "hd", "ga"} - {"bc", "ea"})
    for view, rows in after.items():
        assert words(wh.read(f"reach.{view}")) == rows, view
        plus, minus = wh.changes(f"reach.{view}")
        assert (words(plus), words(minus)) == (rows - before[view], before[view] - rows), view
        first, second = marks[f"{view} delete"], marks[f"{view} insert"]
        assert first["strategy"] == second["strategy"] == STRATEGIES[view]
        assert first["reason"] == second["reason"]
        assert second["rows"] == plus.num_rows + minus.num_rows
        assert second["seconds"] >= first["seconds"]
        assert second["rounds"] >= first["rounds"]
    assert marks["closure delete"]["rows"] >= len(before["closure"] - after["closure"])
    assert "no deletion phase" in marks["anew delete"]["note"]
    assert wh.manifest("reach")[-1]["seq"] == 2
    world.delete("dc")
    assert world.settle(mode="incremental", verify="full").verification["verdict"] == "passed"


def test_all_goes_on_from_a_finished_deletion(world: World, spark: SparkSession) -> None:
    """A refresh that Airflow began, and the command line ends; what was chosen first stays."""
    world.spec(f"{GROUP}{CLOSURE}    strategy: dredf\n")
    wh = world.open()
    world.settle()
    world.delete("bc")
    context = open_refresh(spark, wh.layout("reach"), wh.spec("reach"), Request("night", "incremental"))
    assert isinstance(context, Context)
    deleted = maintain(context, 1, "delete")
    assert deleted["strategy"] == "dredf"
    assert maintain(context, 1, "delete") == deleted
    # In another mode the choice would be another one, but it has been made.
    other = reopen(spark, wh.layout("reach"), "night")
    object.__setattr__(other.plan, "mode", "recompute")
    done = maintain(other, 1)
    assert done["strategy"] == deleted["strategy"]
    assert maintain(other, 1, "delete") == done
    assert wh.refresh("reach", refresh_id="night", verify="full").seq == 2
    assert words(wh.read("reach.closure")) == closed(set(PAPER.split()) - {"bc"})
