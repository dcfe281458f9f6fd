"""The worked examples of paper 001 (Mohapatra and Genesereth, CReaM), exactly.

Two slips of the printed text: the result of the last example is printed as the one before it,
and there the deleted tuple is once called "(yoda, vader, palpatine)".
"""

from __future__ import annotations

import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Memory
from foreset.ir.program import Program
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.stratum import Task, run_stratum
from foreset.plan.translate import translate
from foreset.relations.sets import SetsPort
from foreset.testing.replica import Delta, Held, Replica

SPEC = """group: planets
sources:
  tournament: {table: raw/tournament, columns: {victor: string, defeated: string, location: string}}
aggregates:
  average: sum(S) / count(S)
views:
  q1:
    columns: {s: array<string>}
    rules: ['q1(S) :- setof(D, tournament("yoda", D, "dagobah"), S)']
  q2:
    columns: {c: bigint}
    rules: ['q2(C) :- setof((D, L), tournament("yoda", D, L), S), count(S, C)']
  victories:
    columns: {v: string, w: bigint}
    rules: ["victories(V, W) :- setof(D, tournament(V, D, L), S), count(S, W)"]
  dominates:
    columns: {v: string, w: array<string>}
    rules: ["dominates(V, W) :- setof(D, tournament(V, D, L), W)"]
"""
YODA_VADER, YODA_PALPATINE = ("yoda", "vader", "dagobah"), ("yoda", "palpatine", "dagobah")
VADER_YODA, AT_TATOOINE = ("vader", "yoda", "tatooine"), ("yoda", "palpatine", "tatooine")
TOURNAMENT = frozenset((YODA_VADER, YODA_PALPATINE, VADER_YODA, AT_TATOOINE))
BOTH, PALPATINE, VADER = ("palpatine", "vader"), ("palpatine",), ("vader",)


def prepared() -> tuple[Program, Layering]:
    return in_normal_form(load_program(SPEC, "tournaments.yaml"))


@pytest.fixture
def replica() -> Replica:
    """The extension of table 2, loaded."""
    made = Replica(*prepared())
    made.refresh({"tournament": Delta(TOURNAMENT)})
    return made


def change(replica: Replica, *, insert: tuple[Row, ...] = (), delete: tuple[Row, ...] = ()) -> dict[str, Delta]:
    """The differentials that a change of the tournaments makes."""
    deltas, _ = replica.refresh({"tournament": Delta(frozenset(insert), frozenset(delete))})
    return deltas


def counts(replica: Replica, view: str) -> dict[Row, int]:
    """With each row the number of its derivations."""
    return {row: sum(pair) for row, pair in replica.counters[view].items()}


def test_table_2_and_examples_1_and_2(replica: Replica) -> None:
    assert replica.contents["victories"] == {("yoda", 2), ("vader", 1), ("yoda", 1)}
    assert replica.contents["q1"] == {(BOTH,)}
    assert replica.contents["q2"] == {(3,)}


def test_the_running_example(replica: Replica) -> None:
    """Vader defeats Palpatine at Tatooine; then Yoda's victory over Palpatine there is invalidated."""
    deltas = change(replica, insert=(("vader", "palpatine", "tatooine"),))
    assert deltas["victories"] == Delta(frozenset({("vader", 2)}), frozenset({("vader", 1)}))
    deltas = change(replica, delete=(AT_TATOOINE,))
    assert deltas["victories"] == Delta(frozenset(), frozenset({("yoda", 1)}))


def test_example_3_dominates_with_its_counts(replica: Replica) -> None:
    expected = {("yoda", BOTH): 1, ("vader", ("yoda",)): 1, ("yoda", PALPATINE): 1}
    assert replica.contents["dominates"] == expected.keys()
    assert counts(replica, "dominates") == expected


def test_example_3_insertion(replica: Replica) -> None:
    """Yoda defeats Vader at Tatooine too: the set there becomes the one of Dagobah."""
    deltas = change(replica, insert=(("yoda", "vader", "tatooine"),))
    assert deltas["dominates"] == Delta(frozenset(), frozenset({("yoda", PALPATINE)}))
    assert counts(replica, "dominates") == {("yoda", BOTH): 2, ("vader", ("yoda",)): 1}


def test_section_4_first_deletion(replica: Replica) -> None:
    change(replica, delete=(YODA_VADER,))
    assert counts(replica, "dominates") == {("vader", ("yoda",)): 1, ("yoda", PALPATINE): 2}


def test_section_4_second_deletion(replica: Replica) -> None:
    """The case that counting alone cannot decide; printed with the table of the case before it."""
    deltas = change(replica, delete=(YODA_PALPATINE,))
    assert deltas["dominates"] == Delta(frozenset({("yoda", VADER)}), frozenset({("yoda", BOTH)}))
    assert replica.contents["dominates"] == {("vader", ("yoda",)), ("yoda", PALPATINE), ("yoda", VADER)}
    assert deltas["q2"] == Delta(frozenset({(2,)}), frozenset({(3,)}))


def test_insertions_and_deletions_of_one_group_in_one_refresh(replica: Replica) -> None:
    deltas = change(replica, insert=(("yoda", "maul", "dagobah"),), delete=(YODA_VADER,))
    assert deltas["dominates"].plus == {("yoda", ("maul", "palpatine"))}
    assert deltas["victories"] == Delta()  # two before, two after


def test_the_auxiliary_view_is_the_papers(replica: Replica) -> None:
    """v_a(V, L, W) has all that is bound outside of the set, and Δ1 to Δ6 change just the group that is touched."""
    (name,) = (view.name for view in replica.program.views if view.aggregation and len(view.columns) == 4)
    held = {row[:2]: row[3] for row in replica.contents[name]}
    assert held == {("yoda", "dagobah"): BOTH, ("vader", "tatooine"): ("yoda",), ("yoda", "tatooine"): PALPATINE}
    deltas = change(replica, delete=(YODA_PALPATINE,))
    assert deltas[name] == Delta(frozenset({("yoda", "dagobah", 1, VADER)}), frozenset({("yoda", "dagobah", 2, BOTH)}))


def test_self_maintenance_needs_no_base() -> None:
    """Section 5: with the base withheld in both states, the differentials are still exact."""
    program, layering = prepared()
    replica = Replica(program, layering)
    replica.refresh({"tournament": Delta(TOURNAMENT)})
    schemas = replica.schemas
    plus, minus = frozenset({("vader", "palpatine", "tatooine")}), frozenset({YODA_PALPATINE})
    deltas = {"tournament": Delta(plus, minus)}
    for stratum in layering.strata:
        strategy = "aggregate" if stratum.aggregation else "counting"
        procedure = translate(stratum, strategy)
        memory = Memory({**schemas, **procedure.helper_types})
        withheld = {**replica.contents, "tournament": frozenset[Row]()}
        stored = {
            name: replica.counters.get(name) or dict.fromkeys(replica.contents[name], (1, 0)) for name in stratum.names
        }
        held = Held(program.columns_of(), withheld, deltas, stored)
        run_stratum(Task(procedure, stratum.reads, 10), SetsPort(SetsBackend(memory)), held)
        for name in stratum.names:
            deltas[name] = Delta(*(frozenset(memory.rows(Ref(name, v))) for v in (Version.PLUS, Version.MINUS)))
    truth, _ = replica.refresh({"tournament": Delta(plus, minus)})
    assert {name: deltas[name] for name in truth} == truth
