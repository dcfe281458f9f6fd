"""No row of a view has two derivations where keys say so: clingo counts them, over data that keep random keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

import pytest
from tests.property.checks import Database, after, truth
from tests.property.programs import random_case
from tests.refresh_cases import Case, Night, in_normal_form

from foreset.ir.program import Source
from foreset.ir.strata import Layering
from foreset.ir.terms import Row
from foreset.plan.translate import single_derivation
from foreset.testing.replica import Delta

SEEDS = 400


@pytest.mark.parametrize("seeds", [range(n, n + 100) for n in range(0, SEEDS, 100)], ids=str)
def test_one_derivation_at_most(seeds: range) -> None:
    found = [checked(keyed(random_case(7_000_000 + seed))) for seed in seeds]
    views, rows, thanks = (sum(numbers) for numbers in zip(*found, strict=True))
    print(f"{views} views of one derivation, {thanks} of them thanks to keys, {rows} rows counted")
    assert thanks > 10
    assert rows > 100


def keyed(case: Case) -> Case:
    """The case with keys of some sources, nights that keep them, and one rule for each view: two derive a row twice."""
    rng = Random(case.seed)
    sources = tuple(replace(source, key=_some(source, rng)) for source in case.program.sources)
    program = replace(
        case.program, sources=sources, views=tuple(replace(view, rules=view.rules[:1]) for view in case.program.views)
    )
    now: Database = {source.name: frozenset() for source in sources}
    nights: list[Night] = []
    for night in case.nights:
        wanted = after_any(now, night)
        kept = {source.name: frozenset(_one_each(source, wanted[source.name], now[source.name])) for source in sources}
        nights.append({name: Delta(rows - now[name], now[name] - rows) for name, rows in kept.items()})
        now = kept
    return replace(case, program=program, nights=tuple(nights))


def after_any(sources: Database, night: Night) -> Database:
    """The sources after changes that were net for others."""
    net = {name: Delta(delta.plus - sources[name], delta.minus & sources[name]) for name, delta in night.items()}
    return after(sources, net)


def _some(source: Source, rng: Random) -> tuple[str, ...]:
    exact = [column.name for column in source.columns if not column.type.is_fractional]
    if not exact or rng.random() < 0.2:
        return ()
    return tuple(sorted(rng.sample(exact, rng.randint(1, max(1, len(exact) - 1)))))


def _one_each(source: Source, rows: Iterable[Row], standing: frozenset[Row]) -> list[Row]:
    """One row of each key, one that stood before if there is one."""
    found: dict[Sequence[object], Row] = {}
    for row in sorted(rows, key=lambda row: (row not in standing, repr(row))):
        found.setdefault(tuple(row[place] for place in source.key_places), row)
    return list(found.values())


def checked(case: Case) -> tuple[int, int, int]:
    """How many views have one derivation, how many rows of them were counted, and how many need keys for it."""
    facts = truth(case)
    bare = replace(case.program, sources=tuple(replace(source, key=()) for source in case.program.sources))
    without, single = _single(in_normal_form(bare)[1]), _single(facts.layering)
    rows = 0
    for number, counts in enumerate(facts.counts or ()):
        for view in single:
            for row, (base, recursive) in counts[view].items():
                assert base + recursive == 1, f"seed {case.seed}, night {number}: {row} of {view}"
                rows += 1
    return len(single), rows, len(single - without)


def _single(layering: Layering) -> set[str]:
    return {name for stratum in layering.strata if single_derivation(stratum) for name in stratum.names}
