"""`foreset check --against-warehouse`: what would be rebuilt, and what that costs, from logs alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset
from tests.roads import CLOSURE, DEAD_END, GROUP, edges

from foreset import open as open_warehouse
from foreset.plan.fingerprint import fingerprints
from foreset.plan.rebuild import rebuilt
from foreset.questions.forecast import Action
from foreset.records.commits import Details
from foreset.records.strata import StratumSummary
from foreset.refresh.context import read_spec
from foreset.store import epochs, manifest
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow, ViewPin

LOOP = """\
  loop:
    columns: {node: string}
    rules:
      - loop(X) :- closure(X, X)
"""
SPEC = GROUP + CLOSURE + LOOP + DEAD_END
ROWS = {"closure": 1000, "loop": 10, "dead_end": 3}
STRATA = [
    StratumSummary(1, ("closure",), 7, "recompute", seconds=4.0, rows_read={"edge": 70}),
    StratumSummary(2, ("dead_end",), 7, "recompute", seconds=3.0, rows_read={"edge": 70}),
    StratumSummary(3, ("loop",), 7, "insert", seconds=0.1),
]


class World:
    """A warehouse whose manifest says what was committed, without a refresh."""

    def __init__(self, folder: Path) -> None:
        self.root, self.specs = str(folder / "warehouse"), folder / "specs"
        self.specs.mkdir()
        self.spec(SPEC)
        write_deltalake(f"{self.root}/sales/edge", edges("ab " * 7))

    def spec(self, text: str) -> None:
        (self.specs / "reach.yaml").write_text(text)

    def commit(self, strata: list[StratumSummary] = STRATA) -> None:
        layout = Layout(self.root, "reach")
        run = epochs.open_run(layout, "night", lambda _: {})
        assert isinstance(run, epochs.Run)
        views = {name: ViewPin(f"reach/{name}", "id", 1, {}, rows=rows) for name, rows in ROWS.items()}
        marks = fingerprints(*read_spec(SPEC, "reach.yaml"))
        row = ManifestRow(run.seq, run.refresh_id, run.attempt_id, run.epoch, run.prev_seq, fingerprints=marks,
                          views=views, extra=Details(tuple(strata)))  # fmt: skip
        manifest.commit(layout, row)

    def forecast(self):
        return open_warehouse(self.root, str(self.specs)).forecast("reach")

    def check(self, *options: str):
        return foreset("check", "--against-warehouse", "--specs", str(self.specs), "--warehouse", self.root, *options)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_nothing_is_rebuilt_for_comments_and_order(world: World) -> None:
    world.commit()
    world.spec(SPEC.replace("edge(X, Z), closure(Z, Y)", "closure(M, Y), edge(X, M)  % turned round"))
    found = world.forecast()
    assert {one.action for one in found.views} == {Action.KEEP}
    assert (found.seq, found.building, found.rows, found.seconds) == (1, (), 0, 0)


def test_a_changed_view_and_what_reads_it(world: World) -> None:
    world.commit()
    world.spec(SPEC.replace("edge(X, Z), closure(Z, Y)", "edge(X, Z), closure(Z, Y), X != Y"))
    found = world.forecast()
    assert {one.view: (one.action, one.reason) for one in found.views} == {
        "closure": (Action.REBUILD, "its definition has changed"),
        "loop": (Action.REBUILD, "it reads `closure`, which changed"),
        "dead_end": (Action.KEEP, "its definition has not changed"),
    }
    assert [(one.views, dict(one.reads)) for one in found.building] == [
        (("closure",), {"edge": 7, "closure": 1000}),
        (("loop",), {"closure": 1000, "loop": 10}),
    ]
    assert found.rows == 2017
    # closure took 4 s before; loop was never built: 1,010 rows at 140 rows in 7 s.
    assert [one.seconds for one in found.building] == [4.0, 50.5]
    assert found.seconds == 54.5


def test_added_and_removed_views(world: World) -> None:
    world.commit()
    world.spec(SPEC.replace("dead_end", "last"))
    found = {one.view: one for one in world.forecast().views}
    assert (found["last"].action, found["last"].reason) == (Action.ADD, "first load: the view is new")
    assert (found["dead_end"].action, found["dead_end"].rows) == (Action.REMOVE, 3)
    assert found["closure"].action is Action.KEEP


def test_a_group_that_was_never_refreshed(world: World) -> None:
    found = world.forecast()
    assert found.seq is None
    assert {one.action for one in found.views} == {Action.ADD}
    assert found.building[0].reads == {"edge": 7}
    assert found.seconds is None
    assert "nothing was built here yet" in world.check().out


def test_a_source_without_a_table_is_not_known(world: World) -> None:
    world.spec(SPEC.replace("sales/edge", "sales/nowhere"))
    assert world.forecast().building[0].reads == {"edge": None}


def test_the_command_says_it_as_text_and_as_json(world: World) -> None:
    world.commit()
    world.spec(SPEC.replace("edge(X, Z), closure(Z, Y)", "edge(X, Z), closure(Z, Y), X != Y"))
    text = world.check()
    assert text.code == 0
    assert "reach: against seq 1" in text.out
    assert "closure   rebuild  its definition has changed (1,000 rows now)" in text.out
    assert "in all: 2,017 rows to read, about 54.5 s" in text.out
    data = world.check("--json").data
    assert [one["severity"] for one in data["diagnostics"]] == [fault["severity"] for fault in data["diagnostics"]]
    (group,) = data["warehouse"]
    assert (group["seq"], group["rows"], group["seconds"]) == (1, 2017, 54.5)
    assert group["views"][0] == {"view": "closure", "action": "rebuild", "reason": "its definition has changed",
                                 "rows": 1000}  # fmt: skip


def test_a_refused_spec_is_refused_first(world: World) -> None:
    world.commit()
    world.spec(SPEC.replace("edge(X, Z)", "egde(X, Z)"))
    refused = world.check("--json")
    assert refused.code == 2
    assert refused.data["warehouse"] == []
    assert [fault["code"] for fault in refused.data["diagnostics"]] == ["FS103"]


def test_what_reads_two_changed_views_names_both() -> None:
    text = SPEC + "  both:\n    columns: {node: string}\n    rules:\n      - both(X) :- loop(X), dead_end(X)\n"
    program, layering = read_spec(text, "reach.yaml")
    marks = fingerprints(program, layering)
    before = {**marks, "loop": "x", "dead_end": "x", "both": "x"}
    assert rebuilt(layering, marks, before)["both"] == "it reads `dead_end`, `loop`, which changed"
    del before["loop"], before["dead_end"]  # a rule that reads a new view is a new definition
    assert rebuilt(layering, marks, before)["both"] == "its definition has changed"
