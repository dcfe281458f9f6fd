"""Calls of domains become atoms over relations that hold what was asked and answered.

    v(X, Y) :- person(X), in(Y, facedb:find(X))

becomes

    facedb~find~asks(X)   :- person(X)                      what has to be asked
    facedb~find(X, Y)     :- facedb~find~asks(X)            what is answered (View.called)
    v(X, Y)               :- person(X), facedb~find(X, Y)

The first is a hidden view like any other. The second is filled by the refresh, which asks the domain; it has its
exact differential too, so whatever reads it is maintained as if a source had changed.

What a call asks may be more than it needs, never less (rewrite/givers.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from foreset.analyse.constrained import bound_variables
from foreset.analyse.faults import domains as faults
from foreset.analyse.faults.constrained import unbound_in_braces, unbound_member
from foreset.analyse.scopes import named_beside
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.asked import MEMBER, answers_name, asks_name, held_name, in_plain_words
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.program import Column, View
from foreset.ir.renaming import numbered
from foreset.ir.rules import Atom, DomainCall, Literal, Negation, Rule, SetOf, literal_variables
from foreset.ir.terms import Term, Var, names_in, variables
from foreset.ir.text import print_term
from foreset.rewrite.givers import Givers
from foreset.rewrite.held_back import answered, held_atom, held_columns

_NOWHERE = Span("", 1, 1)


def plain_words(found: Diagnostic) -> Diagnostic:
    """A diagnostic with `domain:function` for the relations that stand for it."""
    return replace(found, message=in_plain_words(found.message), hint=in_plain_words(found.hint))


@dataclass(slots=True)
class Asking:
    """The calls of one program: `asked` gathers the rules of what each function is asked, in normal form."""

    domains: dict[str, Domain]
    asked: dict[str, list[Rule]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)  # functions of `not in(...)` that may fail for some arguments
    spans: dict[str, Span] = field(default_factory=dict)

    @property
    def schemas(self) -> dict[str, tuple[Column, ...]]:
        """The columns of the relations that stand for functions."""
        found: dict[str, tuple[Column, ...]] = {}
        for domain in self.domains.values():
            for function in domain.functions:
                called = f"{domain.name}:{function.name}"
                found |= {answers_name(called): function.columns, asks_name(called): function.args}
                found[held_name(called)] = held_columns(function)
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
                continue
            body.append(literal)
            if bound and call.negated and found.on_error == "keep":
                self.denied.add(call.called)
                body.append(answered(call))
        if not wrong and bound:
            wrong += _unbound(rule)
        sets = tuple(self._with_answers(one) for one in rule.sets) if not wrong else rule.sets
        return replace(rule, body=tuple(body), calls=(), sets=sets), tuple(wrong)

    def _with_answers(self, one: SetOf) -> SetOf:
        """The set with atoms for its calls, and for those that give it outer variables: of a rule that is sound."""
        around = None if one.around is None else self.with_atoms(one.around)[0]
        if not one.calls:
            return one if around is None else replace(one, around=around)
        inside, _ = self.with_atoms(Rule(Atom("", ()), one.body, calls=one.calls), bound=False)
        return replace(one, body=inside.body, calls=(), around=around)

    def with_members(self, rule: Rule, views: Mapping[str, View]) -> tuple[Rule, tuple[Diagnostic, ...]]:
        """A rule of rows in which an atom of `views`, which are kept by constraints, asks whether its values are in."""
        sets, wrong = list[SetOf](), list[Diagnostic]()
        for one in rule.sets:
            inside, faults_ = self._members_inside(one, rule, views)
            sets.append(inside)
            wrong += faults_
        plain, calls, faults_ = self._asked_whether_in(rule.body, bound_variables(rule, views), views)
        return replace(rule, body=plain, calls=(*rule.calls, *calls), sets=tuple(sets)), (*wrong, *faults_)

    def _members_inside(
        self, one: SetOf, rule: Rule, views: Mapping[str, View]
    ) -> tuple[SetOf, tuple[Diagnostic, ...]]:
        """The same inside of a set, where its own literals give values; a filter does not group."""
        known = bound_variables(Rule(Atom("", ()), one.body), views)
        plain, calls, wrong = self._asked_whether_in(one.body, known, views)
        if not calls or wrong:
            return one, wrong
        settled = {*known, *(v.name for literal in plain for v in literal_variables(literal)), *one.free}
        outside = named_beside(one, rule) if one.local else None
        for literal in one.body:
            for var in literal_variables(literal):
                if var.name not in settled and var.name[0] != "_" and (outside is None or var.name in outside):
                    return one, (unbound_in_braces(var.name, var.span or one.span or _NOWHERE),)
        return replace(one, body=plain, calls=calls), ()

    def _asked_whether_in(
        self, body: tuple[Literal, ...], known: Collection[str], views: Mapping[str, View]
    ) -> tuple[tuple[Literal, ...], tuple[DomainCall, ...], tuple[Diagnostic, ...]]:
        """The literals without atoms of `views`, and the calls that stand for those."""
        plain, calls, wrong = list[Literal](), list[DomainCall](), list[Diagnostic]()
        for literal in body:
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
        return tuple(plain), tuple(calls), tuple(wrong)

    def asks(self, rule: Rule) -> Iterator[tuple[str, Rule]]:
        """For each call of a sound rule the rule of what it asks, as written but without calls."""
        givers = Givers(rule)
        for call in rule.calls:
            if call.args:
                head = Atom(asks_name(call.called), call.args, span=call.called_span)
                yield call.called, self.with_atoms(givers.asked(call, head))[0]
        for one in rule.sets:
            for call in one.calls:
                head = Atom(asks_name(call.called), call.args, span=call.called_span)
                yield call.called, Givers(Rule(head, one.body, rule.name, span=rule.span)).asked(call, head)

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
            if called in self.denied:
                waiting = replace(reading, head=held_atom(called, own[: len(function.args)]), body=(reading.head,))
                name, places = waiting.head.relation, held_columns(function)
                made.append(View(name, places, (waiting,), hidden=True, called=called, span=span))
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


def _unbound(rule: Rule) -> list[Diagnostic]:
    """The arguments of calls that nothing gives a value."""
    given, found = Givers(rule).by, dict[str, Diagnostic]()
    for call in rule.calls:
        for var in (var for arg in call.args for var in variables(arg)):
            if var.name not in given or var.name == "_":
                span = var.span or call.span or _NOWHERE
                found.setdefault(var.name, faults.unbound_argument(call.called, print_term(var), span))
    return list(found.values())


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
