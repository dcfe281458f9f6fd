"""The helpers behind changed negations, gathered while rules are written."""

from __future__ import annotations

from dataclasses import dataclass, field

from foreset.ir.program import Helper
from foreset.ir.rules import Rule
from foreset.ir.steps import Derivation, Derive, Step
from foreset.maintain.differentiate import Flip


@dataclass(slots=True)
class Flips:
    """Collects helpers; `taken` gives the step that derives those not derived yet."""

    _all: dict[str, Helper] = field(default_factory=dict)
    _pending: dict[str, Derivation] = field(default_factory=dict)

    def noted(self, rule: Rule, flip: Flip | None) -> Rule:
        """Return `rule`, and remember the helper that it needs."""
        if flip and flip.helper and flip.relation and flip.relation.name not in self._all:
            self._all[flip.relation.name] = flip.relation
            self._pending[flip.relation.name] = flip.helper
        return rule

    def taken(self) -> tuple[Step, ...]:
        """One step for all helpers noted since the last call; none when there are none."""
        pending, self._pending = tuple(self._pending.values()), {}
        return (Derive(pending),) if pending else ()

    @property
    def helpers(self) -> tuple[Helper, ...]:
        """Every helper, in the order of first need."""
        return tuple(self._all.values())
