"""Do the names in a rule exist, and do they have as many arguments as they take?

Works on rules as written, before anything relies on columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from foreset.analyse.binding import occurrences
from foreset.analyse.faults import names as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.functions import FUNCTIONS, OPERATORS, SIGNATURES
from foreset.ir.program import Column, Program
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Call, Term, Var, names_in
from foreset.ir.text import print_literal, print_term
from foreset.spec.sql_words import aggregate_hint

Schemas = Mapping[str, tuple[Column, ...]]
_NOWHERE = Span("", 1, 1)


def check_views(program: Program) -> Iterator[Diagnostic]:
    """Views without rules."""
    for view in program.views:
        if not view.rules and view.given is None:
            yield faults.no_rules(view.name, view.span or _NOWHERE)


def check_rule(rule: Rule, schemas: Schemas) -> tuple[Diagnostic, ...]:
    """The faults of names in one rule."""
    return (*_head(rule, schemas), *_body(rule, rule.body, schemas), *_sets(rule, schemas), *_numbered(rule))


def _sets(rule: Rule, schemas: Schemas) -> Iterator[Diagnostic]:
    for one in rule.sets:
        yield from _body(rule, one.body, schemas)
        for term in one.elements:
            yield from _term(term, rule, inside=True)
        for made in one.aggregates:
            for term in (*made.args, made.result):
                yield from _term(term, rule, inside=isinstance(term, Call))


def _body(rule: Rule, body: tuple[Literal, ...], schemas: Schemas) -> Iterator[Diagnostic]:
    for literal in body:
        match literal:
            case Atom() | Negation():
                atom = literal if isinstance(literal, Atom) else literal.atom
                yield from _atom(atom, rule, schemas)
                yield from (fault for arg in atom.args for fault in _term(arg, rule, inside=False))
            case _:
                yield from _condition(literal, rule)


def _condition(literal: Literal, rule: Rule) -> Iterator[Diagnostic]:
    match literal:
        case Comparison(left=left, right=right):
            yield from _term(left, rule, inside=True)
            yield from _term(right, rule, inside=True)
        case Let(term=term):
            yield from _term(term, rule, inside=True)
        case Test(call=call):
            found = tuple(_term(call, rule, inside=True))
            yield from found
            if not found and isinstance(call, Call) and not SIGNATURES[call.function].predicate:
                yield faults.not_a_condition(call.function, _span(rule, call, literal), print_term(call))
        case _:
            return


def _head(rule: Rule, schemas: Schemas) -> Iterator[Diagnostic]:
    head = rule.head
    found = tuple(_atom(head, rule, schemas))
    yield from found
    for arg in head.args:
        if isinstance(arg, Var) and arg.name == "_":
            yield faults.blank_in_head(_span(rule, arg, head), head.relation)
        else:
            yield from _term(arg, rule, inside=False)
    if head.columns is not None and not found:
        for column in schemas[head.relation]:
            if column.name not in head.columns:
                yield faults.head_lacks_column(column.name, _name_span(rule, head), head.relation)


def _atom(atom: Atom, rule: Rule, schemas: Schemas) -> Iterator[Diagnostic]:
    """Does the relation exist, and has it such columns?"""
    columns = schemas.get(atom.relation)
    if columns is None:
        known = (*schemas, *(name for name, signature in FUNCTIONS.items() if signature.predicate))
        yield faults.missing_relation(atom.relation, _name_span(rule, atom), known)
        return
    names = tuple(column.name for column in columns)
    if atom.columns is None:
        if len(atom.args) != len(names):
            yield faults.wrong_arity(atom.relation, _span(rule, atom), len(atom.args), names)
        return
    for name, arg in zip(atom.columns, atom.args, strict=True):
        if name not in names:
            yield faults.missing_column(name, _argument_span(rule, name, arg, atom), atom.relation, names)


def _term(term: Term, rule: Rule, *, inside: bool) -> Iterator[Diagnostic]:
    """Functions that are not there, and `_` where a value is needed."""
    match term:
        case Var(name="_") if inside:
            yield faults.blank_in_expression(_span(rule, term))
        case Call(function=function, args=args):
            if function not in SIGNATURES:
                yield faults.missing_function(function, _called_span(rule, term), _as_aggregate(term, rule))
            elif not SIGNATURES[function].accepts(len(args)):
                yield faults.wrong_arguments(function, _span(rule, term), len(args))
            for arg in args:
                yield from _term(arg, rule, inside=True)
        case _:
            return


def _as_aggregate(term: Call, rule: Rule) -> str:
    """How the aggregate is written that is called as a function, with a literal that gives it values."""
    element = ", ".join(map(print_term, term.args)) or "X"
    wanted = names_in(*term.args)
    givers = (one for one in rule.body if isinstance(one, Atom) and wanted & {v.name for v in literal_variables(one)})
    giver = next(givers, None)
    return aggregate_hint(term.function, element, print_literal(giver) if giver else "")


def _numbered(rule: Rule) -> Iterator[Diagnostic]:
    counts = Counter(var.name for var, _ in occurrences(rule))
    seen: set[str] = set()
    for var, _ in occurrences(rule):
        if var.anonymous and var.name != "_" and counts[var.name] > 1:
            if var.name in seen:
                yield faults.numbered_blank(var.name, _span(rule, var))
                counts[var.name] = 0
            seen.add(var.name)


def _span(rule: Rule, *nodes: Term | Literal) -> Span:
    """The place of the first node that has one."""
    return next((node.span for node in nodes if node.span), rule.span or _NOWHERE)


def _name_span(rule: Rule, atom: Atom) -> Span:
    """The place of a relation's name."""
    return _cut(_span(rule, atom), len(atom.relation))


def _called_span(rule: Rule, call: Call) -> Span:
    """The place of a function's name."""
    return _span(rule, call) if call.function in OPERATORS else _cut(_span(rule, call), len(call.function))


def _argument_span(rule: Rule, name: str, arg: Term, atom: Atom) -> Span:
    """The place of `name=` before an argument, as it is mostly written."""
    if arg.span is None or arg.span.column <= len(name) + 1:
        return _span(rule, atom)
    return Span(arg.span.file, arg.span.line, arg.span.column - len(name) - 1, len(name))


def _cut(span: Span, width: int) -> Span:
    return Span(span.file, span.line, span.column, width)
