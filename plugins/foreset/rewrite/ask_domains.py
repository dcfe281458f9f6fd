"""Calls of domains become atoms over relations that hold what was asked and answered.

    v(X, Y) :- person(X), in(Y, facedb:find(X))

becomes

    facedb~find~asks(X)   :- person(X)                      what has to be asked
    facedb~find(X, Y)     :- facedb~find~asks(X)            what is answered (View.called)
    v(X, Y)               :- person(X), facedb~find(X, Y)

The first is a hidden view like any other. The second is filled by the refresh, which asks the domain; it has its
exact differential too, so whatever reads it is maintained as if a source had changed.

What a call asks may be more than it needs, never less: all atoms of its rule, the calls that bind its arguments, and
the conditions that cannot fail.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from foreset.analyse.constrained import bound_variables
from foreset.analyse.faults import domains as faults
from foreset.analyse.faults.constrained import unbound_member
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.functions import fallible
from foreset.ir.program import Column, View
from foreset.ir.renaming import numbered
from foreset.ir.rules import (
    Atom,
    Comparison,
    DomainCall,
    Literal,
    Negation,
    Rule,
    Test,
    literal_variables,
    set_variables,
)
from foreset.ir.terms import Term, Var, names_in, variables
from foreset.ir.text import print_term
from foreset.rewrite.order import can_fail

MEMBER = "~"  # ends the name of a view that is kept by constraints and asked as if it were a domain
_NOWHERE = Span("", 1, 1)
Names = frozenset[str]


def answers_name(called: str) -> str:
    """The relation of what `domain:function` was asked and answered."""
    return called.replace(":", "~")


def asks_name(called: str) -> str:
    """The relation of the arguments that rules ask for."""
    return f"{answers_name(called)}~asks"


def plain_words(found: Diagnostic) -> Diagnostic:
    """A diagnostic with `domain:function` for the relations that stand for it."""
    return replace(found, message=_plain(found.message), hint=_plain(found.hint))


def _plain(text: str) -> str:
    text = re.sub(r"`([a-z][a-z0-9_]*)~:[0-9_]+`", r"`\1`", text)
    text = re.sub(r"`([a-z][a-z0-9_]*)~~[0-9_]+(~asks)?\b", r"`\1", text)
    return re.sub(r"`([a-z][a-z0-9_]*)~([a-z][a-z0-9_]*)(~asks)?\b", r"`\1:\2", text)


@dataclass(slots=True)
class Asking:
    """The calls of one program: `asked` gathers the rules of what each function is asked, in normal form."""

    domains: dict[str, Domain]
    asked: dict[str, list[Rule]] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)

    @property
    def schemas(self) -> dict[str, tuple[Column, ...]]:
        """The columns of the relations that stand for functions."""
        found: dict[str, tuple[Column, ...]] = {}
        for domain in self.domains.values():
            for function in domain.functions:
                called = f"{domain.name}:{function.name}"
                found |= {answers_name(called): function.columns, asks_name(called): function.args}
        return found

    def with_atoms(self, rule: Rule, *, bound: bool = True) -> tuple[Rule, tuple[Diagnostic, ...]]:
        """The rule with an atom for each of its calls; with faults, a rule that is not to be used.

        `bound` says that arguments must have values: constraints may leave them open.
        """
        body, wrong = list(rule.body), list[Diagnostic]()
        for call in rule.calls:
            found = _function(call, self.domains)
            if isinstance(found, Diagnostic):
                wrong.append(found)
                continue
            literal = _literal(call, found)
            if isinstance(literal, Diagnostic):
                wrong.append(literal)
            else:
                body.append(literal)
        if not wrong and bound:
            wrong += _Order(rule).faults
        return replace(rule, body=tuple(body), calls=()), tuple(wrong)

    def with_members(self, rule: Rule, views: Mapping[str, View]) -> tuple[Rule, tuple[Diagnostic, ...]]:
        """A rule of rows in which an atom of `views`, which are kept by constraints, asks whether its values are in."""
        if not any(isinstance(one, Atom | Negation) and _relation(one) in views for one in rule.body):
            return rule, ()
        known = bound_variables(rule, views)
        plain, calls, wrong = list[Literal](), list(rule.calls), list[Diagnostic]()
        for literal in rule.body:
            if not isinstance(literal, Atom | Negation) or _relation(literal) not in views:
                plain.append(literal)
                continue
            atom = literal if isinstance(literal, Atom) else literal.atom
            if atom.columns is None and len(atom.args) != len(views[atom.relation].columns):
                plain.append(literal)  # a fault, of which analysis tells
                continue
            found = _member(atom, views[atom.relation], known)
            if isinstance(found, Diagnostic):
                wrong.append(found)
                continue
            call, function = found
            calls.append(replace(call, negated=isinstance(literal, Negation)))
            others = self.domains[call.domain].functions if call.domain in self.domains else ()
            if function not in others:
                self.domains[call.domain] = Domain(call.domain, "", (*others, function))
        return replace(rule, body=tuple(plain), calls=tuple(calls)), tuple(wrong)

    def asks(self, rule: Rule) -> Iterator[tuple[str, Rule]]:
        """For each call of a sound rule the rule of what it asks, as written but without calls."""
        order = _Order(rule)
        for call in rule.calls:
            if call.args:
                body = (*_relations(rule), *self._atoms(order.needed(call)), *order.conditions(call))
                head = Atom(asks_name(call.called), call.args, span=call.called_span)
                yield call.called, Rule(head, body, rule.name, span=call.span, sets=rule.sets)

    def _atoms(self, calls: tuple[DomainCall, ...]) -> Iterator[Literal]:
        for call in calls:
            found = _function(call, self.domains)
            assert not isinstance(found, Diagnostic)
            literal = _literal(call, found)
            assert isinstance(literal, Atom)
            yield literal

    def add(self, called: str, rule: Rule | None, span: Span | None) -> None:
        """Take in what a function is asked; equal rules once."""
        rules = self.asked.setdefault(called, [])
        self.spans.setdefault(called, span or _NOWHERE)
        if rule is not None and numbered(rule) not in map(numbered, rules):
            rules.append(rule)

    def views(self) -> tuple[View, ...]:
        """The hidden views: what is asked, and what is answered."""
        made: list[View] = []
        for called, rules in self.asked.items():
            name, _, wanted = called.partition(":")
            function = self.domains[name].function(wanted)
            assert function is not None
            answers, asks, span = answers_name(called), asks_name(called), self.spans[called]
            own = tuple(Var(column.name.upper()) for column in function.columns)
            body = (Atom(asks, own[: len(function.args)]),) if function.args else ()
            if name.endswith(MEMBER):
                body = (*body, Atom(name.removesuffix(MEMBER), ()))  # whose entries it looks at
            kinds = {var.name: column.type for var, column in zip(own, function.columns, strict=True)}
            reading = Rule(Atom(answers, own), body, rules[0].name if rules else "", kinds, span=span)
            if function.args:
                made.append(View(asks, function.args, tuple(rules), hidden=True, span=span))
            made.append(View(answers, function.columns, (reading,), hidden=True, called=called, span=span))
        return tuple(made)


# ---------------------------------------------------------------- one call
def _function(call: DomainCall, domains: Mapping[str, Domain]) -> DomainFunction | Diagnostic:
    span = call.called_span or call.span or _NOWHERE
    domain = domains.get(call.domain)
    if domain is None:
        return faults.unknown_domain(call.domain, replace(span, width=len(call.domain)), domains)
    function = domain.function(call.function)
    if function is None:
        place = replace(span, column=span.column + len(call.domain) + 1, width=len(call.function))
        return faults.unknown_function(call.domain, call.function, place, [one.name for one in domain.functions])
    return function


def _literal(call: DomainCall, function: DomainFunction) -> Atom | Negation | Diagnostic:
    span, names = call.span or _NOWHERE, [column.name for column in function.results]
    if len(call.args) != len(function.args):
        given = [column.name for column in function.args]
        return faults.wrong_arguments(call.called, call.called_span or span, len(call.args), given)
    outputs: tuple[Term, ...]
    if call.places is not None:
        for name, output in zip(call.places, call.outputs, strict=True):
            if name not in names:
                return faults.unknown_result(call.called, name, output.span or span, names)
        given_by_name = dict(zip(call.places, call.outputs, strict=True))
        outputs = tuple(given_by_name.get(name, Var("_", span)) for name in names)
    elif not call.outputs:
        outputs = tuple(Var("_", span) for _ in names)
    elif len(call.outputs) != len(names):
        return faults.wrong_pattern(call.called, span, len(call.outputs), names)
    else:
        outputs = call.outputs
    atom = Atom(answers_name(call.called), (*call.args, *outputs), span=call.span)
    return Negation(atom, call.span) if call.negated else atom


# ---------------------------------------------------------------- rows in views of constraints
def member_of(called: str) -> tuple[str, tuple[int, ...]] | None:
    """The view and its columns that are asked about; None for a function of a domain."""
    name, _, places = called.partition(":")
    if not name.endswith(MEMBER):
        return None
    return name.removesuffix(MEMBER), tuple(int(place) for place in places.split("_"))


def _relation(literal: Atom | Negation) -> str:
    return literal.relation if isinstance(literal, Atom) else literal.atom.relation


def _member(atom: Atom, view: View, known: Collection[str]) -> tuple[DomainCall, DomainFunction] | Diagnostic:
    span = atom.span or _NOWHERE
    args = dict(enumerate(atom.args))
    if atom.columns is not None:
        at = {column.name: i for i, column in enumerate(view.columns)}
        args = {at[name]: arg for name, arg in zip(atom.columns, atom.args, strict=True) if name in at}
    places = [i for i, arg in sorted(args.items()) if names_in(arg) <= set(known) - {"_"}]
    if not places:
        return unbound_member(view.name, span)
    label = "_".join(map(str, places))
    function = DomainFunction(label, tuple(view.columns[i] for i in places), ())
    call = DomainCall(f"{view.name}{MEMBER}", label, tuple(args[i] for i in places), span=span, called_span=span)
    return call, function


# ---------------------------------------------------------------- what binds what
class _Order:
    """Which variables have a value before which call, and by what."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.by: dict[str, DomainCall | Comparison | None] = dict.fromkeys(_bound_by_relations(rule))
        waiting = [call for call in rule.calls if not call.negated]
        settled = False
        while not settled:
            settled = not (self._assigned() or self._answered(waiting))

    @property
    def faults(self) -> list[Diagnostic]:
        """The arguments that nothing binds."""
        found: dict[str, Diagnostic] = {}
        for call in self.rule.calls:
            for arg in call.args:
                for var in variables(arg):
                    if var.name not in self.by or var.name == "_":
                        span = var.span or call.span or _NOWHERE
                        found.setdefault(var.name, faults.unbound_argument(call.called, print_term(var), span))
        return list(found.values())

    def _assigned(self) -> bool:
        for literal in self.rule.body:
            if isinstance(literal, Comparison) and literal.op == "=":
                for var, term in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(var, Var) and var.name not in self.by and self._known(term):
                        self.by[var.name] = literal
                        return True
        return False

    def _answered(self, waiting: list[DomainCall]) -> bool:
        for call in waiting:
            if all(self._known(arg) for arg in call.args):
                waiting.remove(call)
                for output in call.outputs:
                    if isinstance(output, Var) and output.name != "_":
                        self.by.setdefault(output.name, call)
                return True
        return False

    def _known(self, term: Term) -> bool:
        return names_in(term) <= self.by.keys()

    def _sources(self, call: DomainCall) -> tuple[list[DomainCall], list[Comparison]]:
        """The calls and assignments that give the arguments of `call` their values, also by way of others."""
        calls, lets = list[DomainCall](), list[Comparison]()
        todo = [var.name for arg in call.args for var in variables(arg)]
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            source = self.by.get(name) if name not in seen else None
            seen.add(name)
            if isinstance(source, DomainCall) and source not in calls:
                calls.append(source)
                todo += [var.name for arg in source.args for var in variables(arg)]
            elif isinstance(source, Comparison) and source not in lets:
                lets.append(source)
                todo += [var.name for var in literal_variables(source)]
        return calls, lets

    def needed(self, call: DomainCall) -> tuple[DomainCall, ...]:
        """The calls that bind its arguments, in the order of the text."""
        found, _ = self._sources(call)
        return tuple(one for one in self.rule.calls if one in found)

    def conditions(self, call: DomainCall) -> Iterator[Literal]:
        """The assignments that it needs, and conditions that can be looked at before it and cannot fail."""
        calls, lets = self._sources(call)
        known = set(_bound_by_relations(self.rule)) | {v for one in calls for out in one.outputs for v in names_in(out)}
        known |= {v.name for one in lets for v in literal_variables(one)}
        for literal in self.rule.body:
            if isinstance(literal, Atom):
                continue
            if literal in lets or (not can_fail(literal) and self._readable(literal, known)):
                yield literal

    def _readable(self, literal: Literal, known: set[str]) -> bool:
        match literal:
            case Comparison() | Test():
                return {v.name for v in literal_variables(literal)} <= known
            case Negation(atom=atom):
                inside = {v.name for v in literal_variables(literal)}
                elsewhere = self._elsewhere(literal)
                return inside & elsewhere <= known and not any(fallible(arg) for arg in atom.args)
            case _:
                return False

    def _elsewhere(self, literal: Literal) -> set[str]:
        """The variables of all but `literal`."""
        rule = self.rule
        found = {v.name for one in (rule.head, *rule.body) if one is not literal for v in literal_variables(one)}
        found |= {v for call in rule.calls for term in (*call.args, *call.outputs) for v in names_in(term)}
        return found | {v.name for one in rule.sets for v in set_variables(one)}


def _bound_by_relations(rule: Rule) -> Iterator[str]:
    """Variables that atoms and aggregates bind."""
    for literal in rule.body:
        if isinstance(literal, Atom):
            yield from (arg.name for arg in literal.args if isinstance(arg, Var) and arg.name != "_")
    for one in rule.sets:
        yield from (var.name for var in set_variables(one) if var.name != "_")


def _relations(rule: Rule) -> Iterator[Literal]:
    """The atoms of a rule; an expression in one that can fail is left to the rule itself."""
    for literal in rule.body:
        if isinstance(literal, Atom):
            yield replace(literal, args=tuple(Var("_", arg.span) if fallible(arg) else arg for arg in literal.args))
