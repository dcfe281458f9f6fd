"""Rules in normal form as text for Nemo and for clingo: relations, negation and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from foreset.ir.program import Program
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import STRING
from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text


class Untold(Exception):
    """The rules need what these languages do not have, or have in another sense."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the two write in their own ways."""

    variable: Callable[[str], str]
    negated: str
    of_texts: str  # compares two texts, in the order of their bytes


NEMO = Dialect(lambda name: f"?{name}", "~", "COMPARE({left}, {right}) {op} 0")
CLINGO = Dialect(lambda name: name, "not ", "{left} {op} {right}")


def program(spec: str) -> Program:
    """A spec in normal form."""
    loaded = load_text(spec)
    assert loaded.program is not None, [fault.message for fault in loaded.report]
    found = prepare(loaded.program)
    assert found.program is not None, [fault.message for fault in found.report]
    return found.program


def rules(spec: Program, dialect: Dialect) -> Iterator[str]:
    """One line for each rule."""
    for view in spec.views:
        for rule in view.rules:
            yield _rule(rule, dialect)


def predicate(relation: str) -> str:
    """A name that no function of theirs has."""
    return f"r_{relation.replace('~', '__')}"


def _rule(rule: Rule, dialect: Dialect) -> str:
    body = ", ".join(_literal(literal, rule, dialect) for literal in rule.body)
    return f"{_atom(rule.head, dialect)} :- {body} ."


def _literal(literal: Literal, rule: Rule, dialect: Dialect) -> str:
    match literal:
        case Atom():
            return _atom(literal, dialect)
        case Negation(atom=atom):
            return dialect.negated + _atom(atom, dialect)
        case Comparison(op=op, left=left, right=right):
            form = dialect.of_texts if op not in ("=", "!=") and _is_text(left, rule) else "{left} {op} {right}"
            return form.format(left=_term(left, dialect), op=op, right=_term(right, dialect))
        case Let(var=var, term=Var() | Const() as term):
            return f"{_term(var, dialect)} = {_term(term, dialect)}"
        case _:
            raise Untold(f"no words for {literal}")


def _is_text(term: Term, rule: Rule) -> bool:
    return isinstance(term, Var) and rule.types[term.name] == STRING


def _atom(atom: Atom, dialect: Dialect) -> str:
    return f"{predicate(atom.relation)}({', '.join(_term(arg, dialect) for arg in atom.args)})"


def _term(term: Term, dialect: Dialect) -> str:
    match term:
        case Var() if term.anonymous:
            return "_"
        case Var(name=name):
            return dialect.variable(f"V{name.replace('.', '_')}")
        case Const(value=str() as text):
            return json.dumps(text, ensure_ascii=False)
        case Const(value=int() as number):
            return str(number)
        case _:
            raise Untold(f"no words for {term}")
