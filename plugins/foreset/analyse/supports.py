"""Whether deletions can follow supports: derivations must be told apart, and their circles be seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from foreset.analyse.keys import key_of
from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Rule
from foreset.ir.strata import Stratum
from foreset.ir.terms import Var
from foreset.ir.types import MAX_PRECISION, Type, widen


@dataclass(frozen=True, slots=True)
class Blurred:
    """A variable whose type is wider than a column that it reads, in which two values can become one."""

    rule: Rule
    variable: Var
    column: Type
    wider: Type


def unseen_circles(stratum: Stratum) -> bool:
    """Derivations may be cyclic, and lower relations do not show where."""
    return stratum.cyclic and (len(stratum.views) > 1 or key_of(stratum.views[0]) is None)


def blurred(views: Collection[View], columns: Mapping[str, tuple[Column, ...]]) -> Blurred | None:
    """The first variable under which two rows below would be one, so that a support could not tell which it stands on.

    `columns` has those of what the rules read; what it lacks is taken to be read as it is.
    """
    for rule in (rule for view in views for rule in view.rules):
        for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
            for arg, column in zip(atom.args, columns.get(atom.relation, ()), strict=False):
                if isinstance(arg, Var) and not _exact(column.type, rule.types.get(arg.name, column.type)):
                    return Blurred(rule, arg, column.type, rule.types[arg.name])
    return None


def _exact(kind: Type, wider: Type) -> bool:
    """No two values of `kind` become one as values of `wider`."""
    if kind == wider or (kind.is_integral and wider.is_integral) or (kind.is_temporal and wider.is_temporal):
        return True
    if wider.name == "double":
        return kind.name in ("float", "tinyint", "smallint", "int")
    if wider.name == "float":
        return kind.name in ("tinyint", "smallint")
    if wider.name == "decimal":
        return widen(kind, wider) == wider and wider.precision < MAX_PRECISION
    return False
