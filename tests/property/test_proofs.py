"""Random programs: every row has a proof that goes in no circle, down to sources; no absent row has a derivation.

What is shown of absent rows is held to the rules too: a literal that is said to be all that lacks does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import pytest
from tests.property.aggregate_programs import random_aggregates
from tests.property.programs import random_case
from tests.refresh_cases import Case, evaluated_state, in_normal_form, keeping_supports

from foreset.ir.program import Program
from foreset.ir.strata import Layering
from foreset.ir.supports import unfolded
from foreset.ir.terms import Row
from foreset.questions.bodies import Bodies
from foreset.questions.proofs import Proof, Prover
from foreset.questions.why import supports
from foreset.questions.why_not import why_not

SEED, PROGRAMS, ROWS = 91_040, 60, 12


@dataclass(frozen=True, slots=True)
class Contents:
    """All rows of all relations."""

    of: Mapping[str, frozenset[Row]]

    def rows(self, relation: str, known: tuple[int, ...], keys: Iterable[Row]) -> Mapping[Row, list[Row]]:
        """The rows by key."""
        found: dict[Row, list[Row]] = {key: [] for key in keys}
        for row in self.of[relation]:
            key = tuple(row[p] for p in known)
            if key in found:
                found[key].append(row)
        return found


def opened(case: Case, *, kept: bool) -> tuple[Program, Layering, Prover, Mapping[str, frozenset[Row]]]:
    program, layering = in_normal_form(keeping_supports(case.program) if kept else case.program)
    contents = evaluated_state(program, layering, case.nights)
    whole = Program(program.group, program.sources, unfolded(program.views))
    bodies = Bodies(Contents(contents), program.columns_of())
    return whole, layering, Prover(whole, bodies, supports(layering, contents) if kept else {}), contents


def check(proof: Proof, contents: Mapping[str, frozenset[Row]], above: frozenset[tuple[str, Row]]) -> None:
    node = (proof.relation, proof.row)
    assert node not in above, f"{node} rests on itself"
    assert proof.row in contents[proof.relation], f"{node} is not there"
    if proof.kind not in ("view", "group") or proof.note:
        assert proof.note in ("", "above", "deeper")
        return
    for way in proof.ways:
        for part in way.parts:
            check(part, contents, above | {node})


@pytest.mark.parametrize(
    ("made", "kept"),
    [(random_case, False), (random_case, True), (random_aggregates, False)],
    ids=["rules", "supports", "aggregates"],
)
def test_rows_are_proven_and_absent_ones_are_not(made: Callable[[int], Case], kept: bool) -> None:
    proven = missed = of_null = 0
    for seed in range(SEED, SEED + PROGRAMS):
        case = made(seed)
        program, _, prover, contents = opened(case, kept=kept)
        for view in program.views:
            rows = sorted(contents[view.name], key=repr)
            for row in rows[:: max(len(rows) // ROWS, 1)]:
                proof = prover.why((view.name, row), limit=20, depth=50)
                assert proof.ways, f"seed {seed}: {view.name}{row} has no proof"
                of_null += None in row
                check(proof, contents, frozenset())
                proven += 1
            values = {value for row in rows for value in row}
            absent = ((*row[:-1], value) for row in rows for value in sorted(values, key=repr))
            for row in islice((row for row in absent if row not in contents[view.name] and row), ROWS):
                if not fits(row, rows) or view.aggregation:  # a group has members, whatever is said of them
                    continue
                assert not prover.derivations((view.name, row)), f"seed {seed}: {view.name}{row} is derivable"
                misses = why_not(view, row, prover.bodies)
                assert {miss.rule for miss in misses} == {rule.name for rule in view.rules}
                missed += 1
    assert proven > 5 * PROGRAMS
    assert missed > 2 * PROGRAMS
    assert of_null > PROGRAMS / 2


def fits(row: Row, rows: list[Row]) -> bool:
    """A value of the type of its column."""
    kinds = {type(other[-1]) for other in rows if other[-1] is not None}
    return row[-1] is None or type(row[-1]) in kinds
