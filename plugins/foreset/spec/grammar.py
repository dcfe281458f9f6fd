"""Rule text to `Rule`, as written, with a span on every node.

The automaton of rules.lark calls `_Build` as it goes, so no tree is built. The builder
finds the text at hand, and leaves its faults, in a context variable: one automaton
serves all files and threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.rules import Atom, Comparison, Literal, Negation, Rule, Test
from foreset.ir.terms import Call, Const, Term, Var, variables
from foreset.ir.types import BOOLEAN, STRING
from foreset.spec import rule_faults as faults
from foreset.spec.constants import TIMES, moment, negated, number, text_value
from foreset.spec.lalr import Automaton, StopError, Token, compile_grammar
from foreset.spec.source import Passage
from foreset.spec.syntax import syntax_fault

MAX_RULE = 10_000
MAX_NESTING = 40
_RIGHT_OPERATORS = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">=", ":=": "=", "=~": "="}
_CONSTANTS_ELSEWHERE = frozenset(("NULL", "Null", "NONE", "None", "NIL", "Nil", "TRUE", "True", "FALSE", "False"))
_NOTHING = Const(0, BOOLEAN)  # stands in for a term that has a fault


@dataclass(slots=True)
class _Work:
    """The text at hand, and the faults found in it."""

    passage: Passage
    faults: list[Diagnostic]
    file: str
    line: int  # of a passage on one line without escapes, else 0
    shift: int

    def span(self, start: int, end: int) -> Span:
        """The place of `text[start:end]`."""
        if self.line:
            return Span(self.file, self.line, self.shift + start, end - start)
        return self.passage.span(start, end)


def _work(passage: Passage) -> _Work:
    first = passage.span(0, 0)
    one_line = passage.offsets is None and "\n" not in passage.text and "\r" not in passage.text
    return _Work(passage, [], first.file, first.line if one_line else 0, first.column)


_WORK: ContextVar[_Work] = ContextVar("work")


class _Argument(NamedTuple):
    """`name=term` among arguments."""

    name: str
    term: Term
    span: Span


class _Called(NamedTuple):
    """`name(arguments)`: a relation or a function, as its place will tell."""

    name: str
    args: tuple[Term, ...]
    columns: tuple[str, ...] | None
    span: Span


def parse_rule(passage: Passage, report: Report, *, flow: bool = False) -> Rule | None:
    """The rule in `passage`, which holds one rule without its dot; None, with its faults in `report`.

    `flow` says that it stands in a YAML list in brackets: there commas cut it.
    """
    if len(passage.text) > MAX_RULE:
        report.add(faults.rule_too_long(_first(passage), len(passage.text), MAX_RULE))
        return None
    work = _work(passage)
    token = _WORK.set(work)
    try:
        rule: Rule | None = _automaton().parse(passage.text)
    except StopError as stop:
        fault = syntax_fault(passage, stop, flow=flow)
        work.faults = [*(known for known in work.faults if known.span != fault.span), fault]
        rule = None
    finally:
        _WORK.reset(token)
    if rule is not None and not work.faults:
        work.faults.extend(_deep(rule, passage.text))
    report.extend(work.faults)
    return None if work.faults else rule


@cache
def _automaton() -> Automaton:
    grammar = Path(__file__).with_name("rules.lark").read_text(encoding="utf-8")
    return compile_grammar(grammar, "clause", _Build())


def _first(passage: Passage) -> Span:
    start = len(passage.text) - len(passage.text.lstrip())
    return passage.span(start, start + 1)


def _deep(rule: Rule, text: str) -> list[Diagnostic]:
    """The fault of an expression that later passes could not walk down."""
    if sum(map(text.count, "+-*/%(")) <= MAX_NESTING:
        return []
    level = [term for literal in (rule.head, *rule.body) for term in _terms(literal)]
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


def _through(first: Span, last: Span) -> Span:
    """From the start of `first` to the end of `last`, as far as its line goes."""
    if first.line != last.line:
        return first
    return Span(first.file, first.line, first.column, last.column + last.width - first.column)


def _place(token: Token) -> Span:
    return _WORK.get().span(token.start, token.end)


def _fault(diagnostic: Diagnostic) -> Const:
    _WORK.get().faults.append(diagnostic)
    return replace(_NOTHING, span=diagnostic.span)


def _constant(found: Const | Diagnostic) -> Const:
    return found if isinstance(found, Const) else _fault(found)


def _at(node: Term | Literal) -> Span:
    assert node.span is not None
    return node.span


class _Build:
    """One method for each alternative of rules.lark; children come from left to right."""

    # ------------------------------------------------------------ rules
    def rule(self, parts: list[Any]) -> Rule:
        head, _, body = parts
        head = self._head(head)
        return Rule(head, tuple(body), span=_through(_at(head), _at(body[-1])))

    def fact(self, parts: list[Any]) -> Rule:
        literal = parts[0]
        head = self._head(literal)
        for arg in head.args:
            for var in variables(arg):
                _fault(faults.fact_not_ground(var.name, _at(var)))
        return Rule(head, (), span=head.span)

    def empty_body(self, parts: list[Any]) -> Rule:
        _fault(faults.empty_body(_place(parts[1])))
        return Rule(self._head(parts[0]), (), span=_at(parts[0]))

    def _head(self, literal: Literal) -> Atom:
        if isinstance(literal, Atom):
            return literal
        backwards = isinstance(literal, Comparison) and literal.op == "<" and isinstance(literal.right, Call)
        hint = "write `:-`, not `<-`" if backwards else "write it as `view(X, Y) :- ...`; conditions belong to the body"
        _fault(faults.bad_head(_at(literal), hint))
        return Atom("", (), span=literal.span)

    def literals(self, parts: list[Any]) -> list[Literal]:
        return parts

    def more_literals(self, parts: list[Any]) -> list[Literal]:
        before: list[Literal] = parts[0]
        before.append(parts[1])
        return before

    # ------------------------------------------------------------ literals
    def atom(self, parts: list[Any]) -> Atom:
        called: _Called = parts[0]
        return Atom(called.name, called.args, called.columns, span=called.span)

    def negation(self, parts: list[Any]) -> Negation:
        sign, literal = parts
        if isinstance(literal, Atom):
            return Negation(literal, span=_through(_place(sign), _at(literal)))
        hint = "turn the comparison round: `!=` for `=`, `>=` for `<`"
        if isinstance(literal, Negation):
            hint = "remove both: twice `not` is nothing"
        _fault(faults.negated_comparison(_place(sign), hint))
        return Negation(Atom("", ()), span=_place(sign))

    def comparison(self, parts: list[Any]) -> Comparison:
        left, operator, right = parts
        op = operator.text
        if op in _RIGHT_OPERATORS:
            _fault(faults.wrong_operator(op, _RIGHT_OPERATORS[op], _place(operator)))
        return Comparison(op, left, right, span=_through(left.span, right.span))

    # ------------------------------------------------------------ calls
    def call(self, parts: list[Any]) -> _Called:
        name: Token = parts[0]
        span = _WORK.get().span(name.start, parts[-1].end)
        if name.type == "VARIABLE":
            _fault(faults.capital_relation(name.text, _place(name)))
        args = parts[1] if len(parts) > 2 else []
        if not any(type(arg) is _Argument for arg in args):
            return _Called(name.text, tuple(args), None, span)
        named = [arg for arg in args if isinstance(arg, _Argument)]
        if len(named) < len(args):
            odd = next(arg for arg in args if not isinstance(arg, _Argument))
            _fault(faults.mixed_arguments(_at(odd)))
        names = [arg.name for arg in named]
        for index, arg in enumerate(named):
            if arg.name in names[:index]:
                _fault(faults.argument_twice(arg.name, arg.span))
        return _Called(name.text, tuple(arg.term for arg in named), tuple(names), span)

    def arguments(self, parts: list[Any]) -> list[Term | _Argument]:
        return parts

    def more_arguments(self, parts: list[Any]) -> list[Term | _Argument]:
        before: list[Term | _Argument] = parts[0]
        before.append(parts[1])
        return before

    def named(self, parts: list[Any]) -> _Argument:
        name: Token = parts[0]
        if name.type == "VARIABLE":
            _fault(faults.capital_column(name.text, _place(name)))
        return _Argument(name.text, parts[2], _place(name))

    def function(self, parts: list[Any]) -> Term:
        called: _Called = parts[0]
        if called.columns is not None:
            return _fault(faults.named_in_function(called.name, called.span))
        if called.name in TIMES and len(called.args) == 1:
            arg = called.args[0]
            if isinstance(arg, Const) and arg.type == STRING:
                return _constant(moment(called.name, str(arg.value), called.span))
        return Call(called.name, called.args, called.span)

    # ------------------------------------------------------------ terms
    def operation(self, parts: list[Any]) -> Call:
        left, operator, right = parts
        return Call(operator.text, (left, right), _through(left.span, right.span))

    def negative(self, parts: list[Any]) -> Term:
        sign, term = parts
        span = _through(_place(sign), term.span)
        found = negated(term, span) if isinstance(term, Const) else None
        return Call("neg", (term,), span) if found is None else _constant(found)

    def variable(self, parts: list[Token]) -> Term:
        if parts[0].text in _CONSTANTS_ELSEWHERE:
            return _fault(faults.capital_constant(parts[0].text, _place(parts[0])))
        return Var(parts[0].text, _place(parts[0]))

    def number(self, parts: list[Token]) -> Const:
        return _constant(number(parts[0].text, _place(parts[0])))

    def text(self, parts: list[Token]) -> Const:
        token = parts[0]
        value, bad = text_value(token.text)
        if bad >= 0:
            start = token.start + bad
            return _fault(faults.bad_escape(token.text[bad : bad + 2], _WORK.get().span(start, start + 2)))
        return Const(value, STRING, _place(token))

    def true(self, parts: list[Token]) -> Const:
        return Const(value=True, type=BOOLEAN, span=_place(parts[0]))

    def false(self, parts: list[Token]) -> Const:
        return Const(value=False, type=BOOLEAN, span=_place(parts[0]))

    def bare_word(self, parts: list[Token]) -> Const:
        return _fault(faults.bare_word(parts[0].text, _place(parts[0])))

    def inner(self, parts: list[Any]) -> Term:
        term: Term = parts[0]
        return term
