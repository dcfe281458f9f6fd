"""Which atom of a rule is joined next: what both engines agree on."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from collections.abc import Set as AbstractSet

from foreset.ir.rules import Atom, literal_variables
from foreset.ir.terms import Const, Var

SOME = 10.0  # how many values a column is taken to have where nothing is known of it


def cost(atom: Atom, rows: float, met: Container[str] | None, values: Mapping[int, int] | None = None) -> float:
    """Rows to expect of an atom's relation, given the variables that the join has `met`; cross joins come last.

    `met` is None where the join begins with the atom.
    `values`: how many values some of its columns have at most. A table that is met by its key gives one row
    for each, however large it is; a small one that is met by a column of few values gives many.
    """
    constants = sum(isinstance(arg, Const) for arg in atom.args)
    shared = [place for place, arg in enumerate(atom.args) if isinstance(arg, Var) and arg.name in (met or ())]
    connected = met is None or shared or constants == len(atom.args)  # a constant alone ties it to nothing
    told_apart = SOME**constants * math.prod((values or {}).get(place, SOME) for place in shared)
    return rows / told_apart * (1 if connected else 1e6)


Fanout = Callable[[Atom, Container[str] | None], float]  # `cost`, of an atom and by what is met


def start(atoms: Sequence[Atom], fanout: Fanout) -> Atom:
    """The atom to begin with: the one from which the whole join passes through the fewest rows.

    The atom with the fewest rows may be a poor start: from one region by its nations and their suppliers to a fifth
    of all order lines, where a few changed orders lead to a few lines.
    """
    return min(atoms, key=lambda atom: _from_atom(atom, atoms, fanout))


def better_from(rows: float, names: AbstractSet[str], atoms: Sequence[Atom], fanout: Fanout) -> bool:
    """Whether a join passes through fewer rows when it begins with some that are at hand, under these names."""
    return _work(rows, names, atoms, fanout) <= min(
        (_from_atom(atom, atoms, fanout) for atom in atoms), default=math.inf
    )


def _from_atom(first: Atom, atoms: Sequence[Atom], fanout: Fanout) -> float:
    return _work(fanout(first, None), _names(first), [atom for atom in atoms if atom is not first], fanout)


def _work(size: float, met: AbstractSet[str], atoms: Sequence[Atom], fanout: Fanout) -> float:
    """All rows that a join with `atoms` passes through, which begins with `size` rows."""
    total, left = size, list(atoms)
    while left:
        atom = min(left, key=lambda each: fanout(each, met))
        size *= fanout(atom, met)
        total += size
        met = met | _names(atom)
        left.remove(atom)
    return total


def _names(atom: Atom) -> set[str]:
    return {variable.name for variable in literal_variables(atom)}
