"""What must hold of a program with aggregates: two oracles agree, then every strategy with them, night after night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb
from tests.property import aggregate_sql
from tests.property.checks import FIXED, Difference, Tally, Truth, check, truth
from tests.refresh_cases import Case


@dataclass(slots=True)
class Judged:
    """How much of what was checked each oracle judged."""

    tally: Tally = field(default_factory=Tally)
    views: int = 0  # (aggregating view, night) pairs
    by_sql: int = 0
    functions: Counter[str] = field(default_factory=Counter)

    def add(self, other: Judged) -> None:
        """Sum up."""
        self.tally.add(other.tally)
        self.views += other.views
        self.by_sql += other.by_sql
        self.functions.update(other.functions)


def judge(case: Case, lines: Sequence[str] = FIXED) -> Judged:
    """Full evaluation against clingo and DuckDB, then every line of strategies against full evaluation."""
    facts = truth(case)  # by clingo, where it can say the program
    found = by_duckdb(case, facts)
    found.tally.add(check(case, facts, lines))
    return found


def by_duckdb(case: Case, facts: Truth) -> Judged:
    """Hold the views that aggregate to what DuckDB makes of their rules."""
    found = Judged()
    for view in case.program.views:
        made = [each for rule in view.rules for one in rule.sets for each in one.aggregates]
        found.functions.update(each.function for each in made)
        for night in (0, len(facts.states) - 1) if made else ():  # the nights between them are naive's and clingo's
            state = facts.states[night]
            found.views += 1
            try:
                theirs = aggregate_sql.contents(view, case.program, state)
            except (aggregate_sql.Unsaid, duckdb.OutOfRangeException):
                continue
            found.by_sql += 1
            if not aggregate_sql.agree(view, case.program, state[view.name], theirs):
                mine = state[view.name]
                raise Difference(
                    f"night {night}, view {view.name}: full evaluation and DuckDB differ: "
                    f"too many {sorted(mine - theirs, key=repr)}, too few {sorted(theirs - mine, key=repr)}"
                )
    return found
