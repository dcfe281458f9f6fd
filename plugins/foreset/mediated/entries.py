"""Entries of a mediated view: constrained atoms, each with its derivation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from foreset.constraints.form import Constraint
from foreset.constraints.text import print_constraint


@dataclass(frozen=True)
class Support:
    """`<clause, supports of the body atoms>`: equal supports are the same derivation (Lemma 1)."""

    clause: int
    children: tuple[Support, ...] = ()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.clause, self.children))

    @cached_property
    def height(self) -> int:
        """0 for a clause without body."""
        return 1 + max((child.height for child in self.children), default=-1)

    @cached_property
    def name(self) -> str:
        """A digest: how rows name the derivation."""
        told = f"{self.clause}({','.join(child.name for child in self.children)})"
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def __str__(self) -> str:
        return f"<{', '.join([str(self.clause), *map(str, self.children)])}>"


@dataclass(frozen=True, slots=True)
class Entry:
    """`predicate(columns) <- constraint`, derived as `support` says."""

    predicate: str
    constraint: Constraint
    support: Support

    def __str__(self) -> str:
        return f"{self.predicate} <- {print_constraint(self.constraint)} {self.support}"


@dataclass(frozen=True)
class View:
    """A materialized view: one entry per derivation, duplicates kept."""

    entries: Mapping[Support, Entry] = field(default_factory=dict)

    def of(self, predicate: str) -> tuple[Entry, ...]:
        """The entries of one predicate."""
        return self._by_predicate.get(predicate, ())

    @cached_property
    def _by_predicate(self) -> dict[str, tuple[Entry, ...]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            found.setdefault(entry.predicate, []).append(entry)
        return {predicate: tuple(entries) for predicate, entries in found.items()}

    def constraints(self, predicate: str) -> tuple[Constraint, ...]:
        """What the entries of one predicate say."""
        return tuple(entry.constraint for entry in self.of(predicate))

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)


def support_rows(supports: Iterable[Support]) -> list[tuple[str, int, int | None, str | None]]:
    """Derivations as rows `(support, clause, place, child)`, so that following them is a join on `child`."""
    rows: list[tuple[str, int, int | None, str | None]] = []
    for support in supports:
        if not support.children:
            rows.append((support.name, support.clause, None, None))
        rows += [(support.name, support.clause, place, child.name) for place, child in enumerate(support.children)]
    return rows


def supports_from_rows(rows: Iterable[tuple[str, int, int | None, str | None]]) -> dict[str, Support]:
    """What `support_rows` wrote, by name; KeyError where a child is missing."""
    told: dict[str, tuple[int, dict[int, str]]] = {}
    for name, clause, place, child in rows:
        children = told.setdefault(name, (clause, {}))[1]
        if place is not None and child is not None:
            children[place] = child
    made: dict[str, Support] = {}

    def make(name: str) -> Support:
        if name not in made:
            clause, children = told[name]
            made[name] = Support(clause, tuple(make(children[place]) for place in sorted(children)))
        return made[name]

    for name in told:
        make(name)
    return made
