"""What a link of a `Follow` equates: which columns of the source with which of the rows that it agrees with."""

from __future__ import annotations

from collections.abc import Mapping

from foreset.ir.rules import Atom, Rule
from foreset.ir.terms import Var
from foreset.ir.types import Type, widen

Key = tuple[tuple[int, Type | None], ...]  # positions, each with the type in which it is compared if not its own


def linked(link: Rule) -> Atom:
    """The only atom of a link's body."""
    (atom,) = link.body
    assert isinstance(atom, Atom), f"{atom} is no row"
    return atom


def shared(link: Rule, schemas: Mapping[str, tuple[Type, ...]]) -> tuple[Key, Key]:
    """The columns of the source and of the atom that must be equal, pair by pair."""
    atom = linked(link)
    place = {arg.name: i for i, arg in enumerate(link.head.args) if isinstance(arg, Var)}
    ours, theirs = [], []
    for i, arg in enumerate(atom.args):
        if isinstance(arg, Var) and arg.name in place:
            own, other = schemas[link.head.relation][place[arg.name]], schemas[atom.relation][i]
            common = widen(own, other) or own
            ours.append((place[arg.name], None if own == common else common))
            theirs.append((i, None if other == common else common))
    return tuple(ours), tuple(theirs)
