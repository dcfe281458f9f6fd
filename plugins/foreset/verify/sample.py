"""Which rows to check, and what the staged result claims of them.

Three kinds, since three things can go wrong: a changed row that should not have
changed, a row that should have changed and did not, and a row that is missing
altogether, looked for among combinations of values that occur: in the view, and in
the rows of sources that changed (`hints`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreset.ir.program import Column, is_hidden
from foreset.ir.terms import Row, Value
from foreset.relations.files import Rows
from foreset.verify.entries import Draw, present, sampled, worked_on
from foreset.verify.origins import Hint


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
    old: Rows
    plus: Rows
    minus: Rows
    own_groups: int | None = None  # columns of a group, in a view that an aggregate of the spec keeps in place
    changed: int = 0  # rows that come or go
    unchanged: int = 0  # rows that stay

    @property
    def totals(self) -> dict[str, int]:
        """How many rows there are to check, by kind."""
        return {"changed": self.changed, "unchanged": self.unchanged}


@dataclass(frozen=True, slots=True)
class Share:
    """How many rows of a view to look at, by kind."""

    changed: int
    unchanged: int
    absent: int


LEAST_PER_VIEW = 6
SMALL = 1_000  # rows of a kind, over all views: so many are all checked, those of the smallest views first
MOST_ENTRIES = 20_000  # that are read to find all rows of a small view


LEAST_OWN = 8  # groups of own aggregates that are always looked at


def shares(staged: Mapping[str, Staged], size: int) -> dict[str, Share]:
    """About `size` rows over all views, half of them changed; all rows of a kind where there are few."""
    each = max(LEAST_PER_VIEW, size // max(len(staged), 1))
    part = share_of(each)
    changed = _whole({name: one.changed for name, one in staged.items()})
    unchanged = _whole({name: one.unchanged for name, one in staged.items()})
    return {
        name: Share(max(part.changed, changed.get(name, 0)), max(part.unchanged, unchanged.get(name, 0)), part.absent)
        for name in staged
    }


def share_of(size: int) -> Share:
    """`size` rows of one view."""
    return Share(max(size // 2, 1), max(size // 4, 1), max(size // 4, 1))


def _whole(counts: Mapping[str, int]) -> dict[str, int]:
    """The views of which all rows are checked: views of the spec first, small ones first."""
    found, left = {}, SMALL
    for name in sorted(counts, key=lambda name: (is_hidden(name), counts[name])):
        if counts[name] <= left:
            found[name] = counts[name]
            left -= counts[name]
    return found


def draw(staged: Staged, share: Share, seed: int, hints: Sequence[Hint] = ()) -> list[Claim]:
    """Distinct rows, as many of each kind as `share` says."""
    columns = staged.columns
    generator = random.Random(seed)  # noqa: S311 - a sample must be repeatable, not secret
    half, quarter = share.changed, share.unchanged
    spare = half + quarter // 4  # some of what was drawn may go now, or have gone before
    every = 0 < staged.unchanged <= quarter
    entries = MOST_ENTRIES if every else quarter + spare
    draws = ((staged.plus, half), (staged.minus, half), (staged.old, entries))
    plus, minus, old = sampled([Draw(*one, generator.randrange(1 << 30)) for one in draws], columns)
    changed = _half_each(plus, minus, half)
    generator.shuffle(old)
    if not every:
        del old[quarter + len(minus) + quarter // 4 :]
    near = _combinations([*plus, *minus, *old], hints, len(columns), share.absent, generator)
    others = list(dict.fromkeys([*old, *near]))
    before, now = _there(staged, others)
    if staged.own_groups is not None:  # what an expression of the spec made of the state before
        own = worked_on(staged.plus, staged.minus, columns, staged.own_groups, max(LEAST_OWN, half // 2))
        plus = list({**dict.fromkeys(own), **dict.fromkeys(plus)})
        changed = list({**dict.fromkeys(own), **dict.fromkeys(changed)})
    claims = {row: Claim(row, row in set(plus), "changed") for row in changed}
    unchanged = [row for row in old if row in before and row in now and row not in claims][:quarter]
    claims |= {row: Claim(row, present=True, kind="unchanged") for row in unchanged}
    rest = set(old)
    absent = [row for row in others if row not in rest and row not in claims]
    return [*claims.values(), *(Claim(row, row in now, "absent") for row in absent)]


def there(staged: Staged, rows: Sequence[Row]) -> set[Row]:
    """Which of some rows the staged result has."""
    return _there(staged, rows)[1]


def _there(staged: Staged, rows: Sequence[Row]) -> tuple[set[Row], set[Row]]:
    """Which of some rows were there, and which are there now."""
    before, came, gone = present((staged.old, staged.plus, staged.minus), staged.columns, rows)
    return before, (before - gone) | came


def _half_each(plus: Sequence[Row], minus: Sequence[Row], size: int) -> list[Row]:
    """Up to `size` rows, half of them of each sign where both have enough."""
    few = min(len(plus), max(size - len(minus), size // 2))
    return [*plus[:few], *minus[: size - few]]


def _combinations(
    rows: Sequence[Row], hints: Sequence[Hint], width: int, size: int, generator: random.Random
) -> list[Row]:
    """Rows of values that occur in their columns; about half of them take over what a hint says."""
    values: list[set[Value]] = [{row[i] for row in rows} for i in range(width)]
    for position, value in {pair for hint in hints for pair in hint}:
        values[position].add(value)
    if not all(values):
        return []
    domains = [sorted(found, key=repr) for found in values]
    found: dict[Row, None] = {}
    for _ in range(size * 4):
        row = [generator.choice(domain) for domain in domains]
        if hints and generator.random() < 0.5:
            for position, value in generator.choice(hints):
                if generator.random() < 0.5:  # some of the columns, and of two values either
                    row[position] = value
        found[tuple(row)] = None
        if len(found) >= size:
            break
    return list(found)
