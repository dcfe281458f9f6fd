"""How many rows a derivation in Spark is expected to give: only changes say it, and what is asked for bounds it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from foreset.backends.spark.compile import FANOUT, expected
from foreset.backends.spark.frames import Frames, Piece
from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.steps import Ref
from foreset.ir.terms import Var
from foreset.ir.versions import Version

NOWHERE: Any = None


def atom(relation: str, version: Version) -> Atom:
    return Atom(relation, (Var("X"),), version=version)


def rule(*body: Atom | Negation) -> Rule:
    return Rule(atom("v", Version.CURRENT), body)


@pytest.fixture
def frames() -> Frames:
    """A change of five rows of `a`, one of seven of `b`, and a state of `c` that has one row."""
    found = Frames(NOWHERE, {}, NOWHERE)
    for relation, version, rows in (("a", Version.PLUS, 5), ("b", Version.PLUS, 7), ("c", Version.OLD, 1)):
        found.put(Ref(relation, version), Piece(NOWHERE, rows))
    return found


def test_the_smallest_change_of_each_rule_counts(frames: Frames) -> None:
    a, b, c = atom("a", Version.PLUS), atom("b", Version.PLUS), atom("c", Version.OLD)
    assert expected([rule(a, b), rule(b, c)], frames) == FANOUT * (5 + 7)
    assert expected([rule(b, Negation(a))], frames) == FANOUT * 7, "what is not there leads to no rows"


def test_a_small_state_says_nothing(frames: Frames) -> None:
    """Every row of the others may meet its one row: a region and its customers."""
    assert expected([rule(atom("c", Version.OLD), atom("d", Version.OLD))], frames) is None
    assert expected([rule(atom("a", Version.PLUS)), rule(atom("c", Version.OLD))], frames) is None


def test_no_more_than_is_asked_for(frames: Frames) -> None:
    assert expected([rule(atom("c", Version.OLD))], frames, Ref("b", Version.PLUS)) == 7


def test_what_nobody_asked_for_is_not_opened(frames: Frames) -> None:
    def opened() -> list[Piece]:
        raise AssertionError("opened")

    frames.put_later(Ref("d", Version.OLD), opened)
    assert expected([rule(atom("a", Version.PLUS), atom("d", Version.OLD))], frames) == FANOUT * 5
