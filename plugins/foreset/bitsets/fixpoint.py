"""The least fixpoint of `p(K, C) :- base(K, C)` and `p(K, C) :- needs(K, L), p(L, C)`, a bit for each row.

Keys that need each other have the same rows, so each strong component of `needs` is one row of bits, a column for
each `C`. Components are numbered by levels: when one level is at work, all that it needs is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foreset.bitsets.graph import Bools, Graph, Ints

Words = npt.NDArray[np.uint64]
WORD = 64
AT_ONCE = 50_000  # words whose bits are told apart in one go: 3.2 million rows at most


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of two numbers, each row once."""

    left: Ints
    right: Ints

    def where(self, kept: Bools) -> Pairs:
        """Some of the rows."""
        return Pairs(self.left[kept], self.right[kept])

    def coded(self, width: int) -> Ints:
        """One number for each row; `width` is more than any number on the right."""
        return self.left * width + self.right

    @staticmethod
    def of(codes: Ints, width: int) -> Pairs:
        """The rows back from their numbers."""
        return Pairs(*np.divmod(codes, width))


@dataclass(frozen=True, slots=True)
class State:
    """What one fixpoint is made of."""

    base: Pairs  # key, carried
    needs: Pairs  # key, key


@dataclass(frozen=True, slots=True)
class Layers:
    """The components of `needs`, and where the levels begin in their edges."""

    row_of: Ints  # the component of each key; -1 for keys that nobody asked for
    rows: int
    heads: Ints  # of the edges between components, sorted by their tails
    firsts: Ints  # of each component: its first edge
    bounds: Ints  # of each level: its first component

    @property
    def widest(self) -> int:
        """The most edges of a level."""
        return int(np.diff(self.firsts[self.bounds]).max(initial=0))

    def settle(self, bits: Words) -> None:
        """Give every component what those below it have."""
        for start, end in zip(self.bounds[1:-1], self.bounds[2:], strict=True):
            first, last = self.firsts[start], self.firsts[end]
            below = bits[self.heads[first:last]]
            bits[start:end] |= np.bitwise_or.reduceat(below, self.firsts[start:end] - first, axis=0)


def layers_of(needs: Pairs, asked: Bools) -> Layers:
    """The components of the keys in `asked`, which holds all that these need."""
    keys = np.flatnonzero(asked)
    place = np.full(asked.size, -1)
    place[keys] = np.arange(keys.size)
    inner = needs.where(asked[needs.left] & (needs.left != needs.right))
    tails, heads = place[inner.left], place[inner.right]
    _, part = np.unique(Graph(keys.size, tails, heads).components(), return_inverse=True)
    parts = int(part.max(initial=-1)) + 1
    between = np.unique(Pairs(part[tails], part[heads]).where(part[tails] != part[heads]).coded(max(parts, 1)))
    edges = Pairs.of(between, max(parts, 1))
    level = Graph(parts, edges.left, edges.right).levels()
    row = np.empty(parts, dtype=np.int64)
    row[np.argsort(level)] = np.arange(parts)
    order = np.argsort(row[edges.left])
    firsts = np.concatenate(([0], np.cumsum(np.bincount(row[edges.left], minlength=parts))))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(level))))
    row_of = np.full(asked.size, -1)
    row_of[keys] = row[part]
    return Layers(row_of, parts, row[edges.right][order], firsts, bounds)


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows (key, carried) of one fixpoint that the other lacks."""

    came: bool
    rows: Pairs


def moved(old: State, new: State, keys: int, carried: int, memory: int) -> Iterator[Moved]:
    """The rows in which two fixpoints differ, in portions; about `memory` bytes are used at a time.

    Only keys that lead to a change can have others, and only those carried values that come from beyond one.
    """
    begun = np.union1d(_differing(old.base, new.base, carried), _differing(old.needs, new.needs, keys))
    both = Graph(keys, *(np.concatenate(sides) for sides in
                         ((old.needs.left, new.needs.left), (old.needs.right, new.needs.right))))  # fmt: skip
    touched = np.flatnonzero(both.turned.reached(begun))
    asked, beyond = both.reached(touched), both.reached(begun)
    wanted = np.zeros(carried, dtype=np.bool_)
    for state in (old, new):
        wanted[state.base.right[beyond[state.base.left]]] = True
    columns = np.flatnonzero(wanted)
    sides = [_Side(state, asked, columns, carried) for state in (old, new)]
    rows = sum(side.layers.rows + side.layers.widest for side in sides) + 3 * touched.size
    width = max(memory // (8 * max(rows, 1)), 1)  # words
    for start in range(0, columns.size, width * WORD):
        block = columns[start : start + width * WORD]
        before, after = (side.bits(start, block.size)[side.layers.row_of[touched]] for side in sides)
        for came, words in ((False, before & ~after), (True, after & ~before)):
            yield from (Moved(came, Pairs(touched[found.left], block[found.right])) for found in _bits_in(words))


def _differing(old: Pairs, new: Pairs, width: int) -> Ints:
    """The left sides of rows that are in one but not in the other."""
    codes = np.setxor1d(old.coded(max(width, 1)), new.coded(max(width, 1)), assume_unique=True)
    return np.unique(codes // max(width, 1))


class _Side:
    """One state, ready to be asked for columns."""

    def __init__(self, state: State, asked: Bools, columns: Ints, carried: int) -> None:
        self.layers = layers_of(state.needs, asked)
        place = np.full(carried, -1)
        place[columns] = np.arange(columns.size)
        base = Pairs(self.layers.row_of[state.base.left], place[state.base.right])
        base = base.where((base.left >= 0) & (base.right >= 0))
        order = np.argsort(base.right)
        self.rows, self.columns = base.left[order], base.right[order]

    def bits(self, start: int, size: int) -> Words:
        """The fixpoint in some columns: `size` of them from `start` on."""
        bits = np.zeros((self.layers.rows, -(-size // WORD)), dtype=np.uint64)
        first, last = np.searchsorted(self.columns, (start, start + size))
        at = self.columns[first:last] - start
        np.bitwise_or.at(bits, (self.rows[first:last], at // WORD), np.uint64(1) << (at % WORD).astype(np.uint64))
        self.layers.settle(bits)
        return bits


def _bits_in(words: Words) -> Iterator[Pairs]:
    """Row and column of every bit that is set, in portions."""
    rows, places = np.nonzero(words)
    for start in range(0, rows.size, AT_ONCE):
        row, place = rows[start : start + AT_ONCE], places[start : start + AT_ONCE]
        octets = words[row, place].astype("<u8").view(np.uint8).reshape(-1, 8)
        which, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
        yield Pairs(row[which], place[which] * WORD + bit)
