"""`spread`: linear recursion that carries columns along, from two small relations before and after.

What each key begins with (`base`) and which key needs which (`needs`) are derived by ordinary rules, once over the old
state of lower relations and once over the new. What the view gains and loses is the difference of two fixpoints, which
one step finds; the view itself is not read, so nothing is over-deleted, on circles or off them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foreset.analyse.keys import ends_at, recursive_atoms
from foreset.ir.program import Column, Helper
from foreset.ir.renaming import numbered
from foreset.ir.rules import Atom, Rule, literal_variables
from foreset.ir.steps import Derivation, Derive, Phase, Procedure, Ref, Spread
from foreset.ir.strata import Stratum
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.maintain.carried import Carrying, carrying
from foreset.maintain.differentiate import stated

STATES = ((Version.OLD, Version.OLD), (Version.FULL, Version.NEW))  # of the helpers, and of what they are derived from


def spread(stratum: Stratum) -> Procedure:
    """Translate a stratum whose only view carries columns."""
    found = carrying(stratum)
    assert isinstance(found, Carrying), f"{stratum.title}: {found}"
    base, needs = _helpers(found)
    parts = tuple(
        Derivation(Ref(helper.name, to), tuple(helper.over(rule, to, state) for rule in helper.rules))
        for to, state in STATES
        for helper in dict.fromkeys((base, needs))
    )
    steps = (Derive(parts), Spread(found.view.name, base.name, needs.name, found.key))
    helpers = tuple(Helper(helper.name, helper.columns) for helper in dict.fromkeys((base, needs)))
    return Procedure("spread", stratum.names, (Phase("build", steps),), helpers)


@dataclass(frozen=True, slots=True)
class _Derived:
    """A helper relation and the rules that give its rows, with any head and over any state."""

    name: str
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...]

    def over(self, rule: Rule, to: Version, state: Version) -> Rule:
        """A rule for one state of the helper."""
        return replace(stated(rule, state), head=Atom(self.name, rule.head.args, version=to))

    def same_as(self, other: _Derived) -> bool:
        """Whether both have the same rows whatever lower relations hold."""
        return self.columns == other.columns and set(map(_meaning, self.rules)) == set(map(_meaning, other.rules))


def _helpers(found: Carrying) -> tuple[_Derived, _Derived]:
    """`base` and `needs`; often they are one, as in `p(X, Y) :- e(X, Y)` and `p(X, Y) :- e(X, Z), p(Z, Y)`."""
    view = found.view
    kinds = [column.type for column in view.columns]
    base = _Derived(f"{view.name}~base", _columns(kinds), found.base)
    pairs = () if found.doubled else tuple(recursive_atoms(view))
    rules = tuple(_needing(rule, atom, found.key) for rule, atom in pairs)
    needs = _Derived(f"{view.name}~needs", _columns([kinds[i] for i in found.key] * 2), rules)
    return (base, base) if found.doubled or base.same_as(needs) else (base, needs)


def _columns(kinds: list[Type]) -> tuple[Column, ...]:
    return tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds))


def _needing(rule: Rule, atom: Atom, key: tuple[int, ...]) -> Rule:
    """The lower part of a recursive rule, as it links the head's key with that of the recursive atom."""
    body = tuple(literal for literal in rule.body if literal is not atom)
    return replace(rule, head=replace(rule.head, args=ends_at(rule, atom, key)), body=body)


def _meaning(rule: Rule) -> tuple[Rule, tuple[Type, ...]]:
    """The rule without the names of its variables, and their types."""
    found = (var for literal in (rule.head, *rule.body) for var in literal_variables(literal))
    return numbered(rule), tuple(rule.types[var.name] for var in found)
