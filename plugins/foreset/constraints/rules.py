"""The constraint of a rule in normal form: its comparisons and its calls, over its variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from foreset.constraints.build import comparison
from foreset.constraints.errors import BadConstraint
from foreset.constraints.form import Constraint, Literal, Member, Not, Operand, constraint
from foreset.constraints.sorts import Variable, sort_of
from foreset.ir.domains import DomainFunction
from foreset.ir.rules import Atom, Comparison, Let, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.text import print_literal

Functions = Mapping[str, tuple[str, DomainFunction]]  # by the relation that stands for a call: domain, function


def scope_of(rule: Rule) -> dict[str, Variable]:
    """The variables of a rule whose types constraints know."""
    found = {name: sort_of(kind) for name, kind in rule.types.items()}
    return {name: Variable(name, sort) for name, sort in found.items() if sort is not None}


def constraint_of(rule: Rule, functions: Functions) -> Constraint:
    """All that the body says beside its relations; BadConstraint where that cannot be said."""
    scope = scope_of(rule)
    return constraint(literal for one in rule.body for literal in _literals(one, rule, scope, functions))


def relations_of(rule: Rule, functions: Functions) -> Iterator[Atom]:
    """The atoms of a body that are no calls."""
    return (one for one in rule.body if isinstance(one, Atom) and one.relation not in functions)


def _literals(one: object, rule: Rule, scope: Mapping[str, Variable], functions: Functions) -> Iterator[Literal | bool]:
    match one:
        case Comparison():
            yield comparison(one, scope)
        case Let(var=var, term=term):
            yield comparison(Comparison("=", var, term, one.span), scope)
        case Atom() if one.relation in functions:
            yield _call(one, scope, functions)
        case Negation(atom=atom) if atom.relation in functions:
            call = _call(atom, scope, functions)
            yield Not(Constraint((call,), frozenset(_own(one, rule)) & frozenset(_variables(call))))
        case Negation():
            hint = "write the negation in a separate view of rows, and read that view"
            raise BadConstraint(f"`not {one.atom.relation}(...)` cannot stand beside constraints", hint, one.span)
        case Test(call=Call(function="&", args=inner), negated=True):
            parts = (comparison(written(call), scope) for call in inner if isinstance(call, Call))
            yield Not(constraint(parts))
        case Test():
            hint = "write it in a separate view of rows, and read that view"
            raise BadConstraint(f"`{print_literal(one)}` cannot be part of a constraint", hint, one.span)
        case _:
            return


def written(call: Call) -> Comparison:
    """A comparison inside of `not (...)` as one that stands alone."""
    left, right = call.args
    return Comparison(call.function.removesuffix("?"), left, right, call.span)


def _call(atom: Atom, scope: Mapping[str, Variable], functions: Functions) -> Member:
    domain, function = functions[atom.relation]
    width = len(function.args)
    args = tuple(operand(arg, scope) for arg in atom.args[:width])
    shown = [(column.name, arg) for column, arg in zip(function.results, atom.args[width:], strict=True)
             if not (isinstance(arg, Var) and arg.anonymous)]  # fmt: skip
    outputs = tuple(operand(arg, scope) for _, arg in shown)
    places = None if len(shown) in (0, len(function.results)) else tuple(name for name, _ in shown)
    return Member(outputs, domain, function.name, args, places)


def operand(term: Term, scope: Mapping[str, Variable]) -> Operand:
    """A variable or a constant, as calls and atoms take it."""
    match term:
        case Const(value=value):
            return value
        case Var(name=name) if name in scope:
            return scope[name]
        case Var(name=name):
            raise BadConstraint(f"`{name}` has a type that constraints do not know", _EXACT, term.span)
        case _:
            raise AssertionError(f"{term} is not in normal form")


_EXACT = "constraints are exact: whole numbers, decimals, texts, dates, times and truth values"


def _own(one: Negation, rule: Rule) -> Iterable[Variable]:
    """The variables that stand in this negation only."""
    elsewhere = {v.name for part in (rule.head, *rule.body) if part is not one for v in literal_variables(part)}
    scope = scope_of(rule)
    return (scope[v.name] for v in literal_variables(one) if v.name not in elsewhere and v.name in scope)


def _variables(call: Member) -> Iterator[Variable]:
    return (v for v in (*call.outputs, *call.args) if isinstance(v, Variable))
