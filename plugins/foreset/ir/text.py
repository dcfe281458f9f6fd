"""Terms, literals and rules as people read them: in messages, golden cases and `explain`.

Two notations differ in how an atom says which state it reads: `plain` puts a word before
it (`old edge(X, Y)`), `paper` writes a suffix as paper 000 does (`closure_del(X, Y)`), where
the state before the refresh is the one without a mark.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from foreset.ir.functions import ALL
from foreset.ir.rules import Atom, Comparison, DomainCall, Let, Literal, Negation, Rule, SetOf, Test
from foreset.ir.terms import Call, Const, Term, Value, Var
from foreset.ir.versions import Version


class Notation(StrEnum):
    """How versions are written."""

    PLAIN = "plain"
    PAPER = "paper"


_UNMARKED = {Notation.PLAIN: (Version.CURRENT,), Notation.PAPER: (Version.CURRENT, Version.OLD)}
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "neg": 3}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def print_rule(rule: Rule, notation: Notation | str = Notation.PLAIN) -> str:
    """`head :- body`; a rule without a body is a fact."""
    head = print_atom(rule.head, notation)
    if not (rule.body or rule.sets or rule.calls):
        return head
    body = [print_literal(literal, notation) for literal in rule.body]
    return f"{head} :- {', '.join((*body, *map(print_domain_call, rule.calls), *map(print_set, rule.sets)))}"


def as_written(rule: Rule) -> str:
    """The rule with the layout and comments of its author, where it has an author, and with a dot at its end."""
    text = rule.text or print_rule(rule)
    return text if "%" in text.rpartition("\n")[2] else f"{text}."  # a dot behind a comment would be part of it


def print_domain_call(call: DomainCall) -> str:
    """`in(X, domain:function(args))`."""
    outputs = [print_term(output) for output in call.outputs]
    if call.places is not None:
        outputs = [f"{place}={output}" for place, output in zip(call.places, outputs, strict=True)]
    pattern = f"({', '.join(outputs)}), " if len(outputs) > 1 else "".join(f"{output}, " for output in outputs)
    asked = f"in({pattern}{call.called}({', '.join(map(print_term, call.args))}))"
    return f"not {asked}" if call.negated else asked


def print_set(one: SetOf) -> str:
    """A set and what is made of it: the short form where variables are local, the paper's where they group."""
    body = print_body(one.body)
    if one.local:
        (only,) = one.aggregates
        name = f"{only.function}({', '.join(map(print_term, only.args))})" if only.args else only.function
        return f"{print_term(only.result)} = {name}{{{', '.join(map(print_term, one.elements))} | {body}}}"
    elements = ", ".join(map(print_term, one.elements))
    element = f"({elements})" if len(one.elements) > 1 else elements
    text = f"setof({element}, {''.join(f'{name}^' for name in one.free)}{body}, {one.var.name})"
    made = [
        f"{each.function}({', '.join((one.var.name, *map(print_term, (each.result, *each.args))))})"
        for each in one.aggregates
    ]
    return ", ".join((text, *made))


def print_body(body: Iterable[Literal], notation: Notation | str = Notation.PLAIN) -> str:
    """The literals, joined by commas."""
    return ", ".join(print_literal(literal, notation) for literal in body)


def print_literal(literal: Literal, notation: Notation | str = Notation.PLAIN) -> str:
    """One body literal."""
    match literal:
        case Atom():
            return print_atom(literal, notation)
        case Negation(atom=atom):
            return f"not {print_atom(atom, notation)}"
        case Comparison(op=op, left=left, right=right):
            return f"{print_term(left)} {op} {print_term(right)}"
        case Test(call=call, negated=negated):
            return f"{'not ' if negated else ''}{print_term(call)}"
        case Let(var=var, term=term):
            return f"{var.name} = {print_term(term)}"
        case _:
            assert_never(literal)


def print_atom(atom: Atom, notation: Notation | str = Notation.PLAIN) -> str:
    """`relation(args)` with its version, and with names where arguments are named."""
    args = [print_term(arg) for arg in atom.args]
    if atom.columns is not None:
        args = [f"{name}={arg}" for name, arg in zip(atom.columns, args, strict=True)]
    return f"{print_relation(atom.relation, atom.version, notation)}({', '.join(args)})"


def print_relation(relation: str, version: Version, notation: Notation | str = Notation.PLAIN) -> str:
    """A relation in one of its states: `old edge` or `edge_new`."""
    notation = Notation(notation)
    if version in _UNMARKED[notation]:
        return relation
    return f"{relation}_{version}" if notation is Notation.PAPER else f"{version} {relation}"


def print_term(term: Term) -> str:
    """A term with no more parentheses than it needs."""
    return _term(term, 0)


def _term(term: Term, outer: int) -> str:
    """`term` inside an operator that binds as strongly as `outer`."""
    match term:
        case Var(name=name):
            return name
        case Const(value=value):
            return print_value(value)
        case Call(function=function, args=args):
            text, strength = _call(function, args), _STRENGTH.get(function, 4)
            return f"({text})" if strength < outer else text
        case _:
            assert_never(term)


def _call(function: str, args: tuple[Term, ...]) -> str:
    strength = _STRENGTH.get(function)
    if function == ALL:
        return f"({', '.join(print_term(arg) for arg in args)})"
    if function.endswith("?"):
        return f"{print_term(args[0])} {function[:-1]} {print_term(args[1])}"
    if strength is None:
        return f"{function}({', '.join(print_term(arg) for arg in args)})"
    if function == "neg":
        return f"-{_term(args[0], strength + 1)}"
    left, right = args
    return f"{_term(left, strength)} {function} {_term(right, strength + 1)}"


def print_value(value: Value) -> str:
    """A value as a spec writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case Decimal():
            return format(value, "f")
        case dt.datetime():
            return f'timestamp("{value.isoformat(" ")}")'
        case dt.date():
            return f'date("{value.isoformat()}")'
        case tuple():
            return f"[{', '.join(print_value(item) for item in value)}]"
        case None:
            return "NULL"
        case _:
            return repr(value)
