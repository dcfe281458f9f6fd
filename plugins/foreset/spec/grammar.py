"""Rule text to `Rule`, as written, with a span on every node.

The automaton of rules.lark calls `_Build` as it goes, so no tree is built. The builder
finds the text at hand, and leaves its faults, in a context variable: one automaton
serves all files and threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.ir.rules import Aggregated, Atom, Comparison, Literal, Negation, Rule, SetOf, Test, literal_variables
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
    gathered: dict[str, SetOf] = field(default_factory=dict)  # short forms, by the variable that stands for each
    named: int = 0

    def fresh(self, word: str) -> str:
        """A name for a variable that the text does not have."""
        while True:
            self.named += 1
            if (name := f"{word}{self.named}") not in self.passage.text:
                return name

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
    token: Token


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
    work = _work(passage)
    token = _WORK.set(work)
    try:
        found = _automaton(start).parse(passage.text)
    except StopError as stop:
        fault = syntax_fault(passage, stop, flow=flow)
        work.faults = [*(known for known in work.faults if known.span != fault.span), fault]
        found = None
    finally:
        _WORK.reset(token)
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


def _at(node: Term | Literal | SetOf) -> Span:
    assert node.span is not None
    return node.span


def _set_name(result: Var) -> str:
    """A name for the set of a short form, which nobody else can write."""
    return f"{result.name}."


class _Build:
    """One method for each alternative of rules.lark; children come from left to right."""

    # ------------------------------------------------------------ rules
    def rule(self, parts: list[Any]) -> Rule:
        head, _, body = parts
        head = self._head(head)
        plain = tuple(one for one in body if not isinstance(one, SetOf))
        return Rule(head, plain, span=_through(_at(head), _at(body[-1])), sets=self._sets(body))

    def fact(self, parts: list[Any]) -> Rule:
        literal = parts[0]
        head = self._head(literal)
        known = _WORK.get().gathered
        for arg in head.args:
            for var in variables(arg):
                if var.name not in known:
                    _fault(faults.fact_not_ground(var.name, _at(var)))
        return Rule(head, (), span=head.span, sets=self._sets([]))

    def empty_body(self, parts: list[Any]) -> Rule:
        _fault(faults.empty_body(_place(parts[1])))
        return Rule(self._head(parts[0]), (), span=_at(parts[0]))

    def _sets(self, body: list[Literal | SetOf]) -> tuple[SetOf, ...]:
        """What the rule gathers: the sets among its literals, then those inside of terms."""
        return (*(one for one in body if isinstance(one, SetOf)), *_WORK.get().gathered.values())

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
        if isinstance(literal, SetOf):
            hint = "give the aggregate a view of its own, and negate that"
        if isinstance(literal, Negation):
            hint = "remove both: twice `not` is nothing"
        _fault(faults.negated_comparison(_place(sign), hint))
        return Negation(Atom("", ()), span=_place(sign))

    def comparison(self, parts: list[Any]) -> Comparison | SetOf:
        left, operator, right = parts
        op = operator.text
        if op in _RIGHT_OPERATORS:
            _fault(faults.wrong_operator(op, _RIGHT_OPERATORS[op], _place(operator)))
        gathered = _WORK.get().gathered
        if op == "=" and isinstance(left, Var) and isinstance(right, Var) and right.name in gathered:
            found = gathered.pop(right.name)
            made = replace(found.aggregates[0], result=left)
            var = replace(found.var, name=_set_name(left))
            return replace(found, var=var, aggregates=(made,), span=_through(_at(left), _at(found)))
        return Comparison(op, left, right, span=_through(left.span, right.span))

    # ------------------------------------------------------------ sets
    def conjunction(self, parts: list[Any]) -> list[Any]:
        return parts

    def more_conjunction(self, parts: list[Any]) -> list[Any]:
        return self.more_literals(parts)

    def one_free(self, parts: list[Token]) -> list[Token]:
        return parts

    def more_free(self, parts: list[Any]) -> list[Token]:
        before: list[Token] = parts[0]
        before.append(parts[1])
        return before

    def elements(self, parts: list[Any]) -> list[Term]:
        return parts

    def more_elements(self, parts: list[Any]) -> list[Term]:
        before: list[Term] = parts[0]
        before.append(parts[1])
        return before

    def several(self, parts: list[Any]) -> list[Term]:
        return [parts[0], *parts[1]]

    def set_of(self, parts: list[Any]) -> SetOf:
        return self.set_of_free([parts[0], parts[1], [], *parts[2:]])

    def set_of_free(self, parts: list[Any]) -> SetOf:
        word, elements, free, body, var, close = parts
        span = _WORK.get().span(word.start, close.end)
        names = tuple(token.text for token in free)
        return SetOf(tuple(elements), self._inside(body), Var(var.text, _place(var)), free=names, span=span)

    def gathered(self, parts: list[Any]) -> Var:
        called, elements, body, close = parts
        work = _WORK.get()
        start = called.start if isinstance(called, Token) else called.token.start
        name = called.text if isinstance(called, Token) else called.name
        args = () if isinstance(called, Token) else called.args
        if not isinstance(called, Token) and called.columns is not None:
            _fault(faults.named_in_function(called.name, called.span))
        span = work.span(start, close.end)
        inside = self._inside(body)
        result = Var(work.fresh(name.capitalize()), span)
        made = Aggregated(name, args, result, span)
        work.gathered[result.name] = SetOf(
            tuple(elements), inside, Var(_set_name(result), span), (made,), local=True, span=span
        )
        return result

    def _inside(self, body: list[Any]) -> tuple[Literal, ...]:
        """The literals of a set, which cannot hold another one."""
        work = _WORK.get()
        inner = next((one for one in body if isinstance(one, SetOf)), None)
        if inner is not None:
            _fault(faults.nested_aggregate(_at(inner)))
        for name, one in tuple(work.gathered.items()):
            named = {v.name for literal in body if not isinstance(literal, SetOf) for v in literal_variables(literal)}
            if name in named:
                _fault(faults.nested_aggregate(_at(one)))
                del work.gathered[name]
        return tuple(one for one in body if not isinstance(one, SetOf))

    # ------------------------------------------------------------ calls
    def call(self, parts: list[Any]) -> _Called:
        name: Token = parts[0]
        span = _WORK.get().span(name.start, parts[-1].end)
        if name.type == "VARIABLE":
            _fault(faults.capital_relation(name.text, _place(name)))
        args = parts[1] if len(parts) > 2 else []
        if not any(type(arg) is _Argument for arg in args):
            return _Called(name.text, tuple(args), None, span, name)
        named = [arg for arg in args if isinstance(arg, _Argument)]
        if len(named) < len(args):
            odd = next(arg for arg in args if not isinstance(arg, _Argument))
            _fault(faults.mixed_arguments(_at(odd)))
        names = [arg.name for arg in named]
        for index, arg in enumerate(named):
            if arg.name in names[:index]:
                _fault(faults.argument_twice(arg.name, arg.span))
        return _Called(name.text, tuple(arg.term for arg in named), tuple(names), span, name)

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
