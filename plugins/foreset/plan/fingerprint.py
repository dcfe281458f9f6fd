"""What a view means, as a hash: two texts with one meaning have one fingerprint.

Names of variables, the order of rules, views and literals, comments and layout
do not count. What a view reads counts as far down as the sources, so that a
change of one view changes its dependants too, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from foreset.ir.program import Column, Program, Source, View, member_columns
from foreset.ir.renaming import numbered
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test
from foreset.ir.strata import Layering
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.text import print_rule

Shape = list[object]


def fingerprints(program: Program, layering: Layering) -> dict[str, str]:
    """The fingerprint of every view of a program in normal form."""
    columns = program.columns_of()
    marks: dict[str, str] = {source.name: _hash(_source(source)) for source in program.sources}
    for stratum in layering.strata:
        below = sorted((name, marks[name]) for name in stratum.reads)
        views = sorted([view.name, _columns(view.columns), *_meaning(view, columns)] for view in stratum.views)
        mark = _hash([below, views])
        for name in stratum.names:
            marks[name] = _hash([name, mark]) if len(stratum.names) > 1 else mark
    return {view.name: marks[view.name] for view in program.views}


def own_marks(program: Program) -> dict[str, str]:
    """What each view means by its own rules alone, whatever the views that it reads have come to mean."""
    columns = program.columns_of()
    return {view.name: _hash([view.name, *_meaning(view, columns)]) for view in program.views}


def _meaning(view: View, columns: Mapping[str, Sequence[Column]]) -> Shape:
    if view.given is not None:
        return ["given", _columns(view.columns)]
    if view.called:
        return ["called", view.called]
    if view.constrained:
        return ["constrained", view.evaluate, sorted(print_rule(numbered(rule)) for rule in view.rules)]
    if view.aggregation is None:
        return [sorted(json.dumps(_rule(rule, columns)) for rule in view.rules)]
    members = {view.aggregation.members: member_columns(view)}
    return [repr(view.aggregation), *(_rule(rule, {**columns, **members}) for rule in view.rules)]


def _source(source: Source) -> Shape:
    # Columns count where rules read them: a wider declaration alone changes no view.
    # A key counts: what is kept of derivations may depend on it.
    return [source.name, source.table, source.view, *([sorted(source.key)] if source.key else [])]


def _columns(columns: Sequence[Column]) -> Shape:
    return [[column.name, str(column.type)] for column in columns]


def _rule(rule: Rule, columns: Mapping[str, Sequence[Column]]) -> Shape:
    """The rule with literals in an order of their own, and variables named as they then come."""
    literals = sorted(rule.body, key=lambda literal: json.dumps(_literal(literal, columns, None), default=str))
    names: dict[str, str] = {}
    head = _atom(rule.head, columns, names)
    return [head, [_literal(literal, columns, names) for literal in literals]]


def _literal(literal: Literal, columns: Mapping[str, Sequence[Column]], names: dict[str, str] | None) -> Shape:
    match literal:
        case Atom():
            return ["", *_atom(literal, columns, names)]
        case Negation(atom=atom):
            return ["not", *_atom(atom, columns, names)]
        case Comparison(op=op, left=left, right=right):
            return [op, _term(left, names), _term(right, names)]
        case Test(call=call, negated=negated):
            return ["test", negated, _term(call, names)]
        case Let(var=var, term=term):
            return ["let", _term(var, names), _term(term, names)]


def _atom(atom: Atom, columns: Mapping[str, Sequence[Column]], names: dict[str, str] | None) -> Shape:
    pairs = zip(columns[atom.relation], atom.args, strict=True)
    shown = [
        [column.name, str(column.type), _term(arg, names)]
        for column, arg in pairs
        if not (isinstance(arg, Var) and arg.anonymous)
    ]
    return [atom.relation, shown]


def _term(term: Term, names: dict[str, str] | None) -> object:
    match term:
        case Var(name=name):
            return "?" if names is None else names.setdefault(name, f"V{len(names)}")
        case Const(value=value, type=kind):
            return [str(kind), repr(value)]
        case Call(function=function, args=args):
            return [function, *(_term(arg, names) for arg in args)]


def _hash(shape: object) -> str:
    return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:24]
