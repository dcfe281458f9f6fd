"""`deny`: which bindings of a body hold in the new state, all of them or those that the change has made.

Nothing is kept: what a body derives should stay empty. A body that no binding matched before can
be matched only where one of its literals has become true, and those bindings are what the
insertions of Algorithm 1 give, as for a view that was empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreset.ir.program import Column, Helper
from foreset.ir.rules import Rule
from foreset.ir.steps import Derivation, Derive, Phase, Procedure, Ref, Step
from foreset.ir.versions import Version
from foreset.maintain.differentiate import evaluation, insertions

_NONE: frozenset[str] = frozenset()  # no relation is at work here: all that a body reads is finished


def denied(rule: Rule) -> Ref:
    """Where the offending bindings are found."""
    return Ref(rule.head.relation, Version.INS)


def deny(rule: Rule, columns: Sequence[Column], *, whole: bool) -> Procedure:
    """Translate a body: over the whole new state, or from what has changed."""
    rules: list[Rule] = []
    steps: list[Step] = []
    helpers = [Helper(rule.head.relation, tuple(columns))]
    if whole:
        rules.append(evaluation(rule, _NONE, Version.NEW, Version.INS))
    for variant in () if whole else insertions(rule, _NONE):
        rules.append(variant.rule)
        if variant.flip.helper is not None and variant.flip.relation is not None:
            steps.append(Derive((variant.flip.helper,)))
            helpers.append(variant.flip.relation)
    steps.append(Derive((Derivation(denied(rule), tuple(rules)),)))
    return Procedure("deny", (), (Phase("deny", tuple(steps)),), tuple(helpers))
