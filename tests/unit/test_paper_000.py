"""Example 2 and section 2.2 of paper 000, to the row: the closure of a graph, one edge lost and one gained.

`edge'` is a large part of the graph that the change does not touch, with ways into g but none
out of the small part, as in figure 2.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.refresh_cases import always, in_normal_form, load_program
from tests.roads import CLOSURE, GROUP, PAPER, paths

from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Memory
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering
from foreset.ir.versions import Version
from foreset.machine.stratum import Task, run_stratum
from foreset.oracle.naive import evaluate
from foreset.plan.translate import translate
from foreset.relations.sets import SetsPort
from foreset.testing.replica import Delta, Held, Replica, Step

Pairs = frozenset[tuple[str, str]]


def pairs(words: str) -> Pairs:
    """`pairs("bc hd")`."""
    return frozenset((word[0], word[1]) for word in words.split())


SMALL = pairs(PAPER)
CHAIN = [f"n{i}" for i in range(60)]
REST: Pairs = frozenset([*pairwise(CHAIN), (CHAIN[-1], "g"), (CHAIN[-1], CHAIN[40])])
OVERESTIMATE = pairs("bc bg ac ag ec eg fc fg")
REDERIVED = pairs("ec eg fc fg")
MINUS = pairs("ac ag bc bg")
PLUS = pairs("hd hc hg")
CHANGE = {"edge": Delta(pairs("hd"), pairs("bc"))}


def program_parts():
    return in_normal_form(load_program(GROUP + CLOSURE, "reach.yaml"))


def loaded() -> Replica:
    program, layering = program_parts()
    replica = Replica(program, layering)
    replica.refresh({"edge": Delta(SMALL | REST)})
    return replica


def after_dred() -> SetsBackend:
    """The machine when Algorithm 1 has run, with all its versions."""
    replica = loaded()
    (stratum,) = replica.layering.strata
    procedure = translate(stratum, "dred")
    port = SetsPort(SetsBackend(Memory({**replica.schemas, **procedure.helper_types})))
    held = Held(replica.program.columns_of(), replica.contents, CHANGE)
    run_stratum(Task(procedure, stratum.reads, replica.program.max_rounds), port, held)
    return port.backend


def refreshed(strategy: str) -> tuple[Replica, Delta, Step]:
    replica = loaded()
    deltas, steps = replica.refresh(CHANGE, always(strategy))
    return replica, deltas["closure"], steps[1]


def test_the_closure_before() -> None:
    assert loaded().contents["closure"] == paths(SMALL | REST)
    assert paths(SMALL) == pairs("fe fd fa fb fc fg ed ea eb ec eg ab ac ag dc dg bc bg cg")


def test_overestimate_and_rederivation() -> None:
    memory = after_dred().versions
    assert memory.rows(Ref("closure", Version.DEL)) == OVERESTIMATE
    assert memory.rows(Ref("closure", Version.RED)) == REDERIVED
    assert memory.rows(Ref("closure", Version.INS)) == PLUS


def test_closure_new_between_the_phases() -> None:
    """It. 1 of S2: what is left of the small part; the paper's print forgets (a, b), which belongs there."""
    left = after_dred().versions.rows(Ref("closure", Version.LEFT))
    assert frozenset(left) - paths(REST) == pairs("cg dg dc ed ea eb fe fa fb fd ab")


def test_the_rest_of_the_graph_is_not_derived() -> None:
    machine = after_dred()
    for version in (Version.DEL, Version.RED, Version.INS):
        assert not [row for row in machine.versions.rows(Ref("closure", version)) if str(row[0]).startswith("n")]
    assert len(paths(REST)) > 1500
    assert machine.work.derivations < 60


@pytest.mark.parametrize("strategy", ["dred", "dredc", "recompute", "auto"])
def test_differentials(strategy: str) -> None:
    replica, delta, step = refreshed(strategy)
    assert step.choice.strategy == {"auto": "dredc"}.get(strategy, strategy)
    assert (delta.plus, delta.minus) == (PLUS, MINUS)
    assert replica.contents["closure"] == paths((SMALL - pairs("bc")) | pairs("hd") | REST)
    assert ("a", "b") in replica.contents["closure"]


def test_insertion_alone() -> None:
    """Section 2.2, third step: with the edge gone, `insert` adds the three links."""
    replica = loaded()
    gone, _ = replica.refresh({"edge": Delta(minus=pairs("bc"))}, always("dred"))
    come, steps = replica.refresh({"edge": Delta(pairs("hd"))}, always("insert"))
    assert (gone["closure"].plus, gone["closure"].minus) == (frozenset(), MINUS)
    assert (come["closure"].plus, come["closure"].minus) == (PLUS, frozenset())
    assert steps[1].choice.strategy == "insert"


def test_theorem_1() -> None:
    """Evaluation from scratch says the same as the differentials."""
    replica, delta, _ = refreshed("dred")
    layering: Layering = replica.layering
    old, new = paths(SMALL | REST), replica.contents["closure"]
    sources = {"edge": (SMALL - pairs("bc")) | pairs("hd") | REST}
    assert delta.minus <= old
    assert not delta.plus & old
    assert new == (old - delta.minus) | delta.plus
    small = {"edge": frozenset(row for row in sources["edge"] if not row[0].startswith("n"))}
    assert evaluate(layering.strata, small, replica.schemas, 1000)["closure"] == new - paths(REST)
