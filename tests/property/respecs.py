"""What happens to a spec and to its views between nights: columns are renamed, retyped and put in another order, and
views are edited. With it, what P' and P♭ make of edits by hand: `not (...)` in each rule of a view, and facts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt, ne
from random import Random
from typing import Any

from tests.refresh_cases import load_program, spec_text

from foreset.constraints.sorts import sort_of
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Atom, Literal, Negation, Rule, Test
from foreset.ir.terms import Call, Const, Row, Term, Value
from foreset.ir.types import BIGINT, DOUBLE, INT, SMALLINT, Type
from foreset.rewrite.pipeline import prepare

COMPARE: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
WIDER = {SMALLINT: (INT, BIGINT, DOUBLE), INT: (BIGINT, DOUBLE), BIGINT: (DOUBLE,)}
Condition = tuple[int, str, Value]  # the place of a column, an operator, a constant


def with_sets(rng: Random, program: Program) -> Program:
    """`program` with one more view, whose column is the set of what belongs to a key."""
    relations = (*program.sources, *program.views)
    able = [one for one in relations if len(one.columns) > 1 and not any(c.type.is_fractional for c in one.columns[:2])]
    if not able:
        return program
    read = rng.choice(able)
    key, element = (column.type for column in read.columns[:2])
    text = f"""{spec_text(program, program.group)}\
  zs:
    columns: {{k: {_quoted(key)}, items: {_quoted(f"array<{element}>")}}}
    rules:
      - zs(K, S) :- S = collect{{Y | {read.name}(K, Y{", _" * (len(read.columns) - 2)})}}
"""
    return load_program(text, "random.yaml")


def _quoted(kind: object) -> str:
    return f'"{kind}"'


# ---------------------------------------------------------------- columns
def respecced(rng: Random, program: Program) -> Program | None:
    """`program` with other columns of one or two views; None where its rules do not allow it."""
    found = program
    for view in rng.sample(program.views, min(len(program.views), rng.choice((1, 1, 2)))):
        change = rng.choice((_renamed, _retyped, _retyped, _retyped, _reordered, _reordered))
        found = change(rng, found, next(one for one in found.views if one.name == view.name))
    return found if found != program and prepare(found).program is not None else None


def _renamed(rng: Random, program: Program, view: View) -> Program:
    taken = {column.name for column in view.columns}
    names = {name: next(n for n in (f"d{rng.randrange(10)}" for _ in range(99)) if n not in taken)
             for name in taken if rng.random() < 0.6}  # fmt: skip
    if len(set(names.values())) < len(names):
        return program
    columns = tuple(replace(column, name=names.get(column.name, column.name)) for column in view.columns)

    def atom(one: Atom) -> Atom:
        said = one.columns
        return one if said is None else replace(one, columns=tuple(names.get(name, name) for name in said))

    return _with(program, view.name, columns, atom)


def _retyped(rng: Random, program: Program, view: View) -> Program:
    columns = tuple(
        replace(column, type=rng.choice(WIDER[column.type])) if column.type in WIDER and rng.random() < 0.7 else column
        for column in view.columns
    )
    return _with(program, view.name, columns, lambda one: one)


def _reordered(rng: Random, program: Program, view: View) -> Program:
    order = rng.sample(range(len(view.columns)), len(view.columns))

    def atom(one: Atom) -> Atom:
        return replace(one, args=tuple(one.args[i] for i in order)) if one.columns is None else one

    return _with(program, view.name, tuple(view.columns[i] for i in order), atom)


def _with(program: Program, name: str, columns: tuple[Column, ...], change: Callable[[Atom], Atom]) -> Program:
    """`program` with these columns of a view, and each atom over it changed accordingly."""

    def literal(one: Literal) -> Literal:
        match one:
            case Atom(relation=relation):
                return change(one) if relation == name else one
            case Negation(atom=atom) if atom.relation == name:
                return replace(one, atom=change(atom))
            case _:
                return one

    def rule(one: Rule) -> Rule:
        head = change(one.head) if one.head.relation == name else one.head
        sets = tuple(replace(each, body=tuple(map(literal, each.body))) for each in one.sets)
        return replace(one, head=head, body=tuple(map(literal, one.body)), sets=sets)

    views = (
        replace(view, columns=columns if view.name == name else view.columns, rules=tuple(map(rule, view.rules)))
        for view in program.views
    )
    return replace(program, views=tuple(views))


# ---------------------------------------------------------------- edits
@dataclass(frozen=True, slots=True)
class Correction:
    """An edit as Python has it; its columns by name, so that it may stop to fit."""

    view: str
    kind: str
    where: tuple[tuple[str, str, Value], ...]

    @property
    def text(self) -> str:
        """As a person writes it."""
        return ", ".join(f"{name} {op} {_text(value)}" for name, op, value in self.where)

    def conditions(self, view: View) -> list[Condition]:
        """With places for names."""
        places = {column.name: i for i, column in enumerate(view.columns)}
        return [(places[name], op, value) for name, op, value in self.where]

    def fits(self, program: Program) -> bool:
        """Whether its view still has its columns, and types that regions know."""
        view = next(view for view in program.views if view.name == self.view)
        kinds = {column.name: column.type for column in view.columns}
        return all(name in kinds and sort_of(kinds[name]) is not None for name, _, _ in self.where) and (
            self.kind == "delete" or len(self.where) == len(kinds)
        )


def correction(rng: Random, view: View, rows: Sequence[Row], domain: Callable[[Type], Value]) -> Correction | None:
    """Rows to take out or to put in, mostly such as occur; None where regions know no column of the view."""
    known = [i for i, column in enumerate(view.columns) if sort_of(column.type) is not None]
    if not known:
        return None
    drawn = {i: domain(view.columns[i].type) for i in known}
    some = rng.choice(rows) if rows and rng.random() < 0.75 else None
    row = {i: drawn[i] if some is None or some[i] is None else some[i] for i in known}
    names = [column.name for column in view.columns]
    if rng.random() < 0.35 and len(known) == len(names):
        return Correction(view.name, "insert", tuple((names[i], "=", row[i]) for i in known))
    if rng.random() < 0.65:
        taken = known if rng.random() < 0.6 else rng.sample(known, rng.randint(1, len(known)))
        return Correction(view.name, "delete", tuple((names[i], "=", row[i]) for i in taken))
    operators = {i: ("=", "!=") if isinstance(row[i], bool) else ("!=", "<=", ">", "<", ">=") for i in known}
    taken = rng.sample(known, rng.randint(1, len(known)))
    return Correction(view.name, "delete", tuple((names[i], rng.choice(operators[i]), row[i]) for i in taken))


def corrected(program: Program, corrections: Sequence[Correction]) -> Program:
    """P' and P♭ by hand."""
    return replace(program, views=tuple(_corrected(view, corrections) for view in program.views))


def _corrected(view: View, corrections: Sequence[Correction]) -> View:
    rules, facts = view.rules, dict[Row, Rule]()
    for one in corrections:
        if one.view != view.name:
            continue
        wanted = one.conditions(view)
        if one.kind == "insert":
            row = tuple(value for _, _, value in sorted(wanted))
            args = tuple(Const(value, column.type) for value, column in zip(row, view.columns, strict=True))
            facts[row] = Rule(Atom(view.name, args), (), f"{view.name}#put in")
        else:
            rules = tuple(_without(rule, wanted, view) for rule in rules)
            facts = {row: fact for row, fact in facts.items() if not all(COMPARE[o](row[i], v) for i, o, v in wanted)}
    return replace(view, rules=(*rules, *facts.values()))


def _without(rule: Rule, wanted: Sequence[Condition], view: View) -> Rule:
    names = rule.head.columns or tuple(column.name for column in view.columns)
    terms: dict[str, Term] = dict(zip(names, rule.head.args, strict=True))
    tests = []
    for place, op, value in wanted:
        column = view.columns[place]
        tests.append(Call(COMPARING[op], (terms[column.name], Const(value, column.type))))
    return replace(rule, body=(*rule.body, Test(Call(ALL, tuple(tests)), negated=True)))


def _text(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dt.date():
            return f'date("{value}")'
        case _:
            return str(value)
