"""What was said in many places stands in few, and no place more comes unseen: `bench/house.py` counts."""

from __future__ import annotations

from bench import house


def test_the_order_of_stages_is_one_list() -> None:
    """The list, and the lines of a report about refreshes of which only a manifest row is left."""
    assert house.phase_orders() == ["plan.stages", "reports.facts"]


def test_strata_are_fed_in_one_place() -> None:
    """A recount has its stratum fed there too; two steps of its own then compare what came out."""
    assert house.feeders() == ["machine.stratum:run_phases", "refresh.recounting:_run"]


def test_bodies_of_rules_are_compiled_by_four() -> None:
    """The machine, the oracle and verification share no code; constrained atoms hold no rows."""
    assert len(house.compilers()) == 4
