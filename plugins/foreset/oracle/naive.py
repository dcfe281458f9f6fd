"""Full evaluation, as the semantics reads: the oracle, which shares no code with `maintain`.

Stratum after stratum, each rule over and over until no row is new, every atom matched
against every row. Nothing clever, so nothing to get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import chain

from foreset.errors import EvaluationError
from foreset.ir.program import Program, View, member_columns
from foreset.ir.rules import Atom, Comparison, Let, Literal, Negation, Rule, Test, null_safe
from foreset.ir.strata import Stratum
from foreset.ir.terms import Const, Row, Term, Value, Var
from foreset.ir.types import Type
from foreset.mediated.outside import outside
from foreset.values.groups import gather_all
from foreset.values.terms import compile_comparison, compile_test, equal, read_as
from foreset.values.widen import widened

Database = Mapping[str, frozenset[Row]]
Binding = dict[str, Value]


def evaluate(
    strata: tuple[Stratum, ...],
    sources: Database,
    schemas: Mapping[str, tuple[Type, ...]],
    max_rounds: int,
    program: Program | None = None,
) -> dict[str, frozenset[Row]]:
    """Return the contents of every relation, sources included; `program` where domains or constraints take part."""
    database = dict(sources)
    for stratum in strata:
        if stratum.given is not None:
            database[stratum.names[0]] = frozenset(stratum.given)
            continue
        if stratum.own_way:
            assert program is not None
            database |= outside(stratum, database, program)
            continue
        if stratum.aggregation is not None:
            database |= _groups(stratum.views[0], database, schemas)
            continue
        database |= {name: frozenset() for name in stratum.names}
        for _ in range(max_rounds + 1):
            grown = {view.name: _grown(view, database, schemas) for view in stratum.views}
            if all(grown[name] == database[name] for name in stratum.names):
                break
            database |= grown
        else:
            raise EvaluationError(f"{stratum.title} has not ended after {max_rounds} rounds")
    return database


def _groups(view: View, database: Database, schemas: Mapping[str, tuple[Type, ...]]) -> dict[str, frozenset[Row]]:
    """A view of groups: its members by its rule, and what accumulates of them."""
    assert view.aggregation is not None
    name = view.aggregation.members
    empty = {**database, name: frozenset[Row]()}
    members = database[name] if view.aggregation.stored else _grown(
        View(name, (), view.rules), empty, {**schemas, name: tuple(c.type for c in member_columns(view))}
    )  # fmt: skip
    found = gather_all(members, view.aggregation, view.rules[0])
    return {view.name: frozenset((*group, *row) for group, row in found.items())}


def _grown(view: View, database: Database, schemas: Mapping[str, tuple[Type, ...]]) -> frozenset[Row]:
    kinds = schemas[view.name]
    found = (
        tuple(_value(arg, kind, binding, rule) for arg, kind in zip(rule.head.args, kinds, strict=True))
        for rule in view.rules
        for binding in _bindings(rule, database, schemas)
    )
    return database[view.name].union(found)


def _bindings(rule: Rule, database: Database, schemas: Mapping[str, tuple[Type, ...]]) -> Iterator[Binding]:
    """Every binding that satisfies the body: atoms first, then the rest in the order of the normal form."""
    partial: list[Binding] = [{}]
    for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
        rows = database[atom.relation]
        safe = null_safe(atom, rule)
        matches = (_match(atom, row, schemas[atom.relation], b, rule, safe) for b in partial for row in rows)
        partial = [binding for binding in matches if binding is not None]
    for literal in rule.body:
        if not isinstance(literal, Atom):
            found = (_tested(literal, binding, rule, database, schemas) for binding in partial)
            partial = list(chain.from_iterable(found))
    yield from partial


def _match(
    atom: Atom, row: Row, kinds: tuple[Type, ...], binding: Binding, rule: Rule, safe: Set[int] = frozenset()
) -> Binding | None:
    """The binding with what `row` says; `safe` are the places at which a NULL meets a NULL."""
    extended = dict(binding)
    for place, (arg, value, kind) in enumerate(zip(atom.args, row, kinds, strict=True)):
        if isinstance(arg, Const):
            if value is None or not equal(value, arg.value):
                return None
        elif isinstance(arg, Var):
            wide = value if rule.types[arg.name] == kind else widened(value, rule.types[arg.name])
            if arg.name in extended and not (
                (place in safe and extended[arg.name] is None) if wide is None else equal(extended[arg.name], wide)
            ):
                return None
            extended.setdefault(arg.name, wide)
    return extended


def _tested(
    literal: Literal, binding: Binding, rule: Rule, database: Database, schemas: Mapping[str, tuple[Type, ...]]
) -> Iterator[Binding]:
    names = {name: i for i, name in enumerate(binding)}
    values = tuple(binding.values())
    match literal:
        case Let(var=var, term=term):
            yield {**binding, var.name: read_as(term, rule.types[var.name], names, rule.types)(values)}
            return
        case Comparison():
            holds = compile_comparison(literal, names, rule.types)(values)
        case Test():
            holds = compile_test(literal, names, rule.types)(values)
        case Negation(atom=atom):
            kinds = schemas[atom.relation]
            holds = all(_match(atom, row, kinds, binding, rule) is None for row in database[atom.relation])
        case _:
            holds = True
    if holds:
        yield binding


def _value(arg: Term, kind: Type, binding: Binding, rule: Rule) -> Value:
    if isinstance(arg, Var):
        value = binding[arg.name]
        return value if rule.types[arg.name] == kind else widened(value, kind)
    return arg.value if isinstance(arg, Const) else None
