"""A row that came before and breaks a warning is not forgotten: refresh, status and the page tell of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.cli_runner import foreset as cli
from tests.roads import EDGE, World

from foreset.reports.headline import group_headline, headline
from foreset.reports.pages import run_page
from foreset.reports.reading import latest_run, read_seq
from foreset.store.layout import Layout

SPEC = f"""{EDGE}views:
  road:
    columns: {{src: string, dst: string}}
    rules: ["road(X, Y) :- edge(X, Y)"]
    expectations:
      - {{not_null: src, severity: warning}}
      - not_null: dst
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", roads="ab bc")
    found.spec(SPEC)
    return found


def told(world: World, *command: str) -> str:
    return cli(*command, "--specs", str(world.specs), "--warehouse", world.root).out


def test_known_violations_are_told_until_their_rows_go(world: World) -> None:
    layout = Layout(world.root, "reach")
    world.insert((None, "x"), (None, "y"))
    first = world.open().refresh("reach")
    assert (first.quality["status"], first.quality["known"]) == ("warned", 0), "new ones are told as a warning"

    world.insert("cd")
    second = world.open().refresh("reach")
    assert (second.quality["status"], second.quality["known"]) == ("passed", 2)
    status = told(world, "status", "reach")
    assert "quality: no new row breaks the 2 expectations\n" in status
    assert "road: 2 rows that came before still break the expectation that src is never null" in status
    latest = latest_run(layout)
    assert latest is not None
    found = group_headline(latest)
    assert (found.answer, found.tone) == ("Yes, with 2 known violations", "caution")
    still = "there are no new violations; 2 known rows still break the expectation that src is never null (road)."
    assert found.sentence.endswith(still)
    assert "hold" not in found.sentence
    page = run_page(latest)
    assert "no new row breaks any; 2 known rows still break the expectation that src is never null (road)." in page
    assert "all hold" not in page
    assert "(2 known)" in page

    DeltaTable(world.table).delete("dst = 'x'")
    world.insert((None, "z"), "de")
    third = world.open().refresh("reach")
    assert (third.quality["status"], third.quality["known"]) == ("warned", 0)
    assert third.quality["views"]["road"][0]["known"] == 2, "one went and one came"

    DeltaTable(world.table).delete("src is null and dst = 'y'")
    fourth = world.open().refresh("reach")
    assert fourth.quality["known"] == 1
    assert headline(read_seq(layout)).answer == "Yes, with 1 known violation"
    assert "1 row that came before still breaks the expectation" in told(world, "status", "reach")

    DeltaTable(world.table).delete("src is null")
    last = world.open().refresh("reach")
    assert (last.quality["known"], headline(read_seq(layout)).answer) == (0, "Yes")
    assert "all 2 expectations hold" in headline(read_seq(layout)).sentence
    assert "2 expectations hold" in told(world, "status", "reach")
