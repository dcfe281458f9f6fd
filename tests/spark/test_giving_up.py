"""A deletion that first takes too much is given up for a recompute, which is exact, told, and remembered."""

from __future__ import annotations

import pytest
from tests.roads import CLOSURE, GROUP, PAPER, World, closed, words

from foreset.plan.giving_up import Patience

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("runs", "patience"), [("spark", "OF_SPARK"), ("inproc", "IN_MEMORY")])
def test_too_large_a_deletion_ends_in_a_recompute(
    runs: str, patience: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", runs)
    monkeypatch.setattr("foreset.plan.choose.SPREADING", 0)
    world.spec(GROUP + CLOSURE)
    wh = world.open()
    wh.refresh("reach")
    monkeypatch.setattr(f"foreset.plan.giving_up.{patience}", Patience(0.0, 1))
    world.delete("bc")
    done = wh.refresh("reach").views["closure"]
    before, after = closed(PAPER), closed("fe ed ea ab dc cg")
    assert (done.strategy, done.inserted, done.deleted) == ("recompute", 0, len(before - after))
    assert "too many" in done.reason
    assert words(wh.read("reach.closure")) == after
    assert wh.manifest("reach")[-1]["extra"]["strata"][0]["instead_of"] == "dredf"
    world.delete("cg")
    assert "would take dredf" in wh.refresh("reach").views["closure"].reason


@pytest.mark.parametrize("runs", ["spark", "inproc"])
@pytest.mark.parametrize(("mode", "instead"), [("auto", "recompute"), ("incremental", "dred")])
def test_what_does_not_fit_into_memory_is_not_spread(
    runs: str, mode: str, instead: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", runs)
    monkeypatch.setattr("foreset.plan.giving_up.MOST_SPREAD", 3)
    world.spec(GROUP + CLOSURE)
    wh = world.open()
    wh.refresh("reach")
    world.delete("bc")
    done = wh.refresh("reach", mode=mode).views["closure"]
    assert (done.strategy, words(wh.read("reach.closure"))) == (instead, closed("fe ed ea ab dc cg"))
    assert "the limit is 3" in done.reason
    assert wh.manifest("reach")[-1]["extra"]["strata"][0]["instead_of"] == "spread"
