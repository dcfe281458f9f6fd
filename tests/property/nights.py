"""Nights of changes: net set differences of the sources, with the shapes that hurt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from tests.refresh_cases import Night

from foreset.ir.program import Column
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import sort_key
from foreset.testing.replica import Delta

Domain = Callable[[Type], Value]
Columns = Sequence[Column]
BATCHES = 5
SHAPES = ("random", "chain", "cycle", "clique", "star", "two cycles", "empty", "tree")
MODES = ("free", "insert", "delete", "each its way", "growth")  # growth: what only stands under `not` shrinks
KINDS = ("mixed", "insert", "delete", "one", "swap", "wipe", "refill", "nothing")


def nights_of(
    rng: Random, sources: Mapping[str, Columns], growth: Mapping[str, str], domain: Domain, null_share: float
) -> tuple[Night, ...]:
    """The first load and five nights of changes; `growth` says what a source does where views only grow."""
    maker = _Nights(rng, domain, null_share)
    current = {name: frozenset(maker.shaped(columns)) for name, columns in sources.items()}
    nights: list[Night] = [{name: Delta(rows) for name, rows in current.items()}]
    for _ in range(BATCHES):
        mode = rng.choices(MODES, (60, 10, 6, 8, 16))[0]
        kinds = growth if mode == "growth" else {name: maker.kind(mode) for name in sources}
        night = {name: maker.change(current[name], columns, kinds[name]) for name, columns in sources.items()}
        current = {name: (current[name] - night[name].minus) | night[name].plus for name in sources}
        nights.append(night)
    return tuple(nights)


class _Nights:
    """Rows and changes; every choice comes from `rng`."""

    def __init__(self, rng: Random, domain: Domain, null_share: float) -> None:
        self.rng = rng
        self.domain = domain
        self.null_share = null_share

    def row(self, columns: Columns) -> Row:
        """One row, NULLs in it as often as this program has them."""
        return tuple(
            None if self.null_share and self.rng.random() < self.null_share else self.domain(c.type) for c in columns
        )

    def shaped(self, columns: Columns) -> Iterator[Row]:
        """The contents of a source after the first load."""
        shape = self.rng.choices(SHAPES, (44, 10, 12, 9, 6, 9, 3, 7))[0]
        if shape == "empty":
            return
        if shape == "random" or len(columns) != 2 or columns[0].type != columns[1].type:
            for _ in range(self.rng.randint(3, 12) if len(columns) > 1 else self.rng.randint(1, 4)):
                yield self.row(columns)
            return
        kind = columns[0].type
        nodes = sorted({(self.domain(kind),) for _ in range(20)}, key=sort_key)
        self.rng.shuffle(nodes)
        for a, b in _edges(shape, len(nodes)):
            yield (*nodes[a], *nodes[b])
        while self.rng.random() < 0.3:
            yield self.row(columns)

    def kind(self, mode: str) -> str:
        """What happens to one source in a night of this mode."""
        match mode:
            case "free":
                return self.rng.choices(KINDS, (50, 16, 14, 6, 6, 2, 4, 2))[0]
            case "each its way":
                return self.rng.choice(("insert", "delete"))
            case _:
                return mode

    def change(self, rows: frozenset[Row], columns: Columns, kind: str) -> Delta:
        """Rows that come and go in one night."""
        old = sorted(rows, key=sort_key)
        kind = "insert" if kind == "delete" and not old else kind
        if kind == "nothing":
            return Delta()
        if kind == "wipe":
            return Delta(minus=rows)
        if kind == "refill":
            return self.net(rows, self.shaped(columns), old)
        some = self.rng.choices((1, 2, 3, 5), (18, 30, 30, 22))[0]
        gone = self.rng.sample(old, min(len(old), some)) if kind in ("mixed", "delete", "swap") else []
        if kind == "one" and old and self.rng.random() < 0.5:
            return Delta(minus=frozenset(self.rng.sample(old, 1)))
        if kind == "swap":  # the other way round
            return self.net(rows, (row[::-1] for row in gone if _reversible(columns)), gone)
        wanted = {"mixed": some, "insert": some, "one": 1}.get(kind, 0)
        tried = (self.row(columns) for _ in range(4 * wanted))
        return self.net(rows, islice((row for row in tried if row not in rows), wanted), gone)

    @staticmethod
    def net(rows: frozenset[Row], come: Iterator[Row], go: Sequence[Row]) -> Delta:
        """Exact differences: rows that come were not there, rows that go do not come back."""
        new = (rows - frozenset(go)) | frozenset(come)
        return Delta(new - rows, rows - new)


def _reversible(columns: Columns) -> bool:
    return all(a.type == b.type for a, b in zip(columns, reversed(columns), strict=True))


def _edges(shape: str, n: int) -> list[tuple[int, int]]:
    match shape:
        case "chain":
            return [(i, i + 1) for i in range(n - 1)]
        case "cycle":
            return [(i, (i + 1) % n) for i in range(n)]
        case "clique":
            return [(i, j) for i in range(min(n, 4)) for j in range(min(n, 4))]
        case "star":
            return [(0, i) for i in range(1, n)]
        case "two cycles":
            half = max(1, n // 2)
            first = [(i, (i + 1) % half) for i in range(half)]
            return [*first, (0, n - 1), *((i, i + 1 if i + 1 < n else half) for i in range(half, n))]
        case _:
            return [((i - 1) // 2, i) for i in range(1, n)]
