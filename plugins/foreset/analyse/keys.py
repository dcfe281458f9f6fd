"""The key of a recursion: what must go in a circle wherever derivations do, seen in lower relations alone.

Some columns of the view that lower atoms bind, in every recursive rule, both in the head and in the recursive
atoms. In `closure(X, Y) :- edge(X, Z), closure(Z, Y)` it is the first column, and `edge` says which key needs which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreset.ir.program import View
from foreset.ir.rules import Atom, Rule, literal_variables
from foreset.ir.terms import Const, Term, Var


def key_of(view: View) -> tuple[int, ...] | None:
    """The columns of the key of a view that reads itself; None where there is no key."""
    pairs = tuple(recursive_atoms(view))
    ends = {p: [(rule.head.args[p], atom.args[p]) for rule, atom in pairs] for p in range(len(view.columns))}
    bound = [p for p in ends if all(_bound(rule, both) for (rule, _), both in zip(pairs, ends[p], strict=True))]
    moving = tuple(p for p in bound if any(after != before for after, before in ends[p]))
    # One column is the smaller graph; several together see fewer circles, but are only tried where one will not do.
    for key in (*((p,) for p in moving), moving):
        if key and all(joining(rule, ends_at(rule, atom, key)) is not None for rule, atom in pairs):
            return key
    return None


def ends_at(rule: Rule, atom: Atom, key: Sequence[int]) -> tuple[Term, ...]:
    """The key of the head, then that of the recursive atom."""
    return tuple(args[p] for args in (rule.head.args, atom.args) for p in key)


def recursive_atoms(view: View) -> Iterator[tuple[Rule, Atom]]:
    """Each recursive atom, with its rule."""
    return (
        (rule, literal)
        for rule in view.rules
        for literal in rule.body
        if isinstance(literal, Atom) and literal.relation == view.name
    )


def joining(rule: Rule, ends: Sequence[Term]) -> tuple[Atom, ...] | None:
    """The lower atoms that join the ends, by shared variables; None where they are not joined, but multiplied."""
    wanted = {term.name for term in ends if isinstance(term, Var)}
    left, joined, names = _lower(rule), list[Atom](), set(sorted(wanted)[:1])
    while found := [atom for atom in left if names & {v.name for v in literal_variables(atom)}]:
        joined += found
        left = [atom for atom in left if atom not in found]
        names |= {v.name for atom in found for v in literal_variables(atom)}
    return tuple(joined) if joined and wanted <= names else None


def _lower(rule: Rule) -> list[Atom]:
    return [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation != rule.head.relation]


def _bound(rule: Rule, terms: Sequence[Term]) -> bool:
    names = {v.name for atom in _lower(rule) for v in literal_variables(atom)}
    return all(isinstance(term, Const) or (isinstance(term, Var) and term.name in names) for term in terms)
