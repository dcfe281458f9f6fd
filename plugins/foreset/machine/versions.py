"""What is known of every relation at one moment: its versions, as pieces of rows.

A stored version is a tuple of disjoint pieces. A virtual one is not built: it has the pieces of its base, each less
those that went, and the pieces that came. A version that is virtual by its name may be stored all the same: the new
state of a source is simply its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from foreset.ir.sizes import summed
from foreset.ir.steps import Ref
from foreset.ir.versions import VIRTUAL, Composition, Version


class Piece(Protocol):
    """Different rows of one version."""

    @property
    def rows(self) -> int | None:
        """How many at most; None while nobody has counted them."""


P = TypeVar("P", bound=Piece)


@dataclass(slots=True)
class Versions(Generic[P]):
    """All versions of all relations that a stratum reads and writes; what nobody put there is empty."""

    _stored: dict[Ref, tuple[P, ...]] = field(default_factory=dict, init=False)
    _late: dict[Ref, Callable[[], Iterable[P]]] = field(default_factory=dict, init=False)

    def put(self, ref: Ref, *pieces: P) -> None:
        """Replace a version; pieces known to be empty are dropped."""
        self._late.pop(ref, None)
        self._stored[ref] = tuple(piece for piece in pieces if piece.rows != 0)

    def replace(self, piece: P, by: P) -> None:
        """Let a piece stand for another one of the same rows, wherever that is held."""
        for ref, pieces in self._stored.items():
            self._stored[ref] = tuple(by if one is piece else one for one in pieces)

    def put_later(self, ref: Ref, make: Callable[[], Iterable[P]]) -> None:
        """Replace a version by what is opened when it is first asked for: many a stratum never does."""
        self._late[ref] = make

    def stored(self, ref: Ref) -> tuple[P, ...]:
        """The pieces of a stored version."""
        make = self._late.pop(ref, None)
        if make is not None:
            self.put(ref, *make())
        return self._stored.get(ref, ())

    @property
    def opened(self) -> Iterator[P]:
        """All pieces of all versions; of those that nobody has asked for there are none yet."""
        return (piece for pieces in self._stored.values() for piece in pieces)

    def composed(self, ref: Ref) -> tuple[tuple[P, tuple[P, ...]], ...]:
        """The disjoint pieces of a stored or virtual version, each with those whose rows it lacks."""
        shape = self._shape(ref)
        if shape is None:
            return tuple((piece, ()) for piece in self.stored(ref))
        less = tuple(gone for version in shape.less for gone in self.stored(Ref(ref.relation, version)))
        base = ((piece, less) for piece in self.stored(Ref(ref.relation, shape.base)) if piece not in less)
        more = ((piece, ()) for version in shape.more for piece in self.stored(Ref(ref.relation, version)))
        return (*base, *more)

    def stored_in(self, ref: Ref) -> tuple[Ref, ...]:
        """The stored versions whose rows a version may hold."""
        shape = self._shape(ref)
        return (ref,) if shape is None else tuple(Ref(ref.relation, v) for v in (shape.base, *shape.more))

    def stored_for(self, ref: Ref) -> tuple[Ref, ...]:
        """The stored versions that are looked at to read a version."""
        shape = self._shape(ref)
        return (*self.stored_in(ref), *(Ref(ref.relation, v) for v in (shape.less if shape else ())))

    def _shape(self, ref: Ref) -> Composition | None:
        """What a virtual version is made of; None for one that is stored, or will be."""
        return None if ref in self._stored or ref in self._late else VIRTUAL.get(ref.version)

    # ------------------------------------------------------------ how many rows
    def count(self, ref: Ref) -> int | None:
        """How many rows a version has at most; None where it is not known."""
        return summed(piece.rows for piece, _ in self.composed(ref))

    def empty(self, ref: Ref) -> bool:
        """True when a version is known to be empty."""
        return not self.composed(ref)

    def empty_unopened(self, ref: Ref) -> bool:
        """True when that is known without opening anything."""
        return not any(one in self._late or self._stored.get(one) for one in self.stored_in(ref))

    def values(self, ref: Ref) -> Mapping[int, int]:  # noqa: ARG002 - who knows more says it
        """How many values some columns of a version have at most, by place."""
        return {}

    def rows_in(self, version: Version) -> int:
        """How many rows all relations have in a stored version: for those who measure."""
        return sum(p.rows or 0 for ref, pieces in self._stored.items() if ref.version is version for p in pieces)
