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

from foreset.ir.program import Column, Program, View
from foreset.ir.rules import Aggregated, Atom, Comparison, Literal, Negation, Rule, SetOf, Test, literal_variables
from foreset.ir.terms import Call, Const, Row, Term, Value, Var, variables
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.reference.widen import widened
from foreset.store.types import arrow_type

OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
ROUNDED = ("avg", "stddev", "median", "percentile")  # other steps, other last digits


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
        text = _query(rule, columns)
        for row in connection.execute(text).fetchall():
            found.add(tuple(_value(v, c.type) for v, c in zip(row, view.columns, strict=True)))
    return frozenset(found)


def _value(value: object, kind: Type) -> Value:
    """What DuckDB gave, in the type of the column: heads widen."""
    return canonical(widened(_tuples(value), kind), kind)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def agree(view: View, mine: frozenset[Row], theirs: frozenset[Row]) -> bool:
    """The same rows; numbers that are rounded on the way may differ in their last digits."""
    if mine == theirs:
        return True
    inexact = any(made.function in ROUNDED for rule in view.rules for one in rule.sets for made in one.aggregates)
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
    tables: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    at: dict[str, str] = field(default_factory=dict)

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
        waiting = list(literals)
        settled = False
        while not settled:
            settled = True
            for literal in list(waiting):
                if isinstance(literal, Comparison) and (given := _given(literal, self.at)):
                    self.at[given[0]] = given[1]
                    waiting.remove(literal)
                    settled = False
        for literal in waiting:
            self.where.append(_condition(literal, self.at, self.columns))


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
        case Const(value=value, type=kind):
            return f"CAST('{value}' AS DATE)" if kind.name == "date" else str(value).lower()
        case Call(function="neg", args=(only,)):
            return f"(-{_term(only, at)})"
        case Call(function="+" | "-" | "*" as op, args=(left, right)):
            return f"({_term(left, at)} {op} {_term(right, at)})"
        case _:
            raise Unsaid(str(term))


def _conjunction(body: tuple[Literal, ...], columns: Mapping[str, tuple[Column, ...]]) -> _Select:
    select = _Select(columns)
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    for i, atom in enumerate(atoms):
        select.join(atom, f"t{i}")
    for i, atom in enumerate(atoms):
        select.expressions(atom, f"t{i}")
    select.rest([literal for literal in body if not isinstance(literal, Atom)])
    return select


def _query(rule: Rule, columns: Mapping[str, tuple[Column, ...]]) -> str:
    select = _Select(columns)
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    outside = {v.name for literal in (rule.head, *rule.body) for v in literal_variables(literal)}
    outside |= {v.name for one in rule.sets for made in one.aggregates for v in variables(made.result)}
    for i, atom in enumerate(atoms):
        select.join(atom, f"t{i}")
    joined = {v.name for atom in atoms for v in literal_variables(atom)}
    keys_only = _never_a_result(rule) - joined  # a group whose key is NULL is one group
    for i, one in enumerate(rule.sets):
        text, names = _set(one, outside, columns)
        select.tables.append(f"({text}) s{i}")
        for name in names:
            place = f's{i}."{name}"'
            if name in select.at:
                same = "IS NOT DISTINCT FROM" if name in keys_only else "="  # as `USING` of two GROUP BYs is meant
                select.where.append(f"{select.at[name]} {same} {place}")
            select.at.setdefault(name, place)
    for i, atom in enumerate(atoms):
        select.expressions(atom, f"t{i}")
    select.rest([literal for literal in rule.body if not isinstance(literal, Atom)])
    picked = ", ".join(f"{_term(arg, select.at)} AS h{i}" for i, arg in enumerate(rule.head.args))
    where = f" WHERE {' AND '.join(select.where)}" if select.where else ""
    return f"SELECT DISTINCT {picked} FROM {', '.join(select.tables)}{where}"


def _never_a_result(rule: Rule) -> set[str]:
    """The variables of sets that are no result of an aggregate."""
    named = {v.name for one in rule.sets for literal in one.body for v in literal_variables(literal)}
    return named - {v.name for one in rule.sets for made in one.aggregates for v in variables(made.result)}


def _set(one: SetOf, outside: set[str], columns: Mapping[str, tuple[Column, ...]]) -> tuple[str, list[str]]:
    """The groups of a set with what is made of it, and the variables that it gives."""
    inner = _conjunction(one.body, columns)
    gathered = {v.name for term in one.elements for v in variables(term)}
    named = dict.fromkeys(v.name for literal in one.body for v in literal_variables(literal))
    groups = [n for n in named if n in inner.at and n[0] != "_" and n not in gathered and n not in one.free]
    if one.local:
        groups = [n for n in groups if n in outside]
    picked = [f'{inner.at[n]} AS "{n}"' for n in groups]
    picked += [f"{_term(term, inner.at)} AS e{i}" for i, term in enumerate(one.elements)]
    where = f" WHERE {' AND '.join(inner.where)}" if inner.where else ""
    members = f"SELECT DISTINCT {', '.join(picked)} FROM {', '.join(inner.tables)}{where}"
    keys = ", ".join(f'"{n}"' for n in groups)
    results = [made.result.name for made in one.aggregates if isinstance(made.result, Var)]
    width = len(one.elements)
    made = ", ".join(f'{_aggregate(a, width)} AS "{r}"' for a, r in zip(one.aggregates, results, strict=True))
    tail = f" GROUP BY {keys}" if keys else ""
    head = f"{keys}, {made}" if keys else made
    return f"SELECT {head} FROM ({members}) m{tail} HAVING count(*) > 0", [*groups, *results]


def _aggregate(made: Aggregated, width: int) -> str:
    places = [a.value - 1 for a in made.args if isinstance(a, Const) and isinstance(a.value, int)]
    share = next((a.value for a in made.args if isinstance(a, Const) and not isinstance(a.value, int)), None)
    x, y = (f"e{(places or [0])[0]}", f"e{(places or [0, 1])[1]}" if made.function.startswith("arg") else "")
    texts = {
        "count": "count(*)", "sum": f"sum({x})", "avg": f"avg({x})", "min": f"min({x})", "max": f"max({x})",
        "stddev": f"stddev_samp({x})", "bool_and": f"bool_and({x})", "bool_or": f"bool_or({x})",
        "arg_min": f"(list({x} ORDER BY {y}, {x}) FILTER ({x} IS NOT NULL AND {y} IS NOT NULL))[1]",
        "arg_max": f"(list({x} ORDER BY {y} DESC, {x} DESC) FILTER ({x} IS NOT NULL AND {y} IS NOT NULL))[1]",
        "string_agg": f"string_agg({x}, ',' ORDER BY {x})", "collect": f"list({x} ORDER BY {x} NULLS FIRST)",
        "median": f"quantile_cont(CAST({x} AS DOUBLE), 0.5)",
        "percentile": f"quantile_cont(CAST({x} AS DOUBLE), {share})",
    }  # fmt: skip
    assert width
    return texts[made.function]
