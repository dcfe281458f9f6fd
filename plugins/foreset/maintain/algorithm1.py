"""Algorithm 1 of paper 000 as rules that people can read: what `dred` runs, in the paper's words.

The rules come from the functions that `dred` itself translates, so a print of them cannot
drift from what runs. Working versions become the paper's: the rows of the last round are
`del` or `ins` without a round, what is left, live or taken back is `new`, and the net
differentials with which a lower relation enters are its `del` and `ins` (section 4.2).

Where a changed negation has arguments of its own, the paper's rule would over-shoot on
insertion; the helper that narrows it is listed too, under `H`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Literal, Negation, Rule, atoms
from foreset.ir.strata import Stratum
from foreset.ir.terms import Term, Var
from foreset.ir.versions import Version
from foreset.maintain.differentiate import Variant, deletions, insertions, rederivation

Pair = tuple[str, Rule]

_IN_PAPER = {
    Version.OLD: Version.OLD,
    Version.DEL_NEXT: Version.DEL,
    Version.MINUS: Version.DEL,
    Version.INS_NEXT: Version.INS,
    Version.PLUS: Version.INS,
    Version.NEW: Version.NEW,
    Version.LEFT: Version.NEW,
    Version.LIVE: Version.NEW,
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """One maintenance rule with its name in the paper: `D1`, `N'1`, `R` ..., and the rule that it is generated for."""

    label: str
    rule: Rule
    origin: Rule


def maintenance_rules(view: View, stratum: Stratum, columns: Mapping[str, Sequence[Column]]) -> tuple[Labelled, ...]:
    """Return the rules that maintain `view`, a member of `stratum`, in the order of the paper's example 1.

    Rules N and E do not depend on the rule that they are generated for, so they come once.
    """
    own = frozenset(stratum.names)
    any_row: dict[str, Atom] = {}
    for rule in view.rules:
        for atom in (rule.head, *(atom for atom, _ in atoms(rule))):
            any_row.setdefault(atom.relation, _any_row(atom, columns))
    listed: dict[Rule, Labelled] = {}
    for origin in view.rules:
        for label, rule in _of_rule(origin, own, any_row):
            listed.setdefault(rule, Labelled(label, rule, origin))
    return tuple(listed.values())


def _of_rule(rule: Rule, own: Set[str], any_row: Mapping[str, Atom]) -> Iterator[Pair]:
    head = any_row[rule.head.relation]
    body = enumerate((atom.relation for atom, _ in atoms(rule)), 1)
    lower = [(i, any_row[relation]) for i, relation in body if relation not in own]
    yield from _changes("D", deletions(rule, own))
    yield _rule("N1", head, Version.NEW, _at(head, Version.OLD), _no(head, Version.DEL))
    for i, atom in lower:
        yield _rule(f"N'{i}", atom, Version.NEW, _at(atom, Version.OLD), _no(atom, Version.DEL))
    red = rederivation(rule, own, Version.LEFT)
    yield "R", replace(red, body=(_at(rule.head, Version.DEL), *map(_in_paper, red.body)))
    yield _rule("N2", head, Version.NEW, _at(head, Version.RED))
    yield from _changes("I", insertions(rule, own))
    yield _rule("N3", head, Version.NEW, _at(head, Version.INS))
    for i, atom in lower:
        yield _rule(f"N''{i}", atom, Version.NEW, _at(atom, Version.INS))
    yield _rule("E1", head, Version.PLUS, _at(head, Version.INS), _no(head, Version.OLD))
    yield _rule("E2", head, Version.MINUS, _at(head, Version.DEL), _no(head, Version.INS), _no(head, Version.RED))


def _changes(letter: str, variants: Iterator[Variant]) -> Iterator[Pair]:
    for i, variant in enumerate(variants, 1):
        if helper := variant.flip.helper:
            for rule in helper.rules:
                yield f"H{letter}{i}", replace(rule, body=tuple(map(_in_paper, rule.body)))
        yield f"{letter}{i}", replace(variant.rule, body=tuple(map(_in_paper, variant.rule.body)))


def _rule(label: str, head: Atom, version: Version, *body: Literal) -> Pair:
    return label, Rule(_at(head, version), body)


def _at(atom: Atom, version: Version) -> Atom:
    return replace(atom, version=version)


def _no(atom: Atom, version: Version) -> Negation:
    return Negation(_at(atom, version))


def _in_paper(literal: Literal) -> Literal:
    match literal:
        case Atom(version=version):
            return replace(literal, version=_IN_PAPER.get(version, version))
        case Negation(atom=atom):
            return replace(literal, atom=replace(atom, version=_IN_PAPER.get(atom.version, atom.version)))
        case _:
            return literal


def _any_row(atom: Atom, columns: Mapping[str, Sequence[Column]]) -> Atom:
    """The atom for any row of its relation: with its own variables where they differ, named by columns where not."""
    names = [arg.name for arg in atom.args if isinstance(arg, Var) and not arg.anonymous]
    if len(set(names)) == len(atom.args):
        return atom
    args: tuple[Term, ...] = tuple(Var(column.name[:1].upper() + column.name[1:]) for column in columns[atom.relation])
    return replace(atom, args=args)
