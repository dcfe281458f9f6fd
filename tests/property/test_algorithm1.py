"""Theorem 1 of paper 000, for the rules that `explain` prints, over random programs and nights.

The printed rules are evaluated as what they are, a stratified Datalog program in which each
state is a relation, stratum by stratum as section 4.2 says. The paper knows no NULL (a join
on NULL finds nothing, so E1 and E2 would let idle changes through): cases with one are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import pytest
from tests.property.checks import after
from tests.property.programs import random_case
from tests.refresh_cases import in_normal_form

from foreset.ir.program import Column, View
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, atoms, literal_variables
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row, Term, Var
from foreset.ir.types import Type, widen
from foreset.ir.versions import Version
from foreset.maintain.algorithm1 import Labelled, maintenance_rules
from foreset.oracle.naive import evaluate

Database = dict[str, frozenset[Row]]
Kinds = Mapping[str, tuple[Type, ...]]
SEEDS = 100


@pytest.mark.parametrize("seeds", [range(n, n + 25) for n in range(0, SEEDS, 25)], ids=str)
def test_theorem_1(seeds: range) -> None:
    compared = sum(checked(seed) for seed in seeds)
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {compared} differentials compared")
    assert compared > 20, "too many cases have a NULL"


def checked(seed: int) -> int:
    """How many differentials of one case were compared."""
    case = random_case(seed)
    program, layering = in_normal_form(case.program)
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    sources: Database = {source.name: frozenset() for source in program.sources}
    old = evaluate(layering.strata, sources, kinds, program.max_rounds)
    compared = 0
    for night in case.nights:
        sources = after(sources, night)
        new = evaluate(layering.strata, sources, kinds, program.max_rounds)
        if not any(None in row for row in chain(*old.values(), *new.values())):
            for stratum in layering.strata:
                printed = chain(*(maintenance_rules(v, stratum, program.columns_of()) for v in stratum.views))
                found = run(tuple(printed), states(stratum, old, new), kinds, program.max_rounds)
                for view in stratum.names:
                    plus, minus = new[view] - old[view], old[view] - new[view]
                    where = f"seed {seed}, {view}"
                    assert (found[f"{view}_plus"], found[f"{view}_minus"]) == (plus, minus), where
                    compared += 1
        old = new
    return compared


def states(stratum: Stratum, old: Database, new: Database) -> Database:
    """What the rules of a stratum start from: old states, and the net changes of all that is lower."""
    facts = {name: old[name] for name in (*stratum.reads, *stratum.names)}
    facts |= {f"{name}_ins": new[name] - old[name] for name in stratum.reads}
    return facts | {f"{name}_del": old[name] - new[name] for name in stratum.reads}


def run(labelled: tuple[Labelled, ...], facts: Database, kinds: Kinds, max_rounds: int) -> Database:
    """Evaluate labelled rules, lowest negations first."""
    rules: dict[str, list[Rule]] = {}
    schemas = {name: kinds.get(name) or kinds[name[:-4]] for name in facts}
    for found in labelled:
        made = flat(found.rule, kinds)
        rules.setdefault(made.head.relation, []).append(made)
        for atom in (found.rule.head, *(atom for atom, _ in atoms(found.rule))):
            schemas.setdefault(flat_atom(atom).relation, columns_of(atom, found.rule, kinds))
    level = dict.fromkeys(schemas, 0)
    for _ in rules:
        for head, of in rules.items():
            level[head] = max(level[head], *(level[a.relation] + negated for r in of for a, negated in atoms(r)))
    database = {**dict.fromkeys(schemas.keys() - rules.keys(), frozenset()), **facts}
    for number in sorted({level[head] for head in rules}):
        heads = [head for head in rules if level[head] == number]
        views = tuple(View(h, tuple(Column("c", k) for k in schemas[h]), tuple(rules[h])) for h in heads)
        database = evaluate((Stratum(1, 1, views, True, False, True, (), ()),), database, schemas, max_rounds)
    return database


def columns_of(atom: Atom, rule: Rule, kinds: Kinds) -> tuple[Type, ...]:
    """Of a relation of the program, or of a helper: its arguments are variables, or one constant."""
    return kinds.get(atom.relation) or tuple(rule.types[a.name] if isinstance(a, Var) else a.type for a in atom.args)


def flat(rule: Rule, kinds: Kinds) -> Rule:
    """The rule with a relation for each state, and types for the variables that rules N and E have."""
    types = {
        arg.name: kind
        for atom in (rule.head, *(atom for atom, _ in atoms(rule)))
        for arg, kind in zip(atom.args, kinds.get(atom.relation, ()), strict=False)
        if isinstance(arg, Var)
    }
    types |= rule.types
    compared: list[Literal] = []  # last, when every value is there
    read = [widened(flat_literal(literal), literal, types, kinds, compared) for literal in rule.body]
    bound = frozenset(v.name for part in read if isinstance(part, Atom) for v in literal_variables(part))
    body = [compare_if(literal, bound) for literal in read]
    return replace(rule, head=flat_atom(rule.head), body=(*body, *compared), types=types)


def widened(
    flattened: Literal, literal: Literal, types: dict[str, Type], kinds: Kinds, compared: list[Literal]
) -> Literal:
    """R reads the head of its rule, whose columns may be wider than the variables: compare instead of joining."""
    if not (isinstance(literal, Atom) and isinstance(flattened, Atom) and literal.relation in kinds):
        return flattened
    args: list[Term] = []
    for arg, kind in zip(literal.args, kinds[literal.relation], strict=True):
        if isinstance(arg, Var) and widen(types[arg.name], kind) != types[arg.name]:
            wide = Var(f"{arg.name}+{len(args)}")
            types[wide.name] = kind
            compared.append(Comparison("=", wide, arg))
            args.append(wide)
        else:
            args.append(arg)
    return replace(flattened, args=tuple(args))


def flat_literal(literal: Literal) -> Literal:
    match literal:
        case Atom():
            return flat_atom(literal)
        case Negation(atom=atom):
            return replace(literal, atom=flat_atom(atom))
        case _:
            return literal


def compare_if(literal: Literal, bound: frozenset[str]) -> Literal:
    """A value that an atom binds too, such as the flip of a negation, is compared."""
    if isinstance(literal, Let) and literal.var.name in bound:
        return Comparison("=", literal.var, literal.term)
    return literal


def flat_atom(atom: Atom) -> Atom:
    plain = atom.version in (Version.OLD, Version.CURRENT)
    name = atom.relation if plain else f"{atom.relation}_{atom.version}"
    return replace(atom, relation=name, version=Version.CURRENT)
