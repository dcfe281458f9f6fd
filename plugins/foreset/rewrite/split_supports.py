"""Views that declare `strategy: stdel` get a hidden view of supports for each rule (ir/supports.py).

Where no row of a view can have two derivations, the view is its own support, and nothing is stored beside it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from foreset.ir.program import SUPPORTED, Column, View
from foreset.ir.renaming import nameless, numbered
from foreset.ir.rules import Atom, Literal, Negation, Rule, literal_variables
from foreset.ir.strata import Layering, Stratum
from foreset.ir.supports import footing, reads_relations
from foreset.ir.terms import Const, Term, Var
from foreset.ir.text import print_literal, print_rule
from foreset.ir.types import BOOLEAN


def split_supports(views: tuple[View, ...], layers: Layering) -> tuple[View, ...]:
    """The views, of which those that declare it read their supports; these come at the end."""
    wanted = {name for stratum in layers.strata if _wants(stratum) for name in stratum.names}
    if not wanted:
        return views
    made: dict[str, View] = {}
    found = tuple(_split(view, made) if view.name in wanted else view for view in views)
    return (*found, *made.values())


def _wants(stratum: Stratum) -> bool:
    declared = stratum.views[0].strategy in SUPPORTED
    return declared and not stratum.own_way and footing(stratum) is None


def _split(view: View, made: dict[str, View]) -> View:
    rules: dict[str, Rule] = {}
    for rule in view.rules:
        if reads_relations(rule):
            name, shown = _supported(rule, view, made)
            rules.setdefault(name, shown)  # of rules that say the same, one is enough
        else:
            rules[rule.name] = rule
    return replace(view, rules=tuple(rules.values()))


def _supported(rule: Rule, view: View, made: dict[str, View]) -> tuple[str, Rule]:
    """The supports of `rule`, whose view is taken in, and the rule that reads them."""
    shown: tuple[Term, ...] = tuple(map(Var, _shown(rule)))
    columns = tuple(Column(f"v{i}", rule.types[arg.name]) for i, arg in enumerate(shown) if isinstance(arg, Var))
    if not shown:  # one column that is always true, since a relation without columns is hard on readers
        shown, columns = (Const(True, BOOLEAN),), (Column("v0", BOOLEAN),)
    bare = Rule(Atom("", shown), _sorted(rule.body))
    mark = hashlib.sha256(print_rule(numbered(replace(bare, body=(*bare.body, rule.head)))).encode()).hexdigest()[:8]
    name = f"{view.name}~support_{mark}"
    head = Atom(name, shown, span=rule.head.span)
    derived = replace(rule, head=head)
    made.setdefault(name, View(name, columns, (derived,), view.strategy, hidden=True, supports=view.name,
                               engine=view.engine, span=view.span, strategy_span=view.strategy_span))  # fmt: skip
    return name, replace(rule, body=(head,))


def _shown(rule: Rule) -> dict[str, None]:
    """What tells derivations apart, and what ends them: all that atoms bind, and what heads and negations share.

    Their order is that of the head and of a sorted body, so that neither names nor the order of the text matter.
    """
    body = _sorted(rule.body)
    atoms = [v.name for one in body if isinstance(one, Atom) for v in literal_variables(one)]
    others = {v.name for one in rule.body if not isinstance(one, Negation) for v in literal_variables(one)}
    negated = [v.name for one in body if isinstance(one, Negation) for v in literal_variables(one) if v.name in others]
    return dict.fromkeys([*(v.name for v in literal_variables(rule.head)), *atoms, *negated])


def _sorted(body: tuple[Literal, ...]) -> tuple[Literal, ...]:
    return tuple(sorted(body, key=lambda one: (not isinstance(one, Atom), print_literal(nameless(one)))))
