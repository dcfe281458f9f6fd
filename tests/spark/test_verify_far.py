"""Sources that this process cannot read: rows are checked all the same, and none comes here as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.roads import PAPER, World, closed, refuse_a_planted_row, words

from foreset.refresh import checking
from foreset.relations.files import plain
from foreset.relations.located import SourceAt
from foreset.store.delta import SparkOnly, open_table

if TYPE_CHECKING:
    from foreset.relations.files import Plain
    from foreset.relations.located import Located
    from foreset.store.delta import OpenAt

pytestmark = [pytest.mark.spark, pytest.mark.anywhere]


@pytest.fixture(autouse=True)
def _only_spark_reads_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(one: Located, open_at: OpenAt = open_table) -> Plain:
        if isinstance(one.place, SourceAt):
            raise SparkOnly("it has deletion vectors")
        return plain(one, open_at)

    monkeypatch.setattr(checking, "plain", refusing)


def copies(world: World) -> list[Path]:
    return [path for path in Path(world.root).rglob("*") if checking.COPIES in path.parts and path.is_file()]


def test_a_sample_is_checked_against_files_that_spark_has_copied(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, made = checking.copied, []
    monkeypatch.setattr(checking, "copied", lambda *given: (made.append(given[1].relation), copied(*given))[1])
    wh = world.open()
    wh.refresh("reach")
    world.night()
    done = wh.refresh("reach")
    assert done.status == "committed"
    verification = wh.manifest("reach")[-1]["verification"]
    assert (verification["verdict"], verification["rows"] > 0) == ("passed", True)
    assert made == ["edge", "edge"], "once a refresh"
    assert copies(world) == [], "they go when the rows are checked"


def test_an_error_is_found_by_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    wh = refuse_a_planted_row(world, monkeypatch)
    assert words(wh.read("reach.closure")) == closed(PAPER)
    assert copies(world) == []
