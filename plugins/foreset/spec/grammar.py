"""Rule text to `Rule`, as written, with a span on every node.

The automaton of rules.lark calls `_Build` as it goes, so no tree is built. The builder
finds the text at hand, and leaves its faults, in a context variable: one automaton
serves all files and threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.rules import Atom, Comparison, DomainCall, Literal, Negation, Rule, SetOf, Test
from foreset.ir.terms import Call, Const, Term, Var, variables
from foreset.ir.types import BOOLEAN, STRING
from foreset.spec import rule_faults as faults
from foreset.spec.call_parts import CallParts
from foreset.spec.constants import TIMES, moment, negated, number, text_value
from foreset.spec.lalr import Automaton, StopError, Token, compile_grammar
from foreset.spec.set_parts import SetParts, set_name
from foreset.spec.source import Passage
from foreset.spec.syntax import syntax_fault
from foreset.spec.work import (
    RIGHT_OPERATORS,
    WORK,
    Argument,
    Called,
    at,
    begun,
    constant,
    fault,
    more,
    place,
    through,
    work_on,
)

MAX_RULE = 10_000
MAX_NESTING = 40
_CONSTANTS_ELSEWHERE = frozenset(("NULL", "Null", "NONE", "None", "NIL", "Nil", "TRUE", "True", "FALSE", "False"))


def parse_rule(passage: Passage, report: Report, *, flow: bool = False) -> Rule | None:
    """The rule in `passage`, which holds one rule without its dot; None, with its faults in `report`.

    `flow` says that it stands in a YAML list in brackets: there commas cut it.
    """
    rule: Rule | None = _parsed(passage, "clause", report, flow=flow)
    return rule


def parse_expression(passage: Passage, report: Report) -> Term | None:
    """The term in `passage`; None, with its faults in `report`."""
    term: Term | None = _parsed(passage, "expression", report, flow=False)
    return term


def _parsed(passage: Passage, start: str, report: Report, *, flow: bool) -> Any:  # noqa: ANN401 - as `start` says
    if len(passage.text) > MAX_RULE:
        report.add(faults.rule_too_long(_first(passage), len(passage.text), MAX_RULE))
        return None
    work = work_on(passage)
    token = WORK.set(work)
    try:
        found = _automaton(start).parse(passage.text)
    except StopError as stop:
        wrong = syntax_fault(passage, stop, flow=flow)
        work.faults = [*(known for known in work.faults if known.span != wrong.span), wrong]
        found = None
    finally:
        WORK.reset(token)
    if isinstance(found, Rule) and not work.faults:
        work.faults.extend(_deep(found, passage.text))
    report.extend(work.faults)
    return None if work.faults else found


@cache
def _automaton(start: str) -> Automaton:
    grammar = Path(__file__).with_name("rules.lark").read_text(encoding="utf-8")
    return compile_grammar(grammar, start, _Build())


def _first(passage: Passage) -> Span:
    start = len(passage.text) - len(passage.text.lstrip())
    return passage.span(start, start + 1)


def _deep(rule: Rule, text: str) -> list[Diagnostic]:
    """The fault of an expression that later passes could not walk down."""
    if sum(map(text.count, "+-*/%(")) <= MAX_NESTING:
        return []
    body = (*rule.body, *(inner for one in rule.sets for inner in one.body))
    level = [term for literal in (rule.head, *body) for term in _terms(literal)]
    level += [term for call in rule.calls for term in (*call.args, *call.outputs)]
    level += [term for one in rule.sets for term in one.elements]
    for _ in range(MAX_NESTING):
        level = [arg for term in level if isinstance(term, Call) for arg in term.args]
    deepest = next((term.span for term in level if term.span), None)
    return [faults.nested_too_deeply(deepest, MAX_NESTING)] if deepest else []


def _terms(literal: Literal) -> Sequence[Term]:
    match literal:
        case Atom(args=args) | Negation(atom=Atom(args=args)):
            return args
        case Comparison(left=left, right=right):
            return left, right
        case Test(call=call):
            return (call,)
        case _:
            return ()


class _Build(SetParts, CallParts):
    """One method for each alternative of rules.lark; children come from left to right."""

    # ------------------------------------------------------------ rules
    def rule(self, parts: list[Any]) -> Rule:
        head, _, body = parts
        head = self._head(head)
        plain = tuple(one for one in body if not isinstance(one, SetOf | DomainCall))
        calls = tuple(one for one in body if isinstance(one, DomainCall))
        return Rule(head, plain, span=through(at(head), at(body[-1])), sets=self._sets(body), calls=calls)

    def fact(self, parts: list[Any]) -> Rule:
        literal = parts[0]
        head = self._head(literal)
        known = WORK.get().gathered
        for arg in head.args:
            for var in variables(arg):
                if var.name not in known:
                    fault(faults.fact_not_ground(var.name, at(var)))
        return Rule(head, (), span=head.span, sets=self._sets([]))

    def empty_body(self, parts: list[Any]) -> Rule:
        fault(faults.empty_body(place(parts[1])))
        return Rule(self._head(parts[0]), (), span=at(parts[0]))

    def _sets(self, body: list[Literal | SetOf | DomainCall]) -> tuple[SetOf, ...]:
        """What the rule gathers: the sets among its literals, then those inside of terms."""
        return (*(one for one in body if isinstance(one, SetOf)), *WORK.get().gathered.values())

    def _head(self, literal: Literal | DomainCall) -> Atom:
        if isinstance(literal, Atom):
            return literal
        backwards = isinstance(literal, Comparison) and literal.op == "<" and isinstance(literal.right, Call)
        hint = (
            "write `:-`, not `<-`" if backwards else "write the head as `view(X, Y) :- ...`, and conditions after `:-`"
        )
        fault(faults.bad_head(at(literal), hint))
        return Atom("", (), span=literal.span)

    literals, more_literals = begun, more

    # ------------------------------------------------------------ literals
    def atom(self, parts: list[Any]) -> Atom:
        called: Called = parts[0]
        return Atom(called.name, called.args, called.columns, span=called.span)

    def negation(self, parts: list[Any]) -> Negation | DomainCall:
        sign, literal = parts
        if isinstance(literal, DomainCall) and not literal.negated:
            return replace(literal, negated=True, span=through(place(sign), at(literal)))
        if isinstance(literal, Atom):
            return Negation(literal, span=through(place(sign), at(literal)))
        hint = "write the opposite comparison: `!=` for `=`, `>=` for `<`"
        if isinstance(literal, SetOf):
            hint = "compute the aggregate in a separate view, and negate that view"
        if isinstance(literal, Negation | DomainCall):
            hint = "remove both: two `not` cancel out"
        fault(faults.negated_comparison(place(sign), hint))
        return Negation(Atom("", ()), span=place(sign))

    def comparison(self, parts: list[Any]) -> Comparison | SetOf:
        left, operator, right = parts
        op = operator.text
        if op in RIGHT_OPERATORS:
            fault(faults.wrong_operator(op, RIGHT_OPERATORS[op], place(operator)))
        gathered = WORK.get().gathered
        if op == "=" and isinstance(left, Var) and isinstance(right, Var) and right.name in gathered:
            found = gathered.pop(right.name)
            made = replace(found.aggregates[0], result=left)
            var = replace(found.var, name=set_name(left))
            return replace(found, var=var, aggregates=(made,), span=through(at(left), at(found)))
        return Comparison(op, left, right, span=through(left.span, right.span))

    # ------------------------------------------------------------ calls
    def call(self, parts: list[Any]) -> Called:
        name: Token = parts[0]
        span = WORK.get().span(name.start, parts[-1].end)
        if name.text in ("NOT", "Not"):
            fault(faults.wrong_negation(name.text, place(name)))
        elif name.type == "VARIABLE":
            fault(faults.capital_relation(name.text, place(name)))
        args = parts[1] if len(parts) > 2 else []
        if not any(type(arg) is Argument for arg in args):
            return Called(name.text, tuple(args), None, span, name)
        named = [arg for arg in args if isinstance(arg, Argument)]
        if len(named) < len(args):
            odd = next(arg for arg in args if not isinstance(arg, Argument))
            fault(faults.mixed_arguments(at(odd)))
        names = [arg.name for arg in named]
        for index, arg in enumerate(named):
            if arg.name in names[:index]:
                fault(faults.argument_twice(arg.name, arg.span))
        return Called(name.text, tuple(arg.term for arg in named), tuple(names), span, name)

    arguments, more_arguments = begun, more

    def named(self, parts: list[Any]) -> Argument:
        name: Token = parts[0]
        if name.type == "VARIABLE":
            fault(faults.capital_column(name.text, place(name)))
        return Argument(name.text, parts[2], place(name))

    def function(self, parts: list[Any]) -> Term:
        called: Called = parts[0]
        if called.columns is not None:
            return fault(faults.named_in_function(called.name, called.span))
        if called.name in TIMES and len(called.args) == 1:
            arg = called.args[0]
            if isinstance(arg, Const) and arg.type == STRING:
                return constant(moment(called.name, str(arg.value), called.span))
        return Call(called.name, called.args, called.span)

    # ------------------------------------------------------------ terms
    def operation(self, parts: list[Any]) -> Call:
        left, operator, right = parts
        return Call(operator.text, (left, right), through(left.span, right.span))

    def negative(self, parts: list[Any]) -> Term:
        sign, term = parts
        span = through(place(sign), term.span)
        found = negated(term, span) if isinstance(term, Const) else None
        return Call("neg", (term,), span) if found is None else constant(found)

    def variable(self, parts: list[Token]) -> Term:
        if parts[0].text in _CONSTANTS_ELSEWHERE:
            return fault(faults.capital_constant(parts[0].text, place(parts[0])))
        return Var(parts[0].text, place(parts[0]))

    def number(self, parts: list[Token]) -> Const:
        return constant(number(parts[0].text, place(parts[0])))

    def text(self, parts: list[Token]) -> Const:
        token = parts[0]
        value, bad = text_value(token.text)
        if bad >= 0:
            start = token.start + bad
            return fault(faults.bad_escape(token.text[bad : bad + 2], WORK.get().span(start, start + 2)))
        return Const(value, STRING, place(token))

    def true(self, parts: list[Token]) -> Const:
        return Const(value=True, type=BOOLEAN, span=place(parts[0]))

    def false(self, parts: list[Token]) -> Const:
        return Const(value=False, type=BOOLEAN, span=place(parts[0]))

    def bare_word(self, parts: list[Token]) -> Const:
        return fault(faults.bare_word(parts[0].text, place(parts[0])))

    def inner(self, parts: list[Any]) -> Term:
        term: Term = parts[0]
        return term
