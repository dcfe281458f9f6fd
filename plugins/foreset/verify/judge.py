"""A sample of what is staged or published, recomputed by the rules as written: what differs, of how many rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from foreset.analyse.needs import Need
from foreset.ir.program import Column, Program, View
from foreset.ir.strata import Layering
from foreset.ir.terms import Row, Value, Var
from foreset.relations.files import Rows
from foreset.values.widen import widened
from foreset.verify.binding_order import Asked
from foreset.verify.entries import Draw, sampled
from foreset.verify.facts import SourceFacts
from foreset.verify.origins import Hint, Pairs, hints, near_goals, origins
from foreset.verify.sample import LEAST_PER_VIEW, Claim, Staged, draw, shares, there
from foreset.verify.solving import Solver, derived_near
from foreset.verify.verdict import UNASKED, Mismatch

MOST_DERIVED = 200  # rows of a view that are looked for because the rules derive them
DRAWING = 4  # views at the same time
Answers = Callable[[View, Asked, set[Row]], Iterable[Row]]  # rows of a view that no stratum has, by some columns


@dataclass(frozen=True, slots=True)
class Ground:
    """What rows are held to."""

    facts: SourceFacts
    nearby: Callable[[str], Sequence[Rows]]  # rows of a source, among whose values absent rows are looked for
    sizes: Mapping[str, int]  # rows of views, where that is known
    needs: Sequence[Need]  # what has to have been asked


def compare(
    staged: Mapping[str, Staged],
    program: Program,
    layering: Layering,
    ground: Ground,
    size: int,
    seed: int,
) -> tuple[dict[str, dict[str, int]], list[Mismatch]]:
    """Draw rows from what is staged (or published), recompute them by the rules as written, and say what differs."""
    if not staged or not size:
        return {}, []
    share = max(LEAST_PER_VIEW, size // len(staged))
    each = shares(staged, size)
    columns = program.columns_of()
    schemas = {name: tuple(column.type for column in relation) for name, relation in columns.items()}
    reaching = origins(layering, schemas)
    near = _near(columns, reaching, ground.nearby, share // 4, seed)
    with ThreadPoolExecutor(DRAWING) as pool:  # DuckDB draws, and leaves Python alone meanwhile
        drawn = pool.map(lambda name: draw(staged[name], each[name], seed, near(name)), staged)
        claims = dict(zip(staged, drawn, strict=True))
    rows = {name: {claim.row for claim in found} for name, found in claims.items()}
    asked = near_goals(staged, layering, reaching, near, seed)
    true, beside = derived_near(rows, asked, layering, ground.facts, schemas, ground.sizes)
    with ThreadPoolExecutor(DRAWING) as pool:
        claims |= dict(pool.map(lambda name: (name, [*claims[name], *_derived(staged[name], beside[name])]), beside))
    checked = {name: _kinds(found) for name, found in claims.items()}
    mismatches = [
        Mismatch(name, claim.row, claim.present, claim.kind)
        for name, found in claims.items()
        for claim in found
        if claim.present is not (claim.row in true[name] or claim.kind == "derived")
    ]

    def parts(name: str) -> Sequence[Rows]:
        if name not in staged:
            return () if name in views else ground.nearby(name)
        return staged[name].plus, staged[name].minus, staged[name].old

    views = {view.name for view in program.views}
    solver = Solver(layering, ground.facts, schemas, ground.sizes)
    for asks, looked, unasked in _lacking(ground.needs, columns, parts, staged, solver.answers, share, seed):
        checked[asks][UNASKED] = checked[asks].get(UNASKED, 0) + looked
        mismatches += [Mismatch(asks, row, claimed=False, kind=UNASKED) for row in sorted(unasked, key=repr)]
    return checked, mismatches


def _derived(staged: Staged, rows: set[Row]) -> list[Claim]:
    """What the staged result says of rows that are derived: that is how a row is found that it has lost."""
    some = sorted(rows, key=repr)[:MOST_DERIVED]
    now = there(staged, some)
    return [Claim(row, row in now, "derived") for row in some]


def _near(
    columns: Mapping[str, tuple[Column, ...]],
    reaching: Mapping[str, Mapping[str, Pairs]],
    nearby: Callable[[str], Sequence[Rows]],
    size: int,
    seed: int,
) -> Callable[[str], list[Hint]]:
    """What rows of sources say of a view's columns; a source is drawn from once, by columns that reach views."""

    @functools.cache
    def drawn(source: str) -> list[dict[int, Value]]:
        needed = sorted({column for pairs in reaching.values() for _, column in pairs.get(source, ())})
        picked = tuple(columns[source][column] for column in needed)
        parts = sampled([Draw(part, size, seed) for part in nearby(source)], picked)
        return [dict(zip(needed, row, strict=True)) for part in parts for row in part]

    def near(view: str) -> list[Hint]:
        return [hint for name, pairs in sorted(reaching.get(view, {}).items()) for hint in hints(pairs, drawn(name))]

    return near


def _kinds(claims: list[Claim]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for claim in claims:
        kinds[claim.kind] = kinds.get(claim.kind, 0) + 1
    return kinds


# ---------------------------------------------------------------- what domains were asked
def _lacking(
    needs: Sequence[Need],
    columns: Mapping[str, tuple[Column, ...]],
    parts: Callable[[str], Sequence[Rows]],
    asks: Mapping[str, Staged],
    answers: Answers,
    size: int,
    seed: int,
) -> Iterator[tuple[str, int, set[Row]]]:
    """For each need how many arguments were looked at, and those that nobody asked for.

    `parts` are the rows of a relation to draw from; what is asked is `asks`.
    """
    for need in needs:
        if need.asks not in asks:
            continue
        view, width = need.view, len(need.seeds)
        keys = _keys(need, columns, parts, size, seed)
        staged = asks[need.asks]
        kinds = [column.type for column in staged.columns]
        found = answers(view, tuple(range(width)), keys) if keys else ()
        whole = {tuple(map(widened, row[width:], kinds)) for row in found if None not in row[width:]}
        wanted = sorted(whole, key=repr)[:size]
        yield need.asks, len(wanted), set(wanted) - there(staged, wanted)


def _keys(
    need: Need,
    columns: Mapping[str, tuple[Column, ...]],
    parts: Callable[[str], Sequence[Rows]],
    size: int,
    seed: int,
) -> set[Row]:
    """Values of the seed's variables, from rows that it may have."""
    if need.seed is None:
        return {()}
    places = [need.seed.args.index(Var(name)) for name in need.seeds]
    kinds = [need.rule.types[name] for name in need.seeds]
    drawn = sampled([Draw(part, size, seed) for part in parts(need.seed.relation)], columns[need.seed.relation])
    keys = {tuple(widened(row[place], kind) for place, kind in zip(places, kinds, strict=True))
            for rows in drawn for row in rows}  # fmt: skip
    return {key for key in keys if None not in key}
