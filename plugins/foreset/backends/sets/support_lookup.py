"""`Follow` in plain Python sets."""

from __future__ import annotations

from foreset.backends.sets.rows import Memory, picker
from foreset.ir.rules import Rule
from foreset.ir.steps import Follow, Ref
from foreset.ir.terms import Const, Row
from foreset.machine.links import linked, shared
from foreset.values.terms import equal


def followed(step: Follow, memory: Memory) -> set[Row]:
    """The rows of the source that agree with a row of some link; NULL equals NULL."""
    return {row for link in step.links for row in _agreeing(link, step.source, memory)}


def _agreeing(link: Rule, source: Ref, memory: Memory) -> set[Row]:
    atom = linked(link)
    ours, theirs = shared(link, memory.schemas)
    constants = [(i, arg.value) for i, arg in enumerate(atom.args) if isinstance(arg, Const)]
    pick = picker(theirs)
    keys = {
        pick(row)
        for row in memory.rows(Ref(atom.relation, atom.version))
        if all(row[i] is not None and equal(row[i], value) for i, value in constants)
    }
    look = picker(ours)
    return {row for row in memory.rows(source) if look(row) in keys} if keys else set()
