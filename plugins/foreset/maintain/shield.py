"""Where a row that still has a derivation may stay at once: on no circle can it hold itself up.

Project the recursion onto *keys* (`analyse/keys.py`): rows that support each other in a circle have keys that do.
So a row whose key lies on no circle is founded as long as one derivation is left.
Proof: docs/adr/0041.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foreset.analyse.keys import ends_at, joining, key_of, recursive_atoms
from foreset.ir.program import Column, Helper, View
from foreset.ir.rules import Atom, Negation, Rule
from foreset.ir.steps import Circles, Derivation, Derive, Ref, Step
from foreset.ir.strata import Stratum
from foreset.ir.supports import unfolded
from foreset.ir.versions import Version
from foreset.maintain.differentiate import is_recursive, support


@dataclass(frozen=True, slots=True)
class Shield:
    """The key of a recursive view; `needs` and `circles` are relations that steps fill."""

    view: View
    key: tuple[int, ...]  # empty: rules show that no derivation is cyclic, whatever the data

    @property
    def needs(self) -> Helper:
        """Which key needs which: the columns of the head's key, then those of the recursive atom's."""
        return Helper(f"{self.view.name}~needs", _columns(self._kinds * 2))

    @property
    def circles(self) -> Helper:
        """The keys that lie on a circle."""
        return Helper(f"{self.view.name}~circles", _columns(self._kinds))

    @property
    def helpers(self) -> tuple[Helper, ...]:
        """Both, or none."""
        return (self.needs, self.circles) if self.key else ()

    @property
    def _kinds(self) -> list[Column]:
        return [self.view.columns[p] for p in self.key]

    def raised(self) -> tuple[Step, ...]:
        """Find the circles."""
        if not self.key:
            return ()
        needs, circles = (Ref(helper.name, Version.CURRENT) for helper in (self.needs, self.circles))
        rules = tuple(self._needing(rule, atom) for rule, atom in recursive_atoms(self.view))
        return (Derive((Derivation(needs, rules),)), Circles(circles, needs))

    def holding(self) -> tuple[Rule, ...]:
        """The rules that hold a row: over what is left, through no recursion where the key lies on a circle."""
        own = frozenset((self.view.name,))
        rules = ((rule, support(rule, own)) for rule in self.view.rules)
        return tuple(self.guarded(found) if is_recursive(rule, own) else found for rule, found in rules)

    def guarded(self, rule: Rule) -> Rule:
        """`rule` for those rows whose key lies on no circle."""
        if not self.key:
            return rule
        return replace(rule, body=(*rule.body, Negation(self.turning(rule.head))))

    def turning(self, row: Atom) -> Atom:
        """That the key of a row lies on a circle."""
        return Atom(self.circles.name, tuple(row.args[p] for p in self.key), version=Version.CURRENT)

    def _needing(self, rule: Rule, atom: Atom) -> Rule:
        ends = ends_at(rule, atom, self.key)
        body = tuple(replace(lower, version=Version.KEPT) for lower in joining(rule, ends) or ())
        return replace(rule, head=Atom(self.needs.name, ends, version=Version.CURRENT), body=body)


def shield_of(stratum: Stratum) -> Shield | None:
    """The shield of a stratum; None where there is no key."""
    views = unfolded(stratum.views)
    if not stratum.recursive or len(views) != 1:
        return None
    (view,) = views
    if not stratum.cyclic:
        return Shield(view, ())
    key = key_of(view)
    return None if key is None else Shield(view, key)


def _columns(kinds: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(Column(f"c{i}", column.type) for i, column in enumerate(kinds))
