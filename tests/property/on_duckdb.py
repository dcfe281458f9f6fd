"""The in-process reader on random programs: any admitted strategy by lot, held to full evaluation after every night."""

from __future__ import annotations

from random import Random

from tests.duckdb_reader import DuckDBReplica
from tests.property.checks import Tally, Truth, mixed, refresh, truth
from tests.refresh_cases import Case, always


def check_in_process(case: Case, known: Truth | None = None) -> Tally:
    """Load, then all nights; raise `Difference` at the first thing that is wrong.

    By lot, tables count as small or as large, lie outside or inside, and counters are kept or not.
    """
    facts = known or truth(case)
    tally = Tally(programs=1, nights=len(case.nights) - 1, beyond=int(facts.counts is None))
    rng = Random(case.seed)
    replica = DuckDBReplica(facts.program, facts.layering)
    replica.large, replica.patience, replica.outside = (
        rng.choice((0, 5, 50_000)),
        rng.choice((0, 1, 4)),
        rng.random() < 0.8,
    )
    chooser = mixed(rng)
    for night in range(len(case.nights)):
        if night:
            moved = [bool(facts.delta(night, view.name)) for view in facts.program.views]
            tally.views, tally.moved = tally.views + len(moved), tally.moved + sum(moved)
            tally.moved_nights += any(moved)
        replica.keep_counters = rng.random() < 0.8
        refresh(replica, case, facts, night, "in process", chooser if night else always("recompute"), tally)
    return tally
