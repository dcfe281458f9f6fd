"""Carried values sent along the steps of a recursion: for each key a set of numbers, kept as bits.

The numbers are those of the values that goals carry. On the way down only the keys matter; what the rules without
recursion start goes up as bits, 64 goals in one word. Where such rules have to be asked by whole rows, the bits of
what is asked go down first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreset.verify.linear_recursion import LinearRecursion
from foreset.verify.value_numbering import Codes, Grown, Mask, Numbered, Numbers, nothing

MOST = 1024  # different carried values; goals with others are solved one by one
Words: TypeAlias = NDArray[np.uint64]
_NONE = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Sets:
    """A set of small numbers for each of the first numbers."""

    words: Words = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint64))

    def fit(self, sets: int, members: int) -> None:
        """Make room for so many sets, and for so many different members; twice as much each time."""
        have, width = self.words.shape
        wanted = (members + 63) // 64
        if sets > have or wanted > width:
            words = np.zeros((max(_rounded(sets), have), max(_rounded(wanted), width)), dtype=np.uint64)
            words[:have, :width] = self.words
            self.words = words

    def put(self, sets: Numbers, members: Numbers) -> None:
        """Add a member to each of `sets`."""
        np.bitwise_or.at(self.words, (sets, members >> 6), _bit(members))

    def has(self, sets: Numbers, members: Numbers) -> Mask:
        """Whether the member is in the set, pair by pair."""
        return np.asarray(self.words[sets, members >> 6] & _bit(members) != 0, dtype=np.bool_)

    def spread(self, along: Grown, changed: Numbers) -> None:
        """Add what the changed sets hold to the sets that `along` leads to, and so on until nothing changes."""
        while len(changed):
            places, found = along.meet(changed)
            targets = found[:, 0]
            order = np.argsort(targets, kind="stable")
            targets = targets[order]
            first = np.flatnonzero(np.diff(targets, prepend=-1))
            if not len(first):
                return
            came = np.bitwise_or.reduceat(self.words[changed[places[order]]], first, axis=0)
            targets = targets[first]
            grown = (came & ~self.words[targets]).any(axis=1)
            changed = targets[grown]
            self.words[changed] |= came[grown]

    def beyond(self, other: Sets) -> tuple[Numbers, Numbers]:
        """Pairs of a set and a member that it has here and not in `other`, which has the same room."""
        more = self.words & ~other.words
        sets, words = np.nonzero(more)
        bits = np.unpackbits(more[sets, words].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        places, inside = np.nonzero(bits)
        return sets[places], words[places] * 64 + inside


def _rounded(size: int) -> int:
    """The power of two that is not less."""
    return 1 << max(size - 1, 0).bit_length()


def _bit(members: Numbers) -> Words:
    return np.left_shift(np.uint64(1), (members & 63).astype(np.uint64))


@dataclass(slots=True)
class Flow:
    """The goals on one view that travel together: their keys, and the values that they carry.

    Both passes number the same values: a goal that found room in the first finds it in the second.
    """

    recursion: LinearRecursion
    values: Numbered
    codes: Codes
    keys: Numbered = field(init=False)
    _keys_asked: int = 0  # of the keys, so many were given to the rules that are asked by key
    _waiting: Numbers = field(default_factory=lambda: nothing(2))  # goals without an answer: a key and a value
    _down: Grown = field(default_factory=lambda: Grown(1))
    _up: Grown = field(default_factory=lambda: Grown(1))
    _started: Grown = field(default_factory=lambda: Grown(1))  # keys of rows that starting rules give, by carried value
    _asked: Sets = field(default_factory=Sets)
    _sent: Sets = field(default_factory=Sets)  # of `_asked`, what the rules were asked for
    _found: Sets = field(default_factory=Sets)
    _steps: list[Numbers] = field(default_factory=lambda: [nothing(2)])  # not yet in `_down` and `_up`
    _changed_above: list[Numbers] = field(default_factory=list)
    _changed_below: list[Numbers] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys = Numbered(self.codes, len(self.recursion.key))

    def take(self, goals: Numbers) -> tuple[Numbers, Numbers]:
        """Let goals in; the keys among them that are new, and the goals for which there is no room."""
        carried = goals[:, list(self.recursion.carried)]
        new = self.values.add(carried, MOST)
        numbers = self.values.numbers(carried)
        inside = goals[numbers >= 0]
        keys = inside[:, list(self.recursion.key)]
        fresh = self.keys.add(keys)
        pairs = np.column_stack([self.keys.numbers(keys), numbers[numbers >= 0]])
        self._waiting = np.concatenate([self._waiting, pairs])
        self._fit()
        self._asked.put(pairs[:, 0], pairs[:, 1])
        self._changed_above.append(pairs[:, 0])
        places, begun = self._started.meet(self.codes.packed(new))
        self._start(begun[:, 0], self.values.numbers(new)[places])
        return fresh, goals[numbers < 0]

    def step(self, steps: Numbers) -> Numbers:
        """Take steps from keys that were asked for; the keys below that are new."""
        above, below = np.hsplit(steps, 2)
        fresh = self.keys.add(below)
        above, below = self.keys.numbers(above), self.keys.numbers(below)
        self._steps.append(np.column_stack([above, below]))
        return fresh

    def start(self, rows: Numbers) -> None:
        """Take rows that rules without recursion give."""
        keys = self.keys.numbers(rows[:, list(self.recursion.key)])
        carried = rows[:, list(self.recursion.carried)]
        self._started.add(self.codes.packed(carried), keys[:, None])
        numbers = self.values.numbers(carried)
        known = numbers >= 0
        self._fit()
        self._start(keys[known], numbers[known])

    def new_keys(self) -> Numbers:
        """The keys that came since this was asked last."""
        keys = self.keys.rows[self._keys_asked :]
        self._keys_asked = len(self.keys)
        return keys

    def questions(self) -> Numbers:
        """The rows that are asked for and were not before."""
        self._settle()
        self._sent.fit(*self._room())
        self._asked.spread(self._down, _once(self._changed_above))
        pairs = self._asked.beyond(self._sent)
        self._sent.put(*pairs)
        return self._rows(*pairs)

    def answers(self) -> Numbers:
        """The goals that hold and did not before."""
        self._settle()
        self._found.spread(self._up, _once(self._changed_below))
        there = self._found.has(self._waiting[:, 0], self._waiting[:, 1])
        rows = self._rows(self._waiting[there, 0], self._waiting[there, 1])
        self._waiting = self._waiting[~there]
        return rows

    def _room(self) -> tuple[int, int]:
        return len(self.keys), len(self.values)

    def _fit(self) -> None:
        self._asked.fit(*self._room())
        self._found.fit(*self._room())

    def _settle(self) -> None:
        """Add the steps of all waves at once: one sorted piece is faster to look up than many."""
        self._fit()
        steps, self._steps = np.concatenate(self._steps), [nothing(2)]
        self._down.add(steps[:, 0], steps[:, 1:])
        self._up.add(steps[:, 1], steps[:, :1])
        # A step may wait for another flow, and come after what it should hand on.
        self._changed_above.append(steps[:, 0])
        self._changed_below.append(steps[:, 1])

    def _start(self, keys: Numbers, values: Numbers) -> None:
        self._found.put(keys, values)
        self._changed_below.append(keys)

    def _rows(self, keys: Numbers, values: Numbers) -> Numbers:
        rows = np.empty((len(keys), len(self.recursion.kinds)), dtype=np.int64)
        rows[:, list(self.recursion.key)] = self.keys.rows[keys]
        rows[:, list(self.recursion.carried)] = self.values.rows[values]
        return rows


def _once(parts: list[Numbers]) -> Numbers:
    """What is in the parts, each once; the parts are used up."""
    found = np.unique(np.concatenate([_NONE, *parts]))
    parts.clear()
    return found
