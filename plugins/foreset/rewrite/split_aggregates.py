"""Rules that aggregate become rules that do not: CReaM's rewriting (paper 001).

`v(X) :- setof(T, phi, S), agg(S, R), rest` becomes

    members(G, T) :- phi                the distinct elements of each set
    groups(G, accumulators)             a row for each group of members (View.aggregation)
    v(X) :- groups(G, ...), R = finish, rest

The first two are hidden views, named by what they hold, so that equal sets share theirs
and the order of rules changes nothing. Members are views of their own only where a step
reads them again: otherwise the view of groups derives their changes on the way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from foreset.analyse import safety, types
from foreset.analyse.aggregates import resolve
from foreset.analyse.binding import bound
from foreset.analyse.derivations import tells_apart
from foreset.analyse.faults import aggregates as faults
from foreset.analyse.order import can_fail
from foreset.analyse.scopes import in_order
from foreset.analyse.supports import blurred
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.aggregates import Accumulator, Aggregation, Definition, Kind, Need, Upkeep, column_labels
from foreset.ir.functions import type_of
from foreset.ir.program import Column, View
from foreset.ir.renaming import numbered, rename_literal, substituted
from foreset.ir.rules import (
    Atom,
    Comparison,
    Literal,
    Rule,
    SetOf,
    literal_terms,
    literal_variables,
    set_variables,
)
from foreset.ir.terms import Var, constants, variables
from foreset.ir.text import print_rule
from foreset.ir.types import BIGINT, Type
from foreset.rewrite.normalise_rules import Schemas, normalise_rule
from foreset.rewrite.type_rules import type_rule

_NOWHERE = Span("", 1, 1)
_UNREAD = Var("_")
_PASSED_ON = ("incremental", "strict", "recompute")


@dataclass(slots=True)
class Splitter:
    """Splits the rules of one program; `made` gathers the hidden views, each once."""

    schemas: Schemas
    definitions: Mapping[str, Definition]
    keys: Mapping[str, tuple[int, ...]]  # places of columns that tell rows apart
    made: dict[str, View] = field(default_factory=dict)

    @property
    def schemas_with_hidden(self) -> Schemas:
        """The columns of everything that a split rule may read."""
        return {**self.schemas, **{view.name: view.columns for view in self.made.values()}}

    def split(self, rule: Rule, strategy: str) -> tuple[Rule, tuple[Diagnostic, ...]]:
        """The rule without its sets; with faults, a rule that is not to be used."""
        if not rule.sets:
            return rule, ()
        body, found = list(rule.body), list[Diagnostic]()
        for one, name in zip(rule.sets, _names_of(rule.sets), strict=True):
            literals, wrong = self._set(one, name, rule, strategy)
            body += literals
            found += wrong
        return replace(rule, body=tuple(body), sets=()), tuple(found)

    def _set(
        self, one: SetOf, name: str, rule: Rule, strategy: str
    ) -> tuple[tuple[Literal, ...], tuple[Diagnostic, ...]]:
        groups = one.groups
        around, wrong = self.split(one.around, strategy) if one.around else (None, ())
        if wrong:
            return (), wrong
        members, wrong = self._members(one, _renamed_apart(around, one), rule)
        if members is None or wrong:
            return (), wrong
        element = tuple(column.type for column in members.columns[len(groups) :])
        needs, literals, wrong = _planned(one, name, element, self.definitions)
        if wrong:
            return (), wrong
        view = self._groups(members, len(groups), tuple(need.accumulator for need in needs), strategy)
        args = (*(Var(name) for name in groups), *(need.shown for need in needs))
        return (Atom(view.name, args, groups=len(groups), span=one.span), *literals), ()

    def _members(
        self, one: SetOf, around: tuple[Literal, ...], rule: Rule
    ) -> tuple[View | None, tuple[Diagnostic, ...]]:
        """The view of distinct elements, in normal form, not yet taken in."""
        groups, read = one.groups, self.schemas_with_hidden
        head = Atom("", (*map(Var, groups), *one.elements), span=one.span)
        normal = normalise_rule(Rule(head, _sorted((*one.body, *around)), rule.name, span=one.span), read)
        known = bound(normal.rule)
        unbound = [v for term in one.elements for v in variables(term) if v.name not in known]
        if unbound:
            first = unbound[0]
            return None, (faults.unbound_in_set(first.name, first.span or one.span or _NOWHERE, sorted(known)),)
        bare = replace(normal.rule, head=replace(head, args=()))
        inferred = types.infer(bare, {**read, "": ()}, normal.pulled)
        typed = type_rule(bare, inferred.types, {**read, "": ()})
        wrong = (*inferred.faults, *types.check(typed, {**read, "": ()}, normal.pulled))
        wrong = wrong or safety.check(bare, normal.pulled)
        if wrong:
            return None, wrong
        kinds = [type_of(arg, inferred.types) for arg in normal.rule.head.args]
        labels = (*(f"g{i}" for i in range(len(groups))), *(f"e{i}" for i in range(len(one.elements))))
        columns = tuple(Column(label, kind) for label, kind in zip(labels, kinds, strict=True) if kind is not None)
        name = f"{_first_relation(one)}~members_{_digest(_meaning(numbered(normal.rule)))}"
        schemas = {**read, name: columns}
        final = type_rule(replace(normal.rule, head=replace(normal.rule.head, relation=name)), inferred.types, schemas)
        return View(name, columns, (final,), hidden=True, span=rule.span), ()

    def _groups(self, members: View, groups: int, accumulators: tuple[Accumulator, ...], strategy: str) -> View:
        """The view of groups; it and, where it is read again, the view of members are taken in."""
        kept = all(each.upkeep is Upkeep.INVERTIBLE for each in accumulators)
        stored = not (kept and self._one_derivation(members))
        element = tuple(column.type for column in members.columns[groups:])
        aggregation = Aggregation(groups, accumulators, members.name, element, stored)
        labels = column_labels(accumulators)
        held = tuple(Column(label, each.type) for label, each in zip(labels, accumulators, strict=True))
        mark = _digest([members.name, str(groups), *map(repr, accumulators)])
        name = f"{members.name.partition('~')[0]}~groups_{mark}"
        passed = strategy if strategy in _PASSED_ON else "auto"
        rule = _identity(members) if stored else members.rules[0]
        view = View(name, (*members.columns[:groups], *held), (rule,), passed, aggregation=aggregation, hidden=True,
                    span=members.span)  # fmt: skip
        if stored:
            self.made.setdefault(members.name, replace(members, strategy=passed))
        return self.made.setdefault(name, view)

    def _one_derivation(self, members: View) -> bool:
        """Every member has one derivation: the head says from which rows it was derived, as they are."""
        return tells_apart(members.rules[0], self.keys) and blurred((members,), self.schemas_with_hidden) is None


# ---------------------------------------------------------------- what is made of a set
@dataclass(frozen=True, slots=True)
class _Held:
    """An accumulator and the argument by which the rule reads it."""

    accumulator: Accumulator
    shown: Var


def _planned(
    one: SetOf, name: str, element: tuple[Type, ...], definitions: Mapping[str, Definition]
) -> tuple[list[_Held], list[Literal], tuple[Diagnostic, ...]]:
    """The accumulators that a set needs, and the literals that finish what is made of them."""
    resolved = [resolve(made, element, definitions, made.span or one.span or _NOWHERE) for made in one.aggregates]
    wrong = tuple(found for found in resolved if isinstance(found, Diagnostic))
    if wrong:
        return [], [], wrong
    plans = [
        (made, found.term, tuple(map(_accumulator, found.needs)))
        for made, found in zip(one.aggregates, resolved, strict=True)
        if not isinstance(found, Diagnostic)
    ]
    members = Accumulator(Kind.MEMBERS, (), BIGINT)
    accumulators = tuple(dict.fromkeys((members, *(each for _, _, used in plans for each in used))))
    shown: dict[Accumulator, Var] = {}
    for made, term, used in plans:
        if isinstance(term, Var) and isinstance(made.result, Var):
            shown.setdefault(used[int(term.name)], made.result)
    labels = dict(zip(accumulators, column_labels(accumulators), strict=True))
    literals: list[Literal] = []
    for made, term, used in plans:
        for place in sorted({int(var.name) for var in variables(term)}):
            shown.setdefault(used[place], Var(f"{name}.{labels[used[place]]}", made.span))
        finish = substituted(term, {str(i): shown[each] for i, each in enumerate(used) if each in shown})
        if finish != made.result:
            literals.append(Comparison("=", made.result, finish, made.span))
    return [_Held(each, shown.get(each, _UNREAD)) for each in accumulators], literals, ()


def _names_of(sets: tuple[SetOf, ...]) -> tuple[str, ...]:
    """A name for each set of a rule, no two alike: `N = count{...}, N = count{...}` has two sets."""
    names = [one.var.name.rstrip(".") for one in sets]
    return tuple(name if name not in names[:i] else f"{name}.{i + 1}" for i, name in enumerate(names))


def _accumulator(need: Need) -> Accumulator:
    return Accumulator(need.kind, need.inputs, need.type, need.parameter, need.fold)


# ---------------------------------------------------------------- shapes and names
def _identity(members: View) -> Rule:
    """The rule by which groups read stored members, in the names of the writer."""
    names: list[str] = []
    for column, arg in zip(members.columns, members.rules[0].head.args, strict=True):
        plain = isinstance(arg, Var) and arg.name not in names
        names.append(arg.name if isinstance(arg, Var) and plain else column.name.upper())
    args = tuple(map(Var, names))
    kinds = {arg.name: column.type for arg, column in zip(args, members.columns, strict=True)}
    atom = Atom(members.name, args)
    return Rule(atom, (atom,), members.rules[0].name, kinds, span=members.span)


def _first_relation(one: SetOf) -> str:
    found = (literal.relation for literal in in_order(one.body) if isinstance(literal, Atom))
    return next(found, "facts")


def _sorted(body: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """Literals in an order that the text does not change, but for what can fail: there the written order counts."""
    return (*in_order([one for one in body if not can_fail(one)]), *(one for one in body if can_fail(one)))


def _renamed_apart(around: Rule | None, one: SetOf) -> tuple[Literal, ...]:
    """What stands around a set, sharing no variables with it but those that group."""
    if around is None:
        return ()
    local = {v.name for v in set_variables(one)} - {*one.groups, "_"}
    names = {v.name for literal in around.body for v in literal_variables(literal)}
    apart = {name: f"{name}.around" for name in names & local}
    return tuple(rename_literal(literal, apart) for literal in around.body)


def _meaning(rule: Rule) -> list[str]:
    """The rule's text, and the types of its constants, which the text leaves open."""
    terms = (term for literal in (rule.head, *rule.body) for term in literal_terms(literal))
    return [print_rule(rule), *(str(const.type) for term in terms for const in constants(term))]


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
