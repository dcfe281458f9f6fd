"""Which rows to check, and what the staged result claims of them.

Three kinds, since three things can go wrong: a changed row that should not have
changed, a row that should have changed and did not, and a row that is missing
altogether, looked for among combinations of values that occur.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from foreset.ir.program import Column
from foreset.ir.terms import Row
from foreset.store.quoting import quoted
from foreset.store.types import arrow_type
from foreset.verify.facts import to_rows


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of a view, and whether the staged result has it."""

    row: Row
    present: bool
    kind: str  # changed | unchanged | absent


@dataclass(frozen=True, slots=True)
class Staged:
    """What a refresh would publish of one view: the state before, minus, plus."""

    columns: tuple[Column, ...]
    old: pa.Table | object | None  # an Arrow dataset of visible rows
    plus: pa.Table | object | None
    minus: pa.Table | object | None


def draw(staged: Staged, size: int, seed: int) -> list[Claim]:
    """Up to `size` distinct rows: a half of changed ones, the rest unchanged and absent."""
    names = [column.name for column in staged.columns]
    generator = random.Random(seed)  # noqa: S311 - a sample must be repeatable, not secret
    half, quarter = max(size // 2, 1), max(size // 4, 1)
    plus = _sampled(staged.plus, staged.columns, half, generator.randrange(1 << 30))
    minus = _sampled(staged.minus, staged.columns, half, generator.randrange(1 << 30))
    changed = _half_each(plus, minus, half)
    old = _sampled(staged.old, staged.columns, quarter + len(minus), generator.randrange(1 << 30))
    kept = _present(staged.minus, staged.columns, old) if old else set()
    unchanged = [row for row in old if row not in kept][:quarter]
    absent = _combinations([*plus, *minus, *old], quarter, generator) if names else []
    claims = [Claim(row, row in set(plus), "changed") for row in changed]
    seen = {claim.row for claim in claims}
    claims += [Claim(row, present=True, kind="unchanged") for row in unchanged if row not in seen]
    seen |= {claim.row for claim in claims}
    others = [row for row in absent if row not in seen]
    there = _claimed(staged, others)
    return claims + [Claim(row, row in there, "absent") for row in others]


def _half_each(plus: Sequence[Row], minus: Sequence[Row], size: int) -> list[Row]:
    """Both signs, as evenly as they come."""
    few = min(len(plus), max(size - len(minus), size // 2))
    return [*plus[:few], *minus[: size - few]]


def _sampled(source: object, columns: tuple[Column, ...], size: int, seed: int) -> list[Row]:
    if source is None or size <= 0:
        return []
    connection = duckdb.connect()
    connection.register("t", source)
    names = ", ".join(quoted(column.name) for column in columns)
    query = f"SELECT {names} FROM t USING SAMPLE reservoir({size} ROWS) REPEATABLE ({seed})"  # noqa: S608 - quoted
    rows = to_rows(connection.sql(query).to_arrow_table(), columns)
    return sorted(set(rows), key=repr)


def _combinations(rows: Sequence[Row], size: int, generator: random.Random) -> list[Row]:
    """Rows of values that occur in their columns: near misses rather than nonsense."""
    if not rows:
        return []
    domains = [sorted({row[i] for row in rows}, key=repr) for i in range(len(rows[0]))]
    found: dict[Row, None] = {}
    for _ in range(size * 4):
        found[tuple(generator.choice(domain) for domain in domains)] = None
        if len(found) >= size:
            break
    return list(found)


def _claimed(staged: Staged, rows: list[Row]) -> set[Row]:
    """Which of `rows` the staged result has."""
    if not rows:
        return set()
    old, plus, minus = (_present(part, staged.columns, rows) for part in (staged.old, staged.plus, staged.minus))
    return (old - minus) | plus


def _present(source: object, columns: tuple[Column, ...], rows: Sequence[Row]) -> set[Row]:
    if source is None or not rows:
        return set()
    connection = duckdb.connect()
    connection.register("t", source)
    arrays = [pa.array([row[i] for row in rows], arrow_type(c.type)) for i, c in enumerate(columns)]
    connection.register("wanted", pa.table(arrays, names=[f"k{i}" for i in range(len(columns))]))
    on = " AND ".join(f"t.{quoted(c.name)} IS NOT DISTINCT FROM k.k{i}" for i, c in enumerate(columns))
    names = ", ".join(f"t.{quoted(column.name)}" for column in columns)
    query = f"SELECT {names} FROM t SEMI JOIN wanted k ON {on}"  # noqa: S608 - identifiers are quoted
    return set(to_rows(connection.sql(query).to_arrow_table(), columns))
