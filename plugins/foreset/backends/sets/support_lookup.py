"""`Follow` in plain Python sets."""

from __future__ import annotations

from foreset.backends.sets.joins import Schemas
from foreset.backends.sets.rows import Key, Memory, picker
from foreset.ir.rules import Atom, Rule
from foreset.ir.steps import Follow, Ref
from foreset.ir.terms import Const, Row, Var
from foreset.ir.types import widen
from foreset.values.terms import equal


def followed(step: Follow, memory: Memory, schemas: Schemas) -> set[Row]:
    """The rows of the source that agree with a row of some link; NULL equals NULL."""
    found: set[Row] = set()
    for link in step.links:
        found |= _linked(link, step.source, memory, schemas)
    return found


def _linked(link: Rule, source: Ref, memory: Memory, schemas: Schemas) -> set[Row]:
    (atom,) = link.body
    assert isinstance(atom, Atom), f"{atom} is no row"
    wanted = Ref(atom.relation, atom.version)
    ours, theirs = shared(link, schemas)
    constants = [(i, arg.value) for i, arg in enumerate(atom.args) if isinstance(arg, Const)]
    pick = picker(theirs)
    keys = {
        pick(row)
        for row in memory.rows(wanted)
        if all(row[i] is not None and equal(row[i], value) for i, value in constants)
    }
    look = picker(ours)
    return {row for row in memory.rows(source) if look(row) in keys} if keys else set()


def shared(link: Rule, schemas: Schemas) -> tuple[Key, Key]:
    """The columns of the source and of the atom that must be equal, pair by pair, each with the type of both."""
    (atom,) = link.body
    assert isinstance(atom, Atom), f"{atom} is no row"
    place = {arg.name: i for i, arg in enumerate(link.head.args) if isinstance(arg, Var)}
    ours, theirs = [], []
    for i, arg in enumerate(atom.args):
        if isinstance(arg, Var) and arg.name in place:
            own, other = schemas[link.head.relation][place[arg.name]], schemas[atom.relation][i]
            common = widen(own, other) or own
            ours.append((place[arg.name], None if own == common else common))
            theirs.append((i, None if other == common else common))
    return tuple(ours), tuple(theirs)
