"""What gives the variables of a rule as written their values: relations, sets, assignments and calls.

From this comes the part of a rule that gives a value to some of its variables, which is all that a call is asked
for, or that a set takes from outside. It may hold for more than the rule does, never for less: all atoms, the calls
and sets that give those values, and the conditions that cannot fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from foreset.analyse.binding import assigned, bound_by_places
from foreset.analyse.order import can_fail
from foreset.analyse.scopes import given
from foreset.diagnostics import Span
from foreset.ir.functions import fallible
from foreset.ir.rules import (
    Atom,
    Comparison,
    DomainCall,
    Literal,
    Negation,
    Rule,
    SetOf,
    Test,
    literal_variables,
    set_variables,
)
from foreset.ir.terms import Call, Var, names_in, variables

Giver = DomainCall | SetOf | Comparison


class Givers:
    """`by` says what gives each variable its value, None for a relation; relations in `unread` give none."""

    def __init__(self, rule: Rule, unread: Collection[str] = ()) -> None:
        self.rule = rule
        self.atoms = [one for one in rule.body if isinstance(one, Atom) and one.relation not in unread]
        self.by: dict[str, Giver | None] = dict.fromkeys(bound_by_places(self.atoms))
        sets, calls = list(rule.sets), [call for call in rule.calls if not call.negated]
        while self._gathered(sets) or self._assigned() or self._answered(calls):
            pass

    def asked(self, call: DomainCall, head: Atom) -> Rule:
        """The part that gives the arguments of `call` their values, under `head`."""
        givers = self._sources(v.name for arg in call.args for v in variables(arg))
        calls = [one for one in givers if isinstance(one, DomainCall)]
        ready = [one for one in self.rule.sets if all(each in calls for each in self._calls_for(one))]
        sets = [one for one in ready if one in givers or not one.calls]  # not to wait for answers without need
        return self._part(head, givers, sets, call.span)

    def around(self, one: SetOf) -> Rule:
        """The part that gives the outer variables of a set their values."""
        givers = self._sources(one.outer)
        head = Atom("", tuple(map(Var, one.outer)), span=one.span)
        return self._part(head, givers, [each for each in self.rule.sets if each in givers], one.span)

    def _calls_for(self, one: SetOf) -> list[DomainCall]:
        return [source for source in self._sources(one.outer) if isinstance(source, DomainCall)]

    def _part(self, head: Atom, givers: list[Giver], sets: list[SetOf], span: Span | None) -> Rule:
        calls = tuple(call for call in self.rule.calls if call in givers)
        lets = [one for one in givers if isinstance(one, Comparison)]
        known = {*bound_by_places(self.atoms), *(v.name for one in lets for v in literal_variables(one))}
        known |= {name for one in sets for name in (*given(one), *one.groups)}
        known |= {name for call in calls for output in call.outputs for name in names_in(output)}
        body = (*(_read(atom, known) for atom in self.atoms), *self._conditions(lets, known))
        return Rule(head, body, self.rule.name, span=span, sets=tuple(sets), calls=calls)

    # ------------------------------------------------------------ who gives what
    def _gathered(self, waiting: list[SetOf]) -> bool:
        for one in waiting:
            if all(name in self.by for name in one.outer):
                waiting.remove(one)
                for name in given(one):
                    self.by.setdefault(name, one)
                return True
        return False

    def _assigned(self) -> bool:
        for name, literal in assigned(self.rule.body, self.by):
            self.by[name] = literal
            return True
        return False

    def _answered(self, waiting: list[DomainCall]) -> bool:
        for call in waiting:
            if names_in(*call.args) <= self.by.keys():
                waiting.remove(call)
                for output in call.outputs:
                    if isinstance(output, Var) and output.name != "_":
                        self.by.setdefault(output.name, call)
                return True
        return False

    def _sources(self, wanted: Iterable[str]) -> list[Giver]:
        """What gives these variables their values, also by way of others."""
        found, todo, seen = list[Giver](), list(wanted), set[str]()
        while todo:
            name = todo.pop()
            source = self.by.get(name) if name not in seen else None
            seen.add(name)
            if source is not None and source not in found:
                found.append(source)
                todo += _inputs(source)
        return found

    # ------------------------------------------------------------ what holds of it
    def _conditions(self, lets: list[Comparison], known: set[str]) -> Iterator[Literal]:
        """The assignments, and the conditions that can be looked at and cannot fail."""
        for literal in self.rule.body:
            if literal in lets or (not can_fail(literal) and self._readable(literal, known)):
                yield literal

    def _readable(self, literal: Literal, known: set[str]) -> bool:
        inside = {v.name for v in literal_variables(literal)}
        match literal:
            case Comparison() | Test():
                return inside <= known
            case Negation(atom=atom):
                return inside & self._elsewhere(literal) <= known and not any(fallible(arg) for arg in atom.args)
            case _:
                return False

    def _elsewhere(self, literal: Literal) -> set[str]:
        """The variables of all but `literal`."""
        rule = self.rule
        found = {v.name for one in (rule.head, *rule.body) if one is not literal for v in literal_variables(one)}
        found |= {v for call in rule.calls for term in (*call.args, *call.outputs) for v in names_in(term)}
        return found | {v.name for one in rule.sets for v in set_variables(one)}


def _inputs(source: Giver) -> list[str]:
    """The variables that must have a value before."""
    match source:
        case DomainCall(args=args):
            return [v.name for arg in args for v in variables(arg)]
        case SetOf():
            return list(source.outer)
        case Comparison():
            return [v.name for v in literal_variables(source)]


def _read(atom: Atom, known: Collection[str]) -> Atom:
    """The atom without the expressions that can fail, or that wait for other values: they are left to the rule."""
    open_ = (isinstance(arg, Call) and (fallible(arg) or not names_in(arg) <= set(known)) for arg in atom.args)
    return replace(atom, args=tuple(Var("_", a.span) if late else a for a, late in zip(atom.args, open_, strict=True)))
