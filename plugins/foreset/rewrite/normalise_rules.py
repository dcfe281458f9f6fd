"""From rules as written to the normal form of ir/rules.py.

Every atom becomes positional, its arguments variables and constants; each `_` gets a name
of its own; expressions stand in comparisons and `Let`s; the body is in the order in which
readers may evaluate it. Types come later (rewrite/type_rules.py), once names are known.

The order is a law: **an expression that can fail is evaluated only for assignments that
satisfy every literal that does not depend on it**. So `1 / X > 2` is safe beside `X != 0`,
wherever the user wrote it. Among conditions that can fail and do not depend on each other
the written order decides. Readers may move anything that cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from foreset.analyse.constants import folded
from foreset.analyse.order import classified, ordered
from foreset.ir.program import Column
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, literal_variables
from foreset.ir.terms import Call, Term, Var

Schemas = Mapping[str, tuple[Column, ...]]


@dataclass(frozen=True, slots=True)
class Normalised:
    """A rule in normal form; `pulled` says which expression each fresh variable stands for."""

    rule: Rule
    pulled: Mapping[str, Term]


@dataclass(slots=True)
class _Names:
    """Names for variables that no one wrote."""

    taken: set[str]
    pulled: dict[str, Term] = field(default_factory=dict)
    anonymous: int = 0
    expressions: int = 0

    def blank(self, old: Var) -> Var:
        """A name for one `_`."""
        while True:
            self.anonymous += 1
            if (name := f"_{self.anonymous}") not in self.taken:
                return replace(old, name=name)

    def expression(self, term: Call) -> Var:
        """A name for the value of `term`."""
        while True:
            self.expressions += 1
            if (name := f"E{self.expressions}") not in self.taken:
                self.pulled[name] = term
                return Var(name, term.span)


def normalise_rule(rule: Rule, schemas: Schemas) -> Normalised:
    """The normal form of a rule without faults of names."""
    names = _Names({v.name for part in (rule.head, *rule.body) for v in literal_variables(part) if v.name != "_"})
    head, lets = _head(_blanked(_positional(rule.head, schemas), names), names)
    body = [part for literal in rule.body for part in _literal(literal, schemas, names)]
    return Normalised(replace(rule, head=head, body=ordered((*classified(body), *lets))), names.pulled)


def _positional(atom: Atom, schemas: Schemas) -> Atom:
    """Arguments in the order of the columns, a `_` for each that is not named."""
    if atom.columns is None:
        return atom
    given = dict(zip(atom.columns, atom.args, strict=True))
    blank = Var("_", atom.span)
    return replace(atom, args=tuple(given.get(c.name, blank) for c in schemas[atom.relation]), columns=None)


def _blanked(atom: Atom, names: _Names) -> Atom:
    args = tuple(names.blank(arg) if isinstance(arg, Var) and arg.name == "_" else folded(arg) for arg in atom.args)
    return replace(atom, args=args)


def _head(head: Atom, names: _Names) -> tuple[Atom, tuple[Let, ...]]:
    head, pulled = _pulled(head, names)
    return head, tuple(Let(var, term, term.span) for var, term in pulled)


def _pulled(atom: Atom, names: _Names) -> tuple[Atom, list[tuple[Var, Call]]]:
    """`atom` with a fresh variable in place of each expression."""
    pulled: list[tuple[Var, Call]] = []
    args: list[Term] = []
    for arg in atom.args:
        if isinstance(arg, Call):
            arg_name = names.expression(arg)
            pulled.append((arg_name, arg))
            args.append(arg_name)
        else:
            args.append(arg)
    return replace(atom, args=tuple(args)), pulled


def _literal(literal: Literal, schemas: Schemas, names: _Names) -> Iterator[Literal]:
    match literal:
        case Atom():
            atom, pulled = _pulled(_blanked(_positional(literal, schemas), names), names)
            yield atom
            yield from (Comparison("=", var, term, term.span) for var, term in pulled)
        case Negation(atom=inner):
            atom, pulled = _pulled(_blanked(_positional(inner, schemas), names), names)
            yield from (Comparison("=", var, term, term.span) for var, term in pulled)
            yield replace(literal, atom=atom)
        case Comparison(left=left, right=right):
            yield replace(literal, left=folded(left), right=folded(right))
        case Test(call=call):
            yield replace(literal, call=folded(call))
        case Let(var=var, term=term):
            yield Comparison("=", var, folded(term), literal.span)
