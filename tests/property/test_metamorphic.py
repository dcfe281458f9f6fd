"""What must not matter, or must matter in a known way: P2 to P15 of our list of properties.

Each runs over the same random cases, with strategies that keep counters and with one that does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest
from tests.property import transforms as t
from tests.property.checks import Procedures
from tests.property.programs import random_case
from tests.refresh_cases import Case, Night, always, in_normal_form

import foreset.testing.replica as replica_module
from foreset.testing.replica import Delta, Replica

pytestmark = pytest.mark.slow
SEED = int(os.environ.get("FORESET_SEED", "20261118"))
CASES = 1000 if "FORESET_FUZZ" in os.environ else 60
LINES = ("dred", "counting", "dredc")  # the second is `counting` where it is admitted
Deltas = dict[str, Delta]


def cases() -> Iterator[tuple[Case, Random]]:
    for seed in range(SEED, SEED + CASES):
        yield random_case(seed), Random(seed)


def opened(case: Case) -> Replica:
    return Replica(*in_normal_form(case.program))


def refreshed(replica: Replica, nights: Sequence[Night], line: str) -> list[Deltas]:
    with patch.object(replica_module, "translate", Procedures()):
        return [replica.refresh(night, always(line))[0] for night in nights]


def each(property_: Callable[[Case, Random, str], bool | None], least: float = 0.9) -> None:
    """Hold a property for every case and line; it gives False where it does not apply."""
    held = 0
    for case, rng in cases():
        for line in LINES:
            try:
                held += property_(case, rng, line) is not False
            except AssertionError as error:
                raise AssertionError(f"seed {case.seed}, {line}: {error}") from error
    print(f"held {held:,} times of {CASES * len(LINES):,}")
    assert held >= least * CASES * len(LINES)


def test_no_change() -> None:
    """P2: nothing in, nothing out, and the state as it was."""

    def holds(case: Case, _: Random, line: str) -> None:
        replica = opened(case)
        refreshed(replica, case.nights[:3], line)
        contents, counters = dict(replica.contents), dict(replica.counters)
        (deltas,) = refreshed(replica, [{}], line)
        assert not any(deltas.values())
        assert (replica.contents, replica.counters) == (contents, counters)

    each(holds)


def test_order_of_statements() -> None:
    """P3: within one night the order does not matter."""

    def holds(case: Case, rng: Random, line: str) -> None:
        nights = [t.permuted(night, rng) for night in case.nights]
        one, other = opened(case), opened(case)
        assert refreshed(one, case.nights, line) == refreshed(other, nights, line)
        assert one.counters == other.counters

    each(holds)


def test_merged_nights() -> None:
    """P4: two nights at once are the two one after the other."""

    def holds(case: Case, _: Random, line: str) -> None:
        load, first, second, *_ = case.nights
        one, other = opened(case), opened(case)
        _, a, b = refreshed(one, [load, first, second], line)
        _, both = refreshed(other, [load, t.merged(first, second)], line)
        assert one.contents == other.contents
        assert both == t.merged(a, b)

    each(holds)


def test_split_nights() -> None:
    """P4: the parts of a night one after the other are the whole night."""

    def holds(case: Case, rng: Random, line: str) -> None:
        one, other = opened(case), opened(case)
        whole = refreshed(one, case.nights, line)
        parts = [refreshed(other, t.split(night, rng), line) for night in case.nights]
        assert one.contents == other.contents
        assert whole == [t.merged(a, b) for a, b in parts]

    each(holds)


def test_there_and_back() -> None:
    """P5: a night and its inverse leave everything as it was, and so do the views' differentials."""

    def holds(case: Case, _: Random, line: str) -> None:
        replica = opened(case)
        refreshed(replica, case.nights[:1], line)
        for night in case.nights[1:]:
            contents, counters = dict(replica.contents), dict(replica.counters)
            there, back = refreshed(replica, [night, t.inverse(night)], line)
            assert back == t.inverse(there)
            assert replica.contents == contents
            assert all(counters[name] == kept for name, kept in replica.counters.items() if name in counters)
            refreshed(replica, [night], line)

    each(holds)


def test_insertions_into_monotone_programs() -> None:
    """P10: without negation, insertions delete nothing and deletions insert nothing."""

    def holds(case: Case, _: Random, line: str) -> bool:
        replica = opened(case)
        if not all(stratum.monotone for stratum in replica.layering.strata):
            return False
        refreshed(replica, case.nights[:1], line)
        for night in case.nights[1:]:
            gone = {name: Delta(minus=delta.minus) for name, delta in night.items()}
            come = {name: Delta(plus=delta.plus) for name, delta in night.items()}
            down, up = refreshed(replica, [gone, come], line)
            assert not any(delta.plus for delta in down.values())
            assert not any(delta.minus for delta in up.values())
        return True

    each(holds, least=0.15)


def test_renaming() -> None:
    """P11: other names and other texts give the same outcome under those names."""

    def holds(case: Case, _: Random, line: str) -> bool:
        if not t.texts_only_joined(case.program):
            return False
        other = t.renamed(case, lambda name: f"n_{name}", lambda text: chr(ord("z") - ord(text[0]) + ord("a")))
        there = refreshed(opened(case), case.nights, line)
        here = refreshed(opened(other), other.nights, line)
        back = lambda rows: t.retold(rows, lambda text: chr(ord("z") - ord(text[0]) + ord("a")))  # noqa: E731
        assert there == [
            {name.removeprefix("n_"): Delta(back(d.plus), back(d.minus)) for name, d in night.items()} for night in here
        ]
        return True

    each(holds, least=0.2)


def test_strangers_in_the_file() -> None:
    """P12: views that have nothing to do with the others change nothing."""

    def holds(case: Case, _: Random, line: str) -> None:
        both = t.beside(case, random_case(case.seed + 10**6))
        alone = refreshed(opened(case), case.nights, line)
        together = refreshed(opened(both), both.nights, line)
        names = [view.name for view in case.program.views]
        assert alone == [{name: night[name] for name in names} for night in together]

    each(holds)


def test_duplicated_rules() -> None:
    """P13: a rule said twice is a rule said once, but for the counters, which are doubled."""

    def holds(case: Case, _: Random, line: str) -> None:
        one, other = opened(case), opened(replace(case, program=t.duplicated(case.program)))
        assert refreshed(one, case.nights, line) == refreshed(other, case.nights, line)
        for name, counters in one.counters.items():
            assert other.counters[name] == {row: (2 * base, 2 * more) for row, (base, more) in counters.items()}

    each(holds)


def test_reordered_rules() -> None:
    """P13: the order of literals, rules and views is for people."""

    def holds(case: Case, rng: Random, line: str) -> None:
        one, other = opened(case), opened(replace(case, program=t.reordered(case.program, rng)))
        assert refreshed(one, case.nights, line) == refreshed(other, case.nights, line)
        assert one.counters == other.counters

    each(holds)


def test_unfolding() -> None:
    """P14: a view may be written out where it is read."""

    def holds(case: Case, _: Random, line: str) -> bool:
        found = t.unfolded(case.program)
        if found is None:
            return False
        other = replace(case, program=found[0])
        assert refreshed(opened(case), case.nights, line) == refreshed(opened(other), other.nights, line)
        return True

    each(holds, least=0.03)


def test_three_ways() -> None:
    """P15: a rule is its part where a condition holds, where it does not, and where it is unknown."""

    def holds(case: Case, rng: Random, line: str) -> bool:
        program = t.cut_in_three(case.program, rng)
        if program is None:
            return False
        other = replace(case, program=program)
        one, two = opened(case), opened(other)
        assert refreshed(one, case.nights, line) == refreshed(two, other.nights, line)
        assert one.counters == two.counters
        return True

    each(holds, least=0.7)
