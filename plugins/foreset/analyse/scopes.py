"""What the variables of a set are: gathered, local, or those by which is grouped. On rules as written.

A group has its value from the body of the set, or from the rule around it, as `A` in
`o(I, A), N = count{J | o(J, B), B > A}`: then it is an *outer* variable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from foreset.analyse.binding import bound_as_written
from foreset.diagnostics import Span
from foreset.ir.renaming import nameless
from foreset.ir.rules import Aggregated, Atom, Literal, Rule, SetOf, literal_variables
from foreset.ir.terms import Var, names_in, variables
from foreset.ir.text import print_literal


def with_groups(rule: Rule) -> Rule:
    """The rule with what each of its sets groups by; a set whose name is used as a value is collected under it."""
    if not rule.sets:
        return rule
    sets = [_valued(one, rule) for one in rule.sets]
    rule = replace(rule, sets=tuple(sets))
    short = {i: _settled(one, named_beside(one, rule)) for i, one in enumerate(sets) if one.local}
    braces = {name for one in short.values() for name in one.groups}
    long = {i: _settled(one, braces | named_beside(one, rule)) for i, one in enumerate(sets) if not one.local}
    return replace(rule, sets=tuple((short | long)[i] for i in range(len(sets))))


def given(one: SetOf) -> frozenset[str]:
    """The variables that a set gives a value to: those it groups by, but for the outer ones, and its results."""
    return (frozenset(one.groups) - set(one.outer)) | names_in(*(made.result for made in one.aggregates))


def gathered_and_used(one: SetOf, rule: Rule) -> Iterator[tuple[str, Span | None]]:
    """Variables that braces gather and the rest of the rule uses, though nothing there gives them a value."""
    if one.local:
        gathered = names_in(*one.elements) - set(one.groups)
        places = _outside(rule)
        for name in sorted(gathered & named_beside(one, rule) - _bound_elsewhere(one, rule)):
            yield name, places.get(name)


def in_order(body: Collection[Literal]) -> tuple[Literal, ...]:
    """Literals in an order that neither names of variables nor the order of the text change."""
    return tuple(sorted(body, key=lambda one: (not isinstance(one, Atom), print_literal(nameless(one)))))


def _settled(one: SetOf, beside: Collection[str]) -> SetOf:
    """The set with its groups, in an order that names do not change; `beside` are the variables that the rest names."""
    inside, gathered = bound_as_written(one.body), names_in(*one.elements)
    named = dict.fromkeys(v.name for literal in in_order(one.body) for v in literal_variables(literal))
    may = [name for name in named if name not in gathered and _may_group(name, one)]
    compared = [name for name in may if name in beside and name not in inside]
    bare = names_in(*(term for term in one.elements if isinstance(term, Var))) | bound_as_written(one.body, compared)
    used = dict.fromkeys(v.name for term in one.elements for v in variables(term))
    computed = [name for name in used if name in beside and name not in bare and _may_group(name, one)]
    known = bound_as_written(one.body, (*compared, *computed))
    groups = [name for name in may if name in compared or (name in known and (name in beside or not one.local))]
    return replace(one, groups=(*groups, *computed), outer=(*compared, *computed))


def _may_group(name: str, one: SetOf) -> bool:
    return name[0] != "_" and name not in one.free


def _outside(rule: Rule) -> dict[str, Span | None]:
    """The variables of head, plain literals and calls, and of what aggregates are compared with."""
    found: dict[str, Span | None] = {}
    for literal in (rule.head, *rule.body):
        for var in literal_variables(literal):
            found.setdefault(var.name, var.span)
    terms = [term for call in rule.calls for term in (*call.args, *call.outputs)]
    terms += [made.result for one in rule.sets for made in one.aggregates]
    for var in (var for term in terms for var in variables(term)):
        found.setdefault(var.name, var.span)
    return found


def named_beside(one: SetOf, rule: Rule) -> frozenset[str]:
    """What the rest of the rule names: a `setof` shows its variables and its name, braces keep theirs."""
    shown = {name for other in rule.sets if other is not one and not other.local for name in _read(other)}
    names = {other.var.name for other in rule.sets if other is not one and not other.local}
    return frozenset(_outside(rule).keys() | shown | names)


def _read(one: SetOf) -> Iterator[str]:
    """The variables of the body that are not local for sure."""
    hidden = names_in(*one.elements)
    names = (v.name for literal in one.body for v in literal_variables(literal))
    return (name for name in names if name not in hidden and _may_group(name, one))


def _bound_elsewhere(one: SetOf, rule: Rule) -> set[str]:
    """Variables to which something outside of the set gives a value: then the two are simply two."""
    found = set(bound_as_written(rule.body))
    found |= {name for call in rule.calls for output in call.outputs for name in names_in(output)}
    found |= {name for other in rule.sets if other is not one for name in given(other)}
    return found | names_in(*(made.result for made in one.aggregates))


def _valued(one: SetOf, rule: Rule) -> SetOf:
    """A set whose own name is used as a value is collected under that name."""
    used = {*_outside(rule), *(name for other in rule.sets if other is not one for name in _read(other))}
    if one.local or one.var.name not in used or any(made.result == one.var for made in one.aggregates):
        return one
    return replace(one, aggregates=(*one.aggregates, Aggregated("collect", (), one.var, one.span)))
