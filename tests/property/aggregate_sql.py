"""A rule with sets as one SQL query: what DuckDB makes of it is what users of SQL would expect.

Written from the rule as people write it, before any rewriting, so that neither the hidden
views nor what accumulates in them is shared with it. Functions are left out, but for `+ - *`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import duckdb
import pyarrow as pa
from tests.property.own_aggregates import built_in, in_sql, is_inexact

from foreset.ir.aggregates import Definition
from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Aggregated, Atom, Comparison, Literal, Negation, Rule, SetOf, Test, literal_variables
from foreset.ir.terms import Call, Const, Row, Term, Value, Var, variables
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.store.types import arrow_type
from foreset.values.widen import widened

OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
Outside = Mapping[str, str]  # where the variables of the rule are
Definitions = Mapping[str, Definition]


class Unsaid(Exception):
    """The rule cannot be said here."""


def contents(view: View, program: Program, database: Mapping[str, frozenset[Row]]) -> frozenset[Row]:
    """The rows of a view of one rule with sets, by DuckDB."""
    connection = _connection()
    columns = program.columns_of()
    for name, relation in columns.items():
        rows = sorted(database.get(name, ()), key=repr)
        arrays = [pa.array([_plain(row[i]) for row in rows], arrow_type(c.type)) for i, c in enumerate(relation)]
        connection.register(name, pa.table(arrays, names=[c.name for c in relation]))
    found: set[Row] = set()
    for rule in view.rules:
        text = _query(rule, columns, {one.name: one for one in program.aggregates})
        for row in connection.execute(text).fetchall():
            found.add(tuple(_value(v, c.type) for v, c in zip(row, view.columns, strict=True)))
    return frozenset(found)


def _value(value: object, kind: Type) -> Value:
    """What DuckDB gave, in the type of the column: heads widen."""
    return canonical(widened(_tuples(value), kind), kind)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def agree(view: View, program: Program, mine: frozenset[Row], theirs: frozenset[Row]) -> bool:
    """The same rows; numbers that are rounded on the way may differ in their last digits."""
    if mine == theirs:
        return True
    known = {one.name: one for one in program.aggregates}
    made = {made.function for rule in view.rules for one in rule.sets for made in one.aggregates}
    summed = "sum" in made and any(column.type.is_fractional for column in view.columns)  # of doubles, in some order
    inexact = summed or any(is_inexact(name, known) for name in made)
    return inexact and {_rounded(row) for row in mine} == {_rounded(row) for row in theirs}


def _rounded(row: Row) -> tuple[object, ...]:
    return tuple(round(float(v), 6) if _number(v) else "NaN" if isinstance(v, float) else v for v in row)


def _number(value: Value) -> bool:
    odd = isinstance(value, float) and math.isnan(value)
    return type(value).__name__ in ("float", "Decimal") and not odd


def _plain(value: Value) -> object:
    return list(value) if isinstance(value, tuple) else value


def _tuples(value: object) -> Value:
    return tuple(value) if isinstance(value, list) else value  # type: ignore[return-value]


@dataclass(slots=True)
class _Select:
    """Tables and conditions so far, and where each variable is."""

    columns: Mapping[str, tuple[Column, ...]]
    known: Definitions = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    at: dict[str, str] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)  # of those, what the rule around it gives

    def join(self, atom: Atom, alias: str) -> None:
        """A positive atom."""
        self.tables.append(f'"{atom.relation}" {alias}')
        for name, arg in _named(atom, self.columns):
            place = f'{alias}."{name}"'
            if isinstance(arg, Var) and arg.name != "_":
                if arg.name in self.at:
                    self.where.append(f"{self.at[arg.name]} = {place}")
                self.at.setdefault(arg.name, place)
            elif isinstance(arg, Const):
                self.where.append(f"{place} = {_term(arg, {})}")

    def expressions(self, atom: Atom, alias: str) -> None:
        """Arguments that are computed, once all variables are there."""
        for name, arg in _named(atom, self.columns):
            if isinstance(arg, Call):
                self.where.append(f'{alias}."{name}" = {_term(arg, self.at)}')

    def rest(self, literals: list[Literal]) -> None:
        """Assignments as soon as they can be made, then conditions."""
        for literal in self.assign(literals):
            self.where.append(_condition(literal, self.at, self.columns))

    def assign(self, literals: list[Literal]) -> list[Literal]:
        """Make the assignments that can be made; what is left."""
        waiting = list(literals)
        settled = False
        while not settled:
            settled = True
            for literal in list(waiting):
                if isinstance(literal, Comparison) and (given := _given(literal, self.at)):
                    self.at[given[0]] = given[1]
                    waiting.remove(literal)
                    settled = False
        return waiting


def _named(atom: Atom, columns: Mapping[str, tuple[Column, ...]]) -> Iterator[tuple[str, Term]]:
    names = atom.columns or tuple(column.name for column in columns[atom.relation])
    return zip(names, atom.args, strict=True)


def _given(literal: Comparison, at: Mapping[str, str]) -> tuple[str, str] | None:
    if literal.op != "=":
        return None
    for var, term in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(var, Var) and var.name not in at and all(v.name in at for v in variables(term)):
            return var.name, _term(term, at)
    return None


def _condition(literal: Literal, at: Mapping[str, str], columns: Mapping[str, tuple[Column, ...]]) -> str:
    match literal:
        case Comparison(op=op, left=left, right=right):
            return f"{_term(left, at)} {OPERATORS[op]} {_term(right, at)}"
        case Test(call=Call(function="is_null", args=(term,)), negated=negated):
            return f"{_term(term, at)} IS {'NOT ' if negated else ''}NULL"
        case Negation(atom=atom):
            inner: dict[str, str] = {}
            tests = []
            for name, arg in _named(atom, columns):
                place = f'n."{name}"'
                if isinstance(arg, Var) and arg.name not in at:
                    if arg.name != "_" and arg.name in inner:
                        tests.append(f"{inner[arg.name]} = {place}")
                    inner.setdefault(arg.name, place)
                else:
                    tests.append(f"{place} = {_term(arg, at)}")
            return f'NOT EXISTS (SELECT 1 FROM "{atom.relation}" n WHERE {" AND ".join(tests) or "true"})'
        case _:
            raise Unsaid(str(literal))


def _term(term: Term, at: Mapping[str, str]) -> str:
    match term:
        case Var(name=name):
            return at[name]
        case Const(value=str() as text):
            return "'" + text.replace("'", "''") + "'"
        case Const(value=float() as number):
            return f"CAST({number} AS DOUBLE)"
        case Const(value=value, type=kind):
            return f"CAST('{value}' AS DATE)" if kind.name == "date" else str(value).lower()
        case Call(function="neg", args=(only,)):
            return f"(-{_term(only, at)})"
        case Call(function="+" | "-" | "*" as op, args=(left, right)):
            return f"({_term(left, at)} {op} {_term(right, at)})"
        case _:
            raise Unsaid(str(term))


def _conjunction(one: SetOf, columns: Mapping[str, tuple[Column, ...]], number: int, outside: Outside) -> _Select:
    """The body of a set; what has no value inside has it outside."""
    select = _Select(columns)
    atoms = [literal for literal in one.body if isinstance(literal, Atom)]
    for i, atom in enumerate(atoms):
        select.join(atom, f"u{number}_{i}")
    rest = select.assign([literal for literal in one.body if not isinstance(literal, Atom)])
    bare = {term.name for term in one.elements if isinstance(term, Var)}
    for name in _names(one) - select.at.keys() - bare:
        if name in outside and name[0] != "_" and name not in one.free:
            select.at[name] = select.outer[name] = outside[name]
    for i, atom in enumerate(atoms):
        select.expressions(atom, f"u{number}_{i}")
    select.rest(rest)
    return select


def _names(one: SetOf) -> set[str]:
    """The variables in the body and in what is gathered."""
    inside = {v.name for literal in one.body for v in literal_variables(literal)}
    return inside | {v.name for term in one.elements for v in variables(term)}


def _query(rule: Rule, columns: Mapping[str, tuple[Column, ...]], known: Definitions) -> str:
    select = _Select(columns, known)
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    for i, atom in enumerate(atoms):
        select.join(atom, f"t{i}")
    rest = select.assign([literal for literal in rule.body if not isinstance(literal, Atom)])
    waiting = list(enumerate(rule.sets))
    while waiting:  # each set after those that give its outer variables their values
        ready = next((each for each in waiting if _unknown(each[1], rule) <= select.at.keys()), waiting[0])
        waiting.remove(ready)
        _meet(select, *ready, rule)
        rest = select.assign(rest)
    for i, atom in enumerate(atoms):
        select.expressions(atom, f"t{i}")
    select.rest(rest)
    picked = ", ".join(f"{_term(arg, select.at)} AS h{i}" for i, arg in enumerate(rule.head.args))
    where = f" WHERE {' AND '.join(select.where)}" if select.where else ""
    return f"SELECT DISTINCT {picked} FROM {', '.join(select.tables)}{where}"


def _meet(select: _Select, number: int, one: SetOf, rule: Rule) -> None:
    """The groups of a set, joined to what is there already.

    A NULL finds none, but where the variable only names groups: a group whose key is NULL is one group. What a set
    takes from other sets joins as rows do.
    """
    named = _named_beside(one, rule)
    text, names, outer = _set(one, number, {n: p for n, p in select.at.items() if n in named}, named, select)
    select.tables.append(f"{'LATERAL ' if outer else ''}({text}) s{number}")
    keys = _only_keys(rule)
    select.where += [f"{place} IS NOT NULL" for name, place in outer.items() if name not in keys]
    taken = {name for other in _giving(one, rule) for name in _names(other)}
    for name in names:
        place = f's{number}."{name}"'
        if name in select.at:
            same = "IS NOT DISTINCT FROM" if name in keys - taken else "="  # as `USING` of two GROUP BYs is meant
            select.where.append(f"{select.at[name]} {same} {place}")
        select.at.setdefault(name, place)


def _only_keys(rule: Rule) -> set[str]:
    """The variables of sets that no other literal joins or compares, and that are no result."""
    named = {v.name for one in rule.sets for literal in one.body for v in literal_variables(literal)}
    others = (literal for literal in rule.body if isinstance(literal, Atom | Comparison))
    joined = {v.name for literal in others for v in literal_variables(literal)}
    return named - joined - {v.name for one in rule.sets for made in one.aggregates for v in variables(made.result)}


def _giving(one: SetOf, rule: Rule) -> list[SetOf]:
    """The other sets without which the outer variables of a set have no value."""
    joined = {v.name for literal in rule.body if isinstance(literal, Atom) for v in literal_variables(literal)}
    found, todo, seen = list[SetOf](), sorted(_unknown(one, rule)), set[str]()
    while todo:
        if (name := todo.pop()) in joined | seen:
            continue
        seen.add(name)
        for literal in rule.body:
            if isinstance(literal, Comparison) and literal.op == "=" and Var(name) in (literal.left, literal.right):
                todo += [v.name for v in literal_variables(literal)]
        others = (other for other in rule.sets if other is not one and other not in found)
        source = next((other for other in others if name in _given_by(other, rule)), None)
        if source is not None:
            found.append(source)
            todo += sorted(_unknown(source, rule))
    return found


def _given_by(one: SetOf, rule: Rule) -> set[str]:
    results = {v.name for made in one.aggregates for v in variables(made.result)}
    shown = _names(one) if not one.local else _names(one) & _named_beside(one, rule)
    return results | shown - _unknown(one, rule)


def _named_beside(one: SetOf, rule: Rule) -> set[str]:
    """What the rest of the rule names: its head, its literals, and those of `setof`, but not what other braces hold."""
    found = {v.name for literal in (rule.head, *rule.body) for v in literal_variables(literal)}
    found |= {v.name for each in rule.sets for made in each.aggregates for v in variables(made.result)}
    for other in rule.sets:
        if other is not one and not other.local:
            gathered = {v.name for term in other.elements for v in variables(term)}
            found |= {v.name for literal in other.body for v in literal_variables(literal)} - gathered - {*other.free}
    if not one.local:
        found |= {n for other in rule.sets if other.local for n in _names(other) if n in _named_beside(other, rule)}
    return {name for name in found if name[0] != "_"}


def _unknown(one: SetOf, rule: Rule) -> set[str]:
    """The variables of a set that only the rest of the rule gives a value."""
    select = _Select({})
    inside = {arg.name for each in one.body if isinstance(each, Atom) for arg in each.args if isinstance(arg, Var)}
    select.at = dict.fromkeys(inside, "?")
    select.assign([literal for literal in one.body if isinstance(literal, Comparison)])
    bare = {term.name for term in one.elements if isinstance(term, Var)}
    return (_names(one) - select.at.keys() - bare - {*one.free}) & _named_beside(one, rule)


def _set(one: SetOf, number: int, outside: Outside, named: set[str], around: _Select) -> tuple[str, list[str], Outside]:
    """The groups of a set with what is made of it, the variables that it gives, and those that it takes."""
    inner = _conjunction(one, around.columns, number, outside)
    gathered = {v.name for term in one.elements for v in variables(term)}
    inside = dict.fromkeys(v.name for literal in one.body for v in literal_variables(literal))
    groups = [n for n in inside if n in inner.at and n[0] != "_" and n not in gathered and n not in one.free]
    groups = [n for n in groups if n not in inner.outer and (n in named or not one.local)]
    picked = [f'{inner.at[n]} AS "{n}"' for n in groups]
    picked += [f"{_term(term, inner.at)} AS e{i}" for i, term in enumerate(one.elements)]
    where = f" WHERE {' AND '.join(inner.where)}" if inner.where else ""
    source = f" FROM {', '.join(inner.tables)}" if inner.tables else ""
    members = f"SELECT DISTINCT {', '.join(picked)}{source}{where}"
    keys = ", ".join(f'"{n}"' for n in groups)
    aggregates = one.aggregates
    if one.var.name in named and not one.local:  # the set itself
        aggregates = (*aggregates, Aggregated("collect", (), one.var))
    results = [made.result.name for made in aggregates if isinstance(made.result, Var)]
    texts = [_aggregate(each, len(one.elements), around.known) for each in aggregates]
    made = ", ".join(f'{text} AS "{result}"' for text, result in zip(texts, results, strict=True))
    tail = f" GROUP BY {keys}" if keys else ""
    head = f"{keys}, {made}" if keys else made
    return f"SELECT {head} FROM ({members}) m{tail} HAVING count(*) > 0", [*groups, *results], inner.outer


def _aggregate(made: Aggregated, width: int, known: Definitions) -> str:
    elements = [f"e{i}" for i in range(width)]
    name = made.function
    return in_sql(name, made.args, elements, known) if name in known else built_in(name, made.args, elements)
