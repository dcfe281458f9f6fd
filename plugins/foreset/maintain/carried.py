"""Linear recursion that carries columns along: which of a view's columns move, and which only go with them.

In `closure(X, Y) :- edge(X, Z), closure(Z, Y)` the second column is carried: where `Z` has `Y`, so has `X`, whatever
`Y` is. The first is the key. Who needs which key is said by lower relations alone, and so is what each key begins with.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foreset.analyse.keys import ends_at, joining, recursive_atoms
from foreset.analyse.order import can_fail
from foreset.ir.program import View
from foreset.ir.rules import Atom, Rule, atoms, literal_variables
from foreset.ir.strata import Stratum
from foreset.ir.terms import Const, Term, Var
from foreset.ir.types import Type, widen


@dataclass(frozen=True, slots=True)
class Carrying:
    """How a recursive view spreads."""

    view: View
    key: tuple[int, ...]  # the columns that are not carried
    doubled: bool = False  # `p(X, Z), p(Z, Y)`: what each key begins with is also whom it needs
    mirrored: bool = False  # `p(X, Y) :- p(Y, X)` beside that: the closure of what is turned round, too

    @property
    def base(self) -> tuple[Rule, ...]:
        """The rules that do not read the view."""
        recursive = [rule for rule, _ in recursive_atoms(self.view)]
        found = tuple(rule for rule in self.view.rules if rule not in recursive)
        return (*found, *map(_turned, found)) if self.mirrored else found


def carrying(stratum: Stratum) -> Carrying | str:
    """How the only view of a stratum spreads, or why it does not."""
    if not stratum.recursive or len(stratum.views) != 1:
        return "it is for one recursive view"
    (view,) = stratum.views
    if any(column.type.element for column in view.columns):
        return "it has a column of lists"
    pairs = tuple(recursive_atoms(view))
    doubling, mirrors = ([test(rule, view) for rule, _ in pairs] for test in (_doubles, _mirrors))
    if any(doubling) and all(map(operator.or_, doubling, mirrors)):
        return Carrying(view, (0,), doubled=True, mirrored=any(mirrors))
    if any(sum(atom.relation == view.name for atom, _ in atoms(rule)) > 1 for rule, _ in pairs):
        return "a rule reads the view itself twice"
    kept = [i for i in range(len(view.columns)) if all(_carries(rule, atom, i) for rule, atom in pairs)]
    key = tuple(i for i in range(len(view.columns)) if i not in kept)
    if not key:
        return "no column moves"
    return next((why for rule, atom in pairs if (why := _hindrance(rule, atom, key, view))), Carrying(view, key))


def _carries(rule: Rule, atom: Atom, place: int) -> bool:
    """The head takes this column from the recursive atom as it is, and nothing else names it."""
    arg = atom.args[place]
    in_body = [v.name for literal in rule.body for v in literal_variables(literal)]
    in_head = [v.name for v in literal_variables(rule.head)]
    return rule.head.args[place] == arg and isinstance(arg, Var) and in_body.count(arg.name) == in_head.count(
        arg.name
    ) == 1  # fmt: skip


def _hindrance(rule: Rule, atom: Atom, key: Sequence[int], view: View) -> str:
    """Why lower literals do not say which key needs which; empty where they do."""
    needed = [atom.args[i] for i in key]
    lower = [literal for literal in rule.body if isinstance(literal, Atom) and literal is not atom]
    known = {v.name for literal in lower for v in literal_variables(literal)}
    if not all(isinstance(term, Const) or _is_among(term, known) for term in needed):
        return "other relations do not bind each column of the recursive atom that is not carried along"
    if joining(rule, ends_at(rule, atom, key)) is None:
        return "other relations do not join the columns that move"
    if any(_compared_as(rule, term, view.columns[i].type) for term, i in zip(needed, key, strict=True)):
        return "a column of the view is compared in a wider type"
    if any(can_fail(literal) for literal in rule.body):
        return "an expression of a recursive rule can fail, and may only be evaluated where the view has a row"
    return ""


def _is_among(term: Term, names: set[str]) -> bool:
    return isinstance(term, Var) and term.name in names


def _compared_as(rule: Rule, term: Term, kind: Type) -> bool:
    """Whether a column of type `kind` is widened before it meets `term`."""
    if isinstance(term, Var):
        return rule.types[term.name] != kind
    return isinstance(term, Const) and widen(term.type, kind) != kind


def _doubles(rule: Rule, view: View) -> bool:
    """The rule is `p(X, Y) :- p(X, Z), p(Z, Y)`, over columns of one type."""
    if len(rule.body) != 2 or len({column.type for column in view.columns}) != 1:
        return False
    own = [literal.args for literal in rule.body if isinstance(literal, Atom) and literal.relation == view.name]
    for first, second in ((own[:1], own[1:]), (own[1:], own[:1])):
        for (x, z), (same, y) in zip(_pairs(first), _pairs(second), strict=False):
            if rule.head.args == (x, y) and z == same and _distinct(x, z, y):
                return True
    return False


def _mirrors(rule: Rule, view: View) -> bool:
    """The rule is `p(X, Y) :- p(Y, X)`, over columns of one type."""
    if len(rule.body) != 1 or len(rule.head.args) != 2 or len({column.type for column in view.columns}) != 1:
        return False
    return all(isinstance(one, Atom) and one.args[::-1] == rule.head.args and _distinct(*one.args) for one in rule.body)


def _turned(rule: Rule) -> Rule:
    return replace(rule, head=replace(rule.head, args=rule.head.args[::-1]))


def _pairs(found: Sequence[tuple[Term, ...]]) -> list[tuple[Term, Term]]:
    return [(args[0], args[1]) for args in found if len(args) == 2]


def _distinct(*terms: Term) -> bool:
    names = {term.name for term in terms if isinstance(term, Var)}
    return len(names) == len(terms)
