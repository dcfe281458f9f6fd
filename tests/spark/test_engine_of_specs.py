"""A group whose spec says `engine: spark` runs in Spark however small it is, and everything that is asked says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli_runner import foreset as command
from tests.roads import EDGE, PAPER, World, closed, words

from foreset.plan.place import VARIABLE
from foreset.reports.site import write_site

pytestmark = pytest.mark.spark

SPEC = (
    EDGE.replace("group: reach\n", "group: reach\nengine: spark\n")
    + """\
views:
  closure:
    columns: {src: string, dst: string}
    rules:
      - closure(X, Y) :- edge(X, Y)
      - closure(X, Y) :- edge(X, Z), closure(Z, Y)
  ways:
    columns: {src: string, n: bigint}
    rules: ["ways(X, N) :- N = count{Y | closure(X, Y)}"]
  starts:
    columns: {src: string}
    engine: duckdb
    rules: ["starts(X) :- edge(X, _)"]
"""
)
IN_SPARK = ("spark", "the spec says `engine: spark`")
HERE = ("in process", "the spec says `engine: duckdb`")


def test_the_spec_places_each_view(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "auto")
    world.spec(SPEC)
    wh = world.open()
    for night in range(2):
        done = wh.refresh("reach")
        assert {name: (view.engine, view.engine_reason) for name, view in done.views.items()} == {
            "closure": IN_SPARK, "ways": IN_SPARK, "starts": HERE,
        }, night  # fmt: skip
        if not night:
            assert words(wh.read("reach.closure")) == closed(PAPER)
            world.night()
    strata = wh.manifest("reach")[-1]["extra"]["strata"]
    assert all((one["engine"], one["engine_reason"]) == (HERE if one["views"] == ["starts"] else IN_SPARK)
               for one in strata)  # fmt: skip
    assert len(strata) > len(done.views), "the tables that keep the count have strata of their own"

    options = ["--specs", str(world.specs), "--warehouse", world.root]
    status = command("status", "reach", "--json", *options).out
    assert status.count(json.dumps(IN_SPARK[1])) == 2
    assert "in Spark: the spec says `engine: spark`" in command("status", "reach", *options).out
    assert "in Spark: the spec says `engine: spark`" in command("explain", "reach.closure", *options).out
    first, *_ = write_site(wh.layout("reach"), tmp_path / "site", world.specs, None)
    page = first.read_text()
    assert page.count("In Spark: the spec says <code>engine: spark</code>.") == 2
    assert page.count("In process: the spec says <code>engine: duckdb</code>.") == 1
