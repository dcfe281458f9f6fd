"""Sets that depend on nothing around them any more: what each groups by, and where its outer variables come from.

    v(I, N) :- o(I, K, A), N = count{J | o(J, K, B), B > A}

The braces group by K and A, and A has a value outside of them only. So they are made for the values that the rest of
the rule gives: `o(_, K, A)` is what stands *around* the set, and rewrite/split_aggregates joins it to the body.
This comes first: the rules that are made of parts of this one (what its calls ask for) take the sets as they are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from foreset.analyse.binding import bound_by_places
from foreset.analyse.faults import aggregates as faults
from foreset.analyse.scopes import gathered_and_used, given, with_groups
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.rules import Atom, Rule, SetOf, set_variables
from foreset.rewrite.givers import Givers

_NOWHERE = Span("", 1, 1)


def settled(rule: Rule, circle: Collection[str]) -> tuple[Rule, tuple[Diagnostic, ...]]:
    """The rule with `groups` and `around` of its sets; `circle` names the views that wait for the rule's own."""
    rule = with_groups(rule)
    wrong = tuple(fault for one in rule.sets for fault in _faults(one, rule))
    if wrong or not any(one.outer for one in rule.sets):
        return rule, wrong
    givers = Givers(rule, circle)
    wrong = tuple(fault for one in rule.sets if (fault := _without_value(one, rule, givers)))
    if wrong:
        return rule, wrong
    return replace(rule, sets=tuple(_with_around(one, givers) for one in rule.sets)), ()


def _with_around(one: SetOf, givers: Givers) -> SetOf:
    if not one.outer:
        return one
    part = givers.around(one)
    return replace(one, around=replace(part, sets=tuple(_with_around(each, givers) for each in part.sets)))


def _faults(one: SetOf, rule: Rule) -> list[Diagnostic]:
    found = [faults.local_variable(name, span or one.span or _NOWHERE) for name, span in gathered_and_used(one, rule)]
    return found[:1]


def _without_value(one: SetOf, rule: Rule, givers: Givers) -> Diagnostic | None:
    """The first outer variable that nothing around the set gives a value."""
    for name in one.outer:
        if name in givers.by:
            continue
        span = next((v.span for v in set_variables(one) if v.name == name and v.span), one.span or _NOWHERE)
        if any(name in given(each) for each in rule.sets):
            return faults.needs_itself(name, span)
        recursive = next((a.relation for a in rule.body if isinstance(a, Atom) and name in bound_by_places((a,))), None)
        if recursive is not None:
            return faults.aggregated_recursion(rule.head.relation, recursive, span, ())
        return faults.unbound_outer(name, span, sorted(givers.by))
    return None
