"""Which features a random case has, so that the mix can be measured and held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.refresh_cases import Case, in_normal_form

from foreset.ir.program import Program
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, atoms
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Call, Const, Var
from foreset.ir.types import INT, STRING

LEAST = {  # share of the programs, in percent
    "recursion": 40, "non-linear recursion": 8, "mutual recursion": 8, "arithmetic in recursion": 3,
    "negation": 55, "negation over recursion": 30, "negation under recursion": 8, "alternation": 4,
    "existential negation": 20, "constant in negation": 15, "not q(_, _)": 4,
    "named existential": 3, "repeated existential": 0.2,
    "self-join": 20, "repeated variable in an atom": 10, "repeated variable in a head": 10,
    "constant in a body": 10, "constant in a head": 8, "fact": 3, "several rules": 60,
    "comparison": 20, "assignment": 12, "assignments in a chain": 3, "is_null": 10, "expression in an atom": 3,
    "NULL in data": 25, "NaN in data": 1, "empty source": 4, "wide numbers": 10, "types other than int and string": 15,
    "same relation plain and negated": 10,
}  # fmt: skip


def features(case: Case) -> Counter[str]:
    """Each feature of a case once."""
    program, layering = in_normal_form(case.program)
    found = {*_program(program, layering), *_data(case)}
    written = [atom for rule in case.program.rules for atom, _ in atoms(rule)]
    if any(isinstance(arg, Call) for atom in written for arg in atom.args):
        found.add("expression in an atom")
    for stratum in layering.strata:
        found |= set(_stratum(stratum, layering))
        for view in stratum.views:
            for rule in view.rules:
                found |= set(_rule(rule))
    return Counter(found)


def _program(program: Program, layering: Layering) -> Iterator[str]:
    kinds = {column.type for columns in program.columns_of().values() for column in columns}
    if len({kind for kind in kinds if kind.is_numeric}) > 1:
        yield "wide numbers"
    if kinds - {INT, STRING}:
        yield "types other than int and string"
    if any(len(view.rules) > 1 for view in program.views):
        yield "several rules"
    deep = [s for s in layering.strata if s.recursive and not s.monotone]
    if deep:
        yield "negation under recursion"
    below = {name for s in layering.strata if s.recursive for name in s.names}
    negated = {atom.relation for s in layering.strata for v in s.views for r in v.rules for atom, no in atoms(r) if no}
    if below & negated:
        yield "negation over recursion"
    if any(a.relation in below and no for s in deep for v in s.views for r in v.rules for a, no in atoms(r)):
        yield "alternation"  # negation over recursion, itself under recursion


def _stratum(stratum: Stratum, layering: Layering) -> Iterator[str]:
    if not stratum.recursive:
        return
    yield "recursion"
    if len(stratum.views) > 1:
        yield "mutual recursion"
    for view in stratum.views:
        for rule in view.rules:
            own = [a for a, negated in atoms(rule) if a.relation in stratum.names and not negated]
            if len(own) > 1:
                yield "non-linear recursion"
            if own and any(isinstance(literal, Let) for literal in rule.body):
                yield "arithmetic in recursion"


def _rule(rule: Rule) -> Iterator[str]:
    positive = [a.relation for a, negated in atoms(rule) if not negated]
    if len(set(positive)) < len(positive):
        yield "self-join"
    if set(positive) & {a.relation for a, negated in atoms(rule) if negated}:
        yield "same relation plain and negated"
    names = [arg.name for arg in rule.head.args if isinstance(arg, Var)]
    if len(set(names)) < len(names):
        yield "repeated variable in a head"
    if rule.body and any(isinstance(arg, Const) for arg in rule.head.args):
        yield "constant in a head"
    if not rule.body:
        yield "fact"
    lets = [literal for literal in rule.body if isinstance(literal, Let)]
    if len(lets) > 1:
        yield "assignments in a chain"
    for literal in rule.body:
        yield from _literal(literal)


def _literal(literal: Literal) -> Iterator[str]:
    match literal:
        case Atom(args=args):
            names = [arg.name for arg in args if isinstance(arg, Var)]
            if len(set(names)) < len(names):
                yield "repeated variable in an atom"
            if any(isinstance(arg, Const) for arg in args):
                yield "constant in a body"
        case Negation(atom=atom):
            yield "negation"
            anonymous = [isinstance(arg, Var) and arg.anonymous for arg in atom.args]
            if any(anonymous):
                yield "not q(_, _)" if all(anonymous) else "existential negation"
            inner = [arg.name for arg in atom.args if isinstance(arg, Var) and arg.name[0] == "N"]
            if inner:
                yield "named existential" if len(set(inner)) == len(inner) else "repeated existential"
            if any(isinstance(arg, Const) for arg in atom.args):
                yield "constant in negation"
        case Comparison():
            yield "comparison"
        case Let():
            yield "assignment"
        case Test():
            yield "is_null"


def _data(case: Case) -> Iterator[str]:
    values = [value for night in case.nights for delta in night.values() for row in delta.plus for value in row]
    if None in values:
        yield "NULL in data"
    if any(isinstance(value, float) and value != value for value in values):  # noqa: PLR0124 - NaN
        yield "NaN in data"
    if any(not delta.plus for delta in case.nights[0].values()):
        yield "empty source"
