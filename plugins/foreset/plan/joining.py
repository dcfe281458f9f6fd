"""Which atom of a rule is joined next: what both engines agree on."""

from __future__ import annotations

from collections.abc import Container

from foreset.ir.rules import Atom
from foreset.ir.terms import Const, Var


def cost(atom: Atom, rows: float, met: Container[str], *, first: bool) -> float:
    """Rows to expect of an atom's relation, given the variables that the join has `met`; cross joins come last."""
    constants = sum(isinstance(arg, Const) for arg in atom.args)
    shared = sum(isinstance(arg, Var) and arg.name in met for arg in atom.args)
    connected = first or shared or constants == len(atom.args)  # a constant alone ties it to nothing
    return rows / 10.0 ** (constants + shared) * (1 if connected else 1e6)
