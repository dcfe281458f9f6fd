"""What past costs say of the next refresh: noise of small changes is no slope, and lines are not believed for ever."""

from __future__ import annotations

from typing import Any

import pytest
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import CLOSURE, GROUP

from foreset.ir.strata import Stratum
from foreset.plan.choose import HANDFUL, SOON_READ, SPREADING, Mode, Situation, Size, choose
from foreset.plan.cost import BEYOND, DUCKDB
from foreset.plan.history import REMEMBERED, Past
from foreset.records.strata import StratumSummary

BUILT = ("recompute", 10.0, 0)
ROWS = 1_000_000  # too many to be read from end to end


@pytest.fixture
def stratum() -> Stratum:
    return in_normal_form(load_program(GROUP + CLOSURE, "spec"))[1].strata[0]


def records(*done: tuple[str, float, int], **more: Any) -> list[list[StratumSummary]]:
    """One refresh each: strategy, seconds, changed rows."""
    return [
        [StratumSummary(views=("closure",), strategy=strategy, seconds=seconds, changed=changed, **more)]
        for strategy, seconds, changed in done
    ]


def chosen(
    stratum: Stratum, history: list[list[StratumSummary]], deleted: int, mode: Mode = Mode.AUTO, rows: int = ROWS
) -> str:
    situation = Situation({"edge": Size(0, deleted, rows)}, cost=Past.of(history).cost(["closure"]))
    return choose(stratum, situation, mode).strategy


def test_noise_of_small_changes_is_no_slope(stratum: Stratum) -> None:
    history = records(BUILT, ("dredf", 2.0, 1), ("dredf", 3.0, 1), ("dredf", 2.5, 1))
    assert chosen(stratum, history, 2) == "dredf"
    assert chosen(stratum, history, 100) == "dredf"
    assert chosen(stratum, [*history, *records(("dredf", 4.0, 100))], 300) == "dredf"


def test_a_line_through_past_costs_says_when_a_recompute_is_cheaper(stratum: Stratum) -> None:
    history = records(BUILT, ("dredf", 2.0, 10), ("dredf", 7.0, 1000))
    assert chosen(stratum, history, 1_500) == "dredf"
    assert chosen(stratum, history, 1_700) == "recompute"
    assert chosen(stratum, history, 1_700, Mode.INCREMENTAL) == "dredf"


def test_noise_between_two_equal_changes_is_no_slope(stratum: Stratum) -> None:
    """A steep line through two near points starts far below nothing: cut off there, small changes were too dear."""
    history = records(BUILT, ("dredf", 0.8, 877), ("dredf", 1.2, 928))
    assert chosen(stratum, history, 894) == "dredf"
    found = Past.of(history).cost(["closure"]).estimate("dredf", [DUCKDB], 894)
    assert found is not None
    assert 0.9 < found.seconds < 1.1


def test_far_beyond_what_was_seen_the_share_decides(stratum: Stratum) -> None:
    history = records(BUILT, ("dredf", 2.0, 10), ("dredf", 4.0, 20))
    assert chosen(stratum, history, 20 * BEYOND) == "recompute"
    assert chosen(stratum, history, 20 * BEYOND + 1) == "dredf"
    assert chosen(stratum, history, 26 * ROWS // 100) == "recompute"


def test_each_strategy_has_a_line_of_its_own(stratum: Stratum) -> None:
    history = records(BUILT, ("insert", 90.0, 10))
    assert chosen(stratum, history, 10) == "dredf"


def test_a_strategy_that_was_given_up_is_not_tried_again_until_it_is_forgotten(stratum: Stratum) -> None:
    history = records(BUILT) + records(("recompute", 12.0, 5), instead_of="dredf")
    assert chosen(stratum, history, 5) == "recompute"
    assert chosen(stratum, history, 1) == "recompute"
    assert chosen(stratum, [*history, *records(*[BUILT] * REMEMBERED)], 5) == "dredf"


def test_few_rows_below_are_read_whole(stratum: Stratum) -> None:
    assert chosen(stratum, [], 5, rows=SPREADING) == "spread"
    assert chosen(stratum, [], 5, rows=SPREADING + 1) == "dredf"
    assert chosen(stratum, [], 5, Mode.INCREMENTAL, rows=100) == "spread"
    assert chosen(stratum, [], 5, Mode.RECOMPUTE, rows=100) == "recompute"


def test_a_handful_of_rows_that_came_into_many_is_left_to_insert(stratum: Stratum) -> None:
    def inserting(came: int, rows: int) -> str:
        return choose(stratum, Situation({"edge": Size(came, 0, rows)})).strategy

    assert inserting(1, SOON_READ) == "spread"
    assert inserting(1, SOON_READ + 1) == "insert"
    assert inserting(5 * SOON_READ // HANDFUL, 5 * SOON_READ) == "spread"


def test_where_spreading_was_dearer_than_a_recompute_another_strategy_has_its_turn(stratum: Stratum) -> None:
    history = records(BUILT) + records(("recompute", 12.0, 5), instead_of="spread")
    assert chosen(stratum, history, 5, rows=100) == "dredf"


@pytest.mark.parametrize(("rows", "says"), [
    (0, "5 rows changed, more than the 0 rows that it read in all before"),
    (2, "5 rows changed, more than the 2 rows that it read in all before"),
    (10, "5 of 10 rows that it reads changed (50 %): more than 25 %"),
])  # fmt: skip
def test_the_reason_for_a_recompute_names_no_share_above_the_whole(stratum: Stratum, rows: int, says: str) -> None:
    assert choose(stratum, Situation({"edge": Size(5, 0, rows)})).reason == says
