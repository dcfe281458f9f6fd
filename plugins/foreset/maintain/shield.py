"""Where a row that still has a derivation may stay at once: on no circle can it hold itself up.

Project the recursion onto *keys*: some columns of the view that lower atoms bind, in every recursive
rule, both in the head and in the recursive atoms. In `closure(X, Y) :- edge(X, Z), closure(Z, Y)` the key is
the first column, and `edge` says which key needs which. Rows that support each other in a
circle have keys that do. So a row whose key lies on no circle is founded as long as one derivation is left.
Proof: docs/adr/0041.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from foreset.ir.program import Column, Helper, View
from foreset.ir.rules import Atom, Negation, Rule, literal_variables
from foreset.ir.steps import Circles, Derivation, Derive, Ref, Step
from foreset.ir.strata import Stratum
from foreset.ir.terms import Const, Term, Var
from foreset.ir.versions import Version
from foreset.maintain.differentiate import is_recursive, support


@dataclass(frozen=True, slots=True)
class Shield:
    """The key of a recursive view; `needs` and `circles` are relations that steps fill."""

    view: View
    key: tuple[int, ...]  # empty: rules show that no derivation is cyclic, whatever the data

    @property
    def needs(self) -> Helper:
        """Which key needs which: the columns of the head's key, then those of the recursive atom's."""
        return Helper(f"{self.view.name}~needs", _columns(self._kinds * 2))

    @property
    def circles(self) -> Helper:
        """The keys that lie on a circle."""
        return Helper(f"{self.view.name}~circles", _columns(self._kinds))

    @property
    def helpers(self) -> tuple[Helper, ...]:
        """Both, or none."""
        return (self.needs, self.circles) if self.key else ()

    @property
    def _kinds(self) -> list[Column]:
        return [self.view.columns[p] for p in self.key]

    def raised(self) -> tuple[Step, ...]:
        """Find the circles."""
        if not self.key:
            return ()
        needs, circles = (Ref(helper.name, Version.CURRENT) for helper in (self.needs, self.circles))
        rules = tuple(self._needing(rule, atom) for rule, atom in _recursive(self.view))
        return (Derive((Derivation(needs, rules),)), Circles(circles, needs))

    def holding(self) -> tuple[Rule, ...]:
        """The rules that hold a row: over what is left, through no recursion where the key lies on a circle."""
        own = frozenset((self.view.name,))
        return tuple(self._guarded(rule, support(rule, own)) for rule in self.view.rules)

    def _guarded(self, rule: Rule, found: Rule) -> Rule:
        if not self.key or not is_recursive(rule, frozenset((self.view.name,))):
            return found
        key = tuple(rule.head.args[p] for p in self.key)
        return replace(found, body=(*found.body, Negation(Atom(self.circles.name, key, version=Version.CURRENT))))

    def _needing(self, rule: Rule, atom: Atom) -> Rule:
        ends = _ends(rule, atom, self.key)
        body = tuple(replace(lower, version=Version.KEPT) for lower in _joining(rule, ends) or ())
        return replace(rule, head=Atom(self.needs.name, ends, version=Version.CURRENT), body=body)


def shield_of(stratum: Stratum) -> Shield | None:
    """The shield of a stratum; None where there is no key."""
    if not stratum.recursive or len(stratum.views) != 1:
        return None
    (view,) = stratum.views
    if not stratum.cyclic:
        return Shield(view, ())
    pairs = tuple(_recursive(view))
    ends = {p: [(rule.head.args[p], atom.args[p]) for rule, atom in pairs] for p in range(len(view.columns))}
    bound = [p for p in ends if all(_bound(rule, both) for (rule, _), both in zip(pairs, ends[p], strict=True))]
    moving = tuple(p for p in bound if any(after != before for after, before in ends[p]))
    # One column is the smaller graph; several together see fewer circles, but are only tried where one will not do.
    for key in (*((p,) for p in moving), moving):
        if key and all(_joining(rule, _ends(rule, atom, key)) is not None for rule, atom in pairs):
            return Shield(view, key)
    return None


def _ends(rule: Rule, atom: Atom, key: Sequence[int]) -> tuple[Term, ...]:
    return tuple(args[p] for args in (rule.head.args, atom.args) for p in key)


def _recursive(view: View) -> Iterator[tuple[Rule, Atom]]:
    """Each recursive atom, with its rule."""
    return (
        (rule, literal)
        for rule in view.rules
        for literal in rule.body
        if isinstance(literal, Atom) and literal.relation == view.name
    )


def _lower(rule: Rule) -> list[Atom]:
    return [literal for literal in rule.body if isinstance(literal, Atom) and literal.relation != rule.head.relation]


def _bound(rule: Rule, terms: Sequence[Term]) -> bool:
    names = {v.name for atom in _lower(rule) for v in literal_variables(atom)}
    return all(isinstance(term, Const) or (isinstance(term, Var) and term.name in names) for term in terms)


def _joining(rule: Rule, ends: Sequence[Term]) -> tuple[Atom, ...] | None:
    """The lower atoms that join the ends, by shared variables; None where they are not joined, but multiplied."""
    wanted = {term.name for term in ends if isinstance(term, Var)}
    left, joined, names = _lower(rule), list[Atom](), set(sorted(wanted)[:1])
    while found := [atom for atom in left if names & {v.name for v in literal_variables(atom)}]:
        joined += found
        left = [atom for atom in left if atom not in found]
        names |= {v.name for atom in found for v in literal_variables(atom)}
    return tuple(joined) if joined and wanted <= names else None


def _columns(kinds: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(Column(f"c{i}", column.type) for i, column in enumerate(kinds))
