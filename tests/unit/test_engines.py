"""`engine:` in specs: whose word counts, what it changes, and what it leaves alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli_runner import foreset as command
from tests.roads import CLOSURE, EDGE, World

import foreset
from foreset.backends.duckdb import budget
from foreset.errors import EnvironmentFault, UsageError
from foreset.ir.program import is_hidden
from foreset.plan.cost import DUCKDB, SPARK
from foreset.plan.fingerprint import fingerprints
from foreset.plan.place import RULE, Place, deployed, told, wish
from foreset.reports.site import write_site
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text

PLAIN = f"{EDGE}views:\n{CLOSURE}"


def said(engine: str) -> str:
    return PLAIN.replace("group: reach\n", f"group: reach\nengine: {engine}\n")


@pytest.mark.parametrize(
    ("spec", "environment", "place"),
    [
        ("", "", None),
        ("auto", "", None),
        ("spark", "", Place(SPARK, "the spec says `engine: spark`")),
        ("duckdb", "spark", Place(DUCKDB, "the spec says `engine: duckdb`")),
        ("", "spark", Place(SPARK, "FORESET_ENGINE=spark")),
        ("auto", "duckdb", Place(DUCKDB, "FORESET_ENGINE=duckdb")),
        ("", "inproc", Place(DUCKDB, "FORESET_ENGINE=inproc")),
        ("", "auto", None),
    ],
)
def test_the_spec_comes_before_the_deployment(
    monkeypatch: pytest.MonkeyPatch, spec: str, environment: str, place: Place | None
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", environment)
    assert wish(spec).place == place


def test_an_unknown_word_of_the_deployment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "sparc")
    with pytest.raises(UsageError, match="did you mean `spark`"):
        deployed()


def test_where_is_said_in_one_way() -> None:
    assert told(SPARK, "the spec says `engine: spark`") == "in Spark: the spec says `engine: spark`"
    assert told(DUCKDB, "") == "in process"


def test_a_new_engine_rebuilds_nothing() -> None:
    marks = []
    for text in (PLAIN, said("spark"), said("duckdb"), PLAIN.replace("    rules:", "    engine: spark\n    rules:", 1)):
        found = prepare(load_text(text).program or pytest.fail(text))
        assert found.program is not None and found.layering is not None
        marks.append(fingerprints(found.program, found.layering))
    assert all(mark == marks[0] for mark in marks)


def test_what_one_of_a_circle_says_holds_for_all() -> None:
    text = f"""{EDGE}views:
  there:
    columns: {{a: string}}
    rules: ["there(X) :- edge(X, _)", "there(X) :- back(X)"]
  back:
    columns: {{a: string}}
    engine: spark
    rules: ["back(X) :- there(X)"]
  other:
    columns: {{a: string, n: bigint}}
    rules: ["other(X, N) :- N = count{{Y | edge(X, Y)}}"]
"""
    found = prepare(load_text(text).program or pytest.fail(text))
    assert found.layering is not None
    assert found.layering.of("there").engine == found.layering.of("back").engine == "spark"
    assert {found.layering.of(name).engine for stratum in found.layering.strata for name in stratum.names
            if is_hidden(name)} == {""}  # fmt: skip


def test_supports_follow_their_view() -> None:
    text = said("spark").replace("    rules:", "    strategy: stdel-acyclic\n    rules:", 1)
    found = prepare(load_text(text).program or pytest.fail(text))
    assert found.program is not None
    assert any(view.supports for view in found.program.views)
    assert {view.engine for view in found.program.views} == {"spark"}


# ---------------------------------------------------------------- in a refresh, without a Spark
def test_one_sentence_says_it_everywhere(world: World, tmp_path: Path) -> None:
    world.spec(PLAIN)
    options = ("--specs", str(world.specs), "--warehouse", world.root)
    assert "last time" not in command("explain", "reach", *options).out
    wh = world.open()
    done = wh.refresh("reach").views["closure"]
    assert re.fullmatch(r"\d+ bytes to read, \d+ bytes to hold, [\d.]+ GB of memory free", done.engine_reason)
    sentence = f"in process: {done.engine_reason}"
    assert f"last time   {sentence}" in command("explain", "reach", *options).out
    (stratum,) = command("explain", "reach", "--json", *options).data["strata"]
    assert (stratum["engine"], stratum["engine_reason"], stratum["ran"]) == ("auto", RULE, sentence)
    assert f"recompute, {sentence}" in command("status", "reach", *options).out
    (standing,) = command("status", "reach", "--json", *options).data
    assert standing["views"]["closure"]["engine_reason"] == done.engine_reason
    page, *_ = write_site(wh.layout("reach"), tmp_path / "site", world.specs, None)
    assert f"I{sentence[1:]}." in page.read_text()
    assert f"<dd>I{sentence[1:]}</dd>" in (tmp_path / "site" / "views" / "closure.html").read_text()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere")


def test_a_spec_that_wants_spark_asks_for_it(world: World) -> None:
    world.spec(said("spark"))
    with pytest.raises(foreset.ForesetError, match="nowhere"):
        world.open().refresh("reach")


def test_a_spec_that_wants_duckdb_is_not_moved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "PASSES", 0)  # bounds are for work that may go to Spark
    world.spec(said("duckdb"))
    wh = world.open()
    done = wh.refresh("reach").views["closure"]
    assert (done.engine, done.engine_reason) == ("in process", "the spec says `engine: duckdb`")
    record = wh.manifest("reach")[-1]["extra"]["strata"][0]
    assert (record["engine"], record["engine_reason"]) == (done.engine, done.engine_reason)

    def full(*_: object) -> None:
        raise budget.OutOfBounds("it is too large")

    monkeypatch.setattr(budget.Budget, "make", full)
    world.delete("bc")
    with pytest.raises(EnvironmentFault, match="(?s)closure cannot be computed in process: it is .*`engine: duckdb`"):
        wh.refresh("reach", mode="recompute")
