"""A recursion that reads itself twice as one that reads itself once, with the same rows.

`p(X, Y) :- p(X, Z), p(Z, Y)` gives the closure of what the other rules give; with `p(X, Y) :- p(Y, X)` beside it, that
of those rows and of the same turned round. Said as `p(X, Y) :- b(X, Z), p(Z, Y)`, where `b` is the body of such a rule,
it hands `Y` on, and no pair between the ends of a goal is a goal of its own (linear_recursion.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foreset.ir.program import View
from foreset.ir.rules import Atom, Rule, atoms, literal_variables
from foreset.ir.terms import Term, Var
from foreset.ir.types import Type

END = "the other end"  # no variable of a spec has spaces in its name


def linear(view: View, kinds: Sequence[Type]) -> View:
    """The view with rules that read it once; as it is where they are of another kind. `kinds`: types of its columns."""
    recursive = [rule for rule in view.rules if any(atom.relation == view.name for atom, _ in atoms(rule))]
    if len(kinds) != 2 or kinds[0] != kinds[1] or not any(map(_doubles, recursive)):
        return view
    if not all(_doubles(rule) or _mirrors(rule) for rule in recursive):
        return view
    base = [rule for rule in view.rules if rule not in recursive]
    if any(map(_mirrors, recursive)):
        base += [replace(rule, head=replace(rule.head, args=rule.head.args[::-1])) for rule in base]
    return replace(view, rules=(*base, *(_step(rule, kinds[0]) for rule in base)))


def _step(rule: Rule, kind: Type) -> Rule:
    start, middle = rule.head.args
    link = Atom(rule.head.relation, (middle, Var(END)))
    head = replace(rule.head, args=(start, Var(END)))
    return replace(rule, head=head, body=(*rule.body, link), types={**rule.types, END: kind})


def _doubles(rule: Rule) -> bool:
    """`p(X, Y) :- p(X, Z), p(Z, Y)`, in any order."""
    own = _own(rule)
    return len(own) == 2 and any(
        one[1] == other[0] and (one[0], other[1]) == rule.head.args and _names(rule) == 3
        for one, other in (own, own[::-1])
    )


def _mirrors(rule: Rule) -> bool:
    """`p(X, Y) :- p(Y, X)`."""
    own = _own(rule)
    return len(own) == 1 and own[0][::-1] == rule.head.args and _names(rule) == 2


def _own(rule: Rule) -> list[tuple[Term, Term]]:
    """The arguments of the body's atoms, if all of them are the view's own and are variables; else nothing."""
    found = [(one.args[0], one.args[1]) for one in rule.body if isinstance(one, Atom) and _own_pair(rule, one)]
    return found if len(found) == len(rule.body) else []


def _own_pair(rule: Rule, atom: Atom) -> bool:
    return atom.relation == rule.head.relation and len(atom.args) == 2 and all(isinstance(x, Var) for x in atom.args)


def _names(rule: Rule) -> int:
    return len({var.name for literal in rule.body for var in literal_variables(literal)})
