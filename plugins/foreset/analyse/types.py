"""The types of variables, and what does not mix.

Works on normal form. A variable has the widest type among the places that give it a value
or look it up; what it is compared with, and the head's column, are checked, not inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from foreset.analyse.constants import adapted_to_all, settled
from foreset.analyse.faults import types as faults
from foreset.diagnostics import Diagnostic, Span
from foreset.ir.functions import COMPARING, type_of
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Comparison, Let, Negation, Rule, Test, atoms
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.text import print_term
from foreset.ir.types import Type, fits, widen

Schemas = Mapping[str, tuple[Column, ...]]
_NOWHERE = Span("", 1, 1)


@dataclass(frozen=True, slots=True)
class Inferred:
    """The types of a rule's variables, and those that have two which do not mix."""

    types: Mapping[str, Type]
    faults: tuple[Diagnostic, ...]


def infer(rule: Rule, schemas: Schemas, pulled: Mapping[str, Term]) -> Inferred:
    """Types from the columns of body atoms first, then along the `Let`s in their order.

    `pulled` says which expressions fresh variables stand for.
    """
    types: dict[str, Type] = {}
    places: dict[str, tuple[Type, str]] = {}
    found: list[Diagnostic] = []

    def meet(var: Var, kind: Type, place: str) -> None:
        common = widen(types[var.name], kind) if var.name in types else kind
        if common is None:
            there = places[var.name]
            found.append(faults.variable_of_two_types(var.name, _span(rule, var), (kind, place), there))
            return
        types[var.name] = common
        places.setdefault(var.name, (kind, place))

    for atom, _negated in sorted(atoms(rule), key=lambda pair: pair[1]):
        for arg, column in zip(atom.args, schemas[atom.relation], strict=True):
            if isinstance(arg, Var):
                meet(arg, column.type, f"column `{column.name}` of `{atom.relation}`")
    for literal in rule.body:
        if not isinstance(literal, Let) or not (kind := _let_type(literal, rule, types, schemas)):
            continue
        if literal.var.name in pulled and widen(types.get(literal.var.name, kind), kind) is None:
            found.append(_misfit(rule, schemas, literal.var, (print_term(literal.term), kind)))
        else:
            meet(literal.var, kind, f"`{print_term(literal.var)} = {print_term(literal.term)}`")
    return Inferred(types, tuple(found))


def _misfit(rule: Rule, schemas: Schemas, var: Var, value: tuple[str, Type]) -> Diagnostic:
    """The fault of an expression at a column of another kind: `var` stands for it there."""
    for atom, _negated in atoms(rule):
        for arg, column in zip(atom.args, schemas[atom.relation], strict=True):
            if arg == var:
                return faults.misfit(_span(rule, var), (column.name, column.type), atom.relation, value)
    raise AssertionError(f"{var.name} stands for an argument, but no atom has it")


def _let_type(let: Let, rule: Rule, types: Mapping[str, Type], schemas: Schemas) -> Type | None:
    term = settled(let.term, types)
    if isinstance(term, Const):
        return adapted_to_all(term, tuple(_columns_of(let.var, rule, schemas))).type
    return type_of(term, types)


def _columns_of(var: Var, rule: Rule, schemas: Schemas) -> Iterator[Type]:
    """The types of the columns in which `var` stands."""
    for atom in (rule.head, *(atom for atom, _ in atoms(rule))):
        for arg, column in zip(atom.args, schemas[atom.relation], strict=True):
            if arg == var:
                yield column.type


@dataclass(frozen=True, slots=True)
class _Check:
    """A rule with its types settled, and the expressions behind fresh variables."""

    rule: Rule
    schemas: Schemas
    pulled: Mapping[str, Term]

    def text(self, term: Term) -> str:
        """`term` as the user wrote it."""
        return print_term(self.pulled.get(term.name, term) if isinstance(term, Var) else term)

    def kind(self, term: Term) -> Type | None:
        """The type of `term`, if it has one."""
        return type_of(term, self.rule.types)


def check(rule: Rule, schemas: Schemas, pulled: Mapping[str, Term]) -> tuple[Diagnostic, ...]:
    """The faults of a rule whose constants are settled (rewrite/type_rules.py)."""
    this = _Check(rule, schemas, pulled)
    return (*_of_body(this), *_of_head(this))


def _of_body(this: _Check) -> Iterator[Diagnostic]:
    for literal in this.rule.body:
        match literal:
            case Atom() | Negation():
                yield from _of_constants(this, literal if isinstance(literal, Atom) else literal.atom)
            case Comparison():
                yield from _of_calls(this, literal.left)
                yield from _of_calls(this, literal.right)
                yield from _of_comparison(this, literal)
            case Let(term=term) | Test(call=term):
                yield from _of_calls(this, term)


def _of_constants(this: _Check, atom: Atom) -> Iterator[Diagnostic]:
    for arg, column in zip(atom.args, this.schemas[atom.relation], strict=True):
        if isinstance(arg, Const) and arg.type != column.type:
            place, value = (column.name, column.type), (print_term(arg), arg.type)
            yield faults.misfit_of_constant(_span(this.rule, arg, atom), place, atom.relation, value)


def _of_comparison(this: _Check, literal: Comparison) -> Iterator[Diagnostic]:
    left, right = this.kind(literal.left), this.kind(literal.right)
    if left is None or right is None:
        return
    span = literal.span or _span(this.rule, literal.left)
    common = widen(left, right)
    if common is None and isinstance(literal.left, Var) and literal.left.name in this.pulled:
        yield _misfit(this.rule, this.schemas, literal.left, (this.text(literal.right), right))
    elif common is None:
        sides = (this.text(literal.left), left), (this.text(literal.right), right)
        yield faults.uncomparable(span, literal.op, *sides)
    elif common.element is not None and literal.op not in ("=", "!="):
        yield faults.unordered(span, literal.op, common)


def _of_calls(this: _Check, term: Term) -> Iterator[Diagnostic]:
    """The innermost calls that do not type: what is outside of them has no type for that reason."""
    if not isinstance(term, Call):
        return
    inner = [fault for arg in term.args for fault in _of_calls(this, arg)]
    yield from inner
    kinds = tuple(kind for arg in term.args if (kind := this.kind(arg)))
    if inner or len(kinds) < len(term.args):
        return
    if this.kind(term) is None:
        args = tuple((this.text(arg), kind) for arg, kind in zip(term.args, kinds, strict=True))
        if term.function in COMPARING.values():  # inside of `not (...)`
            yield faults.uncomparable(_span(this.rule, term), term.function.removesuffix("?"), *args[:2])
            return
        yield faults.untyped_call(_span(this.rule, term), term.function, this.text(term), args)


def _of_head(this: _Check) -> Iterator[Diagnostic]:
    head = this.rule.head
    constants = {one.var: one.term for one in this.rule.body if isinstance(one, Let) and isinstance(one.term, Const)}
    for written, column in zip(head.args, this.schemas[head.relation], strict=True):
        arg = constants.get(written, written) if isinstance(written, Var) else written
        kind, place = this.kind(arg), (column.name, column.type)
        if kind is None or fits(kind, column.type):
            continue
        value = (this.text(arg), kind)
        if isinstance(arg, Const):
            yield faults.misfit_of_constant(_span(this.rule, arg), place, head.relation, value)
        else:
            yield faults.misfit(_span(this.rule, arg), place, head.relation, value, of_head=True)


def _span(rule: Rule, *nodes: Term | Atom) -> Span:
    """The place of the first node that has one."""
    return next((node.span for node in nodes if node.span), rule.span or _NOWHERE)
