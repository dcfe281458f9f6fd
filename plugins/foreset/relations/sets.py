"""Relations that are at hand as sets of Python, for the steps that run there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from foreset.backends.sets.backend import SetsBackend
from foreset.backends.sets.rows import Counters
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.machine.stratum import Reads
from foreset.relations.located import AtHand, Located, by_row


@dataclass(frozen=True, slots=True)
class SetsPort:
    """A memory takes relations in and gives rows out."""

    backend: SetsBackend

    def put(self, versions: Sequence[Located], reads: Reads) -> None:  # noqa: ARG002 - a set has no copies
        """Each version as a set of its own, which may grow."""
        for located in versions:
            self.backend.versions.fill(located.ref, _rows(located))

    def count(self, view: str, stored: Located | None) -> None:
        """All of them."""
        self.backend.counters[view] = Counters(by_row(_rows(stored)) if stored is not None else {})

    def rows(self, ref: Ref, most: int | None = None) -> list[Row]:
        """As they are."""
        return list(self.backend.versions.rows(ref))[:most]

    def changes(self, view: str) -> Mapping[Row, tuple[int, int]]:
        """As they are."""
        counters = self.backend.counters.get(view)
        return {row: (base, recursive) for row, (base, recursive) in counters.change.items()} if counters else {}


def _rows(located: Located) -> Collection[Row]:
    assert isinstance(located.place, AtHand), f"{located.relation} is not at hand"
    return located.place.rows
