"""Independent strata at the same time: the same refresh, and a clean end when one of them fails."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.roads import PAPER, REACH, World, closed, words

import foreset
from foreset.refresh import maintaining

pytestmark = pytest.mark.spark

BROKEN = """\
  share:
    columns: {src: string, part: double}
    rules:
      - share(X, P) :- edge(X, Y), L = length(X), P = 1 / (L - length(Y))
"""


def test_two_strata_at_work_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three wait for each other in the middle of their work, so neither could be done alone."""
    meeting, honest = threading.Barrier(2), maintaining._stage_view
    seen: list[dict[str, Any]] = []

    def meets(work: Any, port: Any, view: str) -> Any:
        if view in ("closure", "dead_end"):
            meeting.wait(300)
        return honest(work, port, view)

    monkeypatch.setattr(maintaining, "_stage_view", meets)
    wh = world.open()
    assert wh.refresh("reach", refresh_id="night", listen=seen.append, verify="full").seq == 1
    assert words(wh.read("reach.closure")) == closed(PAPER)
    assert words(wh.read("reach.dead_end")) == {"g"}
    lines = Path(f"{world.root}/_foreset/reach/runs/night/events.jsonl").read_text().splitlines()
    told = [kind for line in lines if (kind := json.loads(line)["kind"]) not in ("opened", "closed")]
    assert told == [event["event"] for event in seen]
    for number in (1, 2, 3):
        mine = [event for event in seen if event.get("stratum") == number]
        assert mine[0]["event"] == "stratum"
        assert [event for event in seen if event.get("phase") == f"stratum-{number}"]


def test_one_fails_and_the_others_end(world: World) -> None:
    wh = world.open()
    world.settle()
    seen: list[dict[str, Any]] = []
    world.insert("hd")
    world.spec(REACH + BROKEN)
    with pytest.raises(foreset.EvaluationError, match="rule share#1 of view share"):
        wh.refresh("reach", mode="incremental", refresh_id="broken", listen=seen.append)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stratum")]
    assert [event["phase"] for event in seen if event["event"] == "failed"] == ["stratum-4"]
    assert words(wh.read("reach.closure")) == closed(PAPER)
    world.spec(REACH)
    assert world.settle(mode="incremental", verify="full").seq == 2
    assert words(wh.read("reach.closure")) == closed(f"{PAPER} hd")
