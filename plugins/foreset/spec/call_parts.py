"""Calls of domains, `in(X, domain:function(args))`, as the automaton finds them: a part of the builder of rules."""

from __future__ import annotations

from typing import Any, NamedTuple

from foreset.diagnostics import Span
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.rules import DomainCall, Test
from foreset.ir.terms import Call, Term
from foreset.spec import rule_faults as faults
from foreset.spec.lalr import Token
from foreset.spec.work import RIGHT_OPERATORS, WORK, Argument, begun, fault, more, place, through


def _compared(left: Term, operator: Token, right: Term) -> Call:
    """A comparison as a value, inside of `not (...)`."""
    op = operator.text
    if op in RIGHT_OPERATORS:
        fault(faults.wrong_operator(op, RIGHT_OPERATORS[op], place(operator)))
    return Call(COMPARING[RIGHT_OPERATORS.get(op, op)], (left, right), _through(left, right))


def _through(left: Term, right: Term) -> Span | None:
    return through(left.span, right.span) if left.span and right.span else None


class Asked(NamedTuple):
    """`domain:function(args)`."""

    domain: str
    function: str
    args: tuple[Term, ...]
    span: Span


class Pattern(NamedTuple):
    """What stands before the function: values, and the names of results where they are named."""

    outputs: tuple[Term, ...]
    places: tuple[str, ...] | None


class CallParts:
    """One method for each alternative of rules.lark about domains and about `not (...)` of comparisons."""

    def one_comparison(self, parts: list[Any]) -> list[Call]:
        return [_compared(*parts)]

    def more_comparisons(self, parts: list[Any]) -> list[Call]:
        before: list[Call] = parts[0]
        before.append(_compared(*parts[1:]))
        return before

    def not_region(self, parts: list[Any]) -> Test:
        sign, region, close = parts
        span = WORK.get().span(sign.start, close.end)
        return Test(Call(ALL, tuple(region), span), negated=True, span=span)

    def asked(self, parts: list[Any]) -> Asked:
        domain, function, *args, close = parts
        span = WORK.get().span(domain.start, close.end)
        given = args[0] if args else []
        for arg in given:
            if isinstance(arg, Argument):
                fault(faults.named_in_function(f"{domain.text}:{function.text}", arg.span))
        return Asked(domain.text, function.text, tuple(arg for arg in given if not isinstance(arg, Argument)), span)

    def plain_pattern(self, parts: list[Any]) -> Pattern:
        return Pattern(tuple(parts[0]), None)

    def named_pattern(self, parts: list[Argument]) -> Pattern:
        return self.named_patterns([parts])

    def named_patterns(self, parts: list[Any]) -> Pattern:
        fields: list[Argument] = parts[0]
        names = tuple(one.name for one in fields)
        for index, one in enumerate(fields):
            if one.name in names[:index]:
                fault(faults.argument_twice(one.name, one.span))
        return Pattern(tuple(one.term for one in fields), names)

    fields, more_fields = begun, more

    def asked_whether(self, parts: list[Any]) -> DomainCall:
        word, asked, close = parts
        span = WORK.get().span(word.start, close.end)
        return DomainCall(asked.domain, asked.function, asked.args, span=span, called_span=asked.span)

    def asked_for(self, parts: list[Any]) -> DomainCall:
        word, pattern, asked, close = parts
        span = WORK.get().span(word.start, close.end)
        outputs, places = pattern
        return DomainCall(asked.domain, asked.function, asked.args, outputs, places, span=span, called_span=asked.span)
