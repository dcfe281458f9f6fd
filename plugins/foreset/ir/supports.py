"""Supports: a derivation of a row as a row of its own (paper 003), one hidden view for each rule.

For `v(X, Y) :- r(X, Z), v(Z, Y)` they are the rows of `v~support_...(X, Y, Z) :- r(X, Z), v(Z, Y)`, and
`v(X, Y) :- v~support_...(X, Y, Z)`. What a derivation stands on is told by its columns, so that following
it is a join. Rules without a relation in the body hold whatever happens; they stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from foreset.ir.program import View
from foreset.ir.rules import Atom, Negation, Rule, literal_variables
from foreset.ir.strata import Stratum
from foreset.ir.terms import Var


@dataclass(frozen=True, slots=True)
class Support:
    """Where the derivations by one rule are kept. Without `shown`, the view itself tells them apart."""

    rule: Rule  # its head names the columns of the supports
    shown: Rule | None  # from a support to the row that it supports

    @property
    def name(self) -> str:
        """The relation of the supports."""
        return self.rule.head.relation


@dataclass(frozen=True, slots=True)
class Footing:
    """What StDel needs of a stratum."""

    supports: tuple[Support, ...]
    fixed: tuple[Rule, ...]  # rules that read nothing


def footing(stratum: Stratum) -> Footing | None:
    """The supports of a stratum; None where some rule keeps none."""
    if stratum.aggregation or stratum.own_way or stratum.blurred:
        return None
    by_name = {view.name: view for view in stratum.views}
    supports, fixed = list[Support](), list[Rule]()
    for view in stratum.views:
        for rule in view.rules:
            between = _between(rule, by_name)
            if view.supports:
                continue
            if between is not None:
                supports.append(Support(between, rule))
            elif not reads_relations(rule):
                fixed.append(rule)
            elif view.rules == (rule,) and _tells_apart(rule, view) and not _reads(rule, by_name):
                supports.append(Support(rule, None))
            else:
                return None
    return Footing(tuple(supports), tuple(fixed))


def unfolded(views: Iterable[View]) -> tuple[View, ...]:
    """The views without supports between them and their rules, as they were written."""
    found = tuple(views)
    by_name = {view.name: view for view in found}

    def whole(rule: Rule) -> Rule:
        between = _between(rule, by_name)
        return rule if between is None else replace(between, head=rule.head)

    return tuple(replace(view, rules=tuple(map(whole, view.rules))) for view in found if not view.supports)


def reads_relations(rule: Rule) -> bool:
    """Whether something can end its derivations."""
    return any(isinstance(literal, Atom | Negation) for literal in rule.body)


def _between(rule: Rule, by_name: dict[str, View]) -> Rule | None:
    """The rule of the supports that `rule` shows; None where it shows none."""
    match rule.body:
        case (Atom(relation=name),) if name in by_name and by_name[name].supports == rule.head.relation:
            return by_name[name].rules[0]
        case _:
            return None


def _tells_apart(rule: Rule, view: View) -> bool:
    """Whether the head shows all that the body binds, once and as it is: then no row has two derivations."""
    pairs = [(arg.name, column.type) for arg, column in zip(rule.head.args, view.columns, strict=True)
             if isinstance(arg, Var)]  # fmt: skip
    shown = {name for name, kind in pairs if rule.types[name] == kind}
    body = {v.name for literal in rule.body if not isinstance(literal, Negation) for v in literal_variables(literal)}
    return len(pairs) == len(shown) and body <= shown


def _reads(rule: Rule, by_name: dict[str, View]) -> bool:
    return any(isinstance(literal, Atom) and literal.relation in by_name for literal in rule.body)
