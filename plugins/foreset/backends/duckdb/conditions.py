"""Conditions and computed values of a rule, on its joined rows.

DuckDB where it answers as we do: comparisons, and arithmetic that keeps every digit. All other
functions are called in Python, whose failures are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from foreset.backends.duckdb.join_state import Plan, constant, source
from foreset.backends.duckdb.tables import Sql, Table
from foreset.backends.duckdb.terms import COMPARISONS, Writer
from foreset.backends.duckdb.types import from_duck, widening
from foreset.ir.functions import ALL, COMPARING
from foreset.ir.rules import Comparison, Let, Test
from foreset.ir.terms import Call, Const, Term, Value, Var, names_in
from foreset.ir.types import Type, widen
from foreset.machine.bindings import Bindings

_OPERATOR = {function: op for op, function in COMPARING.items()}


def keep(plan: Plan, literals: Sequence[Comparison | Test]) -> list[Comparison | Test]:
    """Test the conditions that DuckDB answers as we do; returns those that must wait."""
    waiting, conditions, values = [], [], dict[str, Value]()
    for literal in literals:
        made = _condition(plan, literal)
        if made is None:
            waiting.append(literal)
        else:
            conditions.append(made.text)
            values |= made.values
    if conditions:
        plan.current = Sql(f"SELECT l.* FROM {source(plan, values)} l WHERE {' AND '.join(conditions)}", values)
    return waiting


def _condition(plan: Plan, literal: Comparison | Test) -> Sql | None:
    """A condition on l that DuckDB answers as we do; None where a function is called."""
    types = plan.rule.types
    match literal:
        case Comparison(op=op, left=(Var() | Const()) as left, right=(Var() | Const()) as right):
            kinds = [types[side.name] if isinstance(side, Var) else side.type for side in (left, right)]
            common = widen(*kinds)
            if common is None or common.element:
                return None
            sides = [_side(plan, side, common) for side in (left, right)]
            text = f"{sides[0].text} {COMPARISONS[op]} {sides[1].text}"
            return Sql(text, {**sides[0].values, **sides[1].values})
        case Test(call=Call(function="is_null", args=(Var(name=name),)), negated=negated):
            return Sql(f"l.{plan.bound[name]} IS {'NOT ' if negated else ''}NULL")
        case Test(call=Call(function=function, args=args), negated=negated) if function == ALL:
            return _all(plan, args, negated=negated)
        case _:
            return None


def _all(plan: Plan, args: Sequence[Term], *, negated: bool) -> Sql | None:
    """That all of some comparisons are true, or that they are not; None where one of them is for Python."""
    made = [_compared(plan, one) for one in args]
    parts = [part for part in made if part is not None]
    if len(parts) < len(made):
        return None
    values = {name: value for part in parts for name, value in part.values.items()}
    return Sql(f"({' AND '.join(part.text for part in parts)}) IS {'NOT ' if negated else ''}TRUE", values)


def _compared(plan: Plan, term: Term) -> Sql | None:
    match term:
        case Call(function=function, args=(left, right)) if function in _OPERATOR:
            return _condition(plan, Comparison(_OPERATOR[function], left, right))
        case _:
            return None


def _side(plan: Plan, side: Var | Const, kind: Type) -> Sql:
    if isinstance(side, Const):
        return Sql(*constant(plan.tables, side, kind))
    return Sql(widening(f"l.{plan.bound[side.name]}", plan.rule.types[side.name], kind))


def settle(plan: Plan, literal: Comparison | Test | Let) -> None:
    """Test or compute in DuckDB where it can be; else the literal, and those after it, wait to be done in Python."""
    if not plan.called:
        text = _exactly(plan, literal)
        if text is not None and isinstance(literal, Let):
            plan.computed[literal.var.name] = (literal, text)
            return
        _compute(plan)
        if _in_duckdb(plan, literal):
            return
    plan.called.append(literal)


def settled(plan: Plan) -> None:
    """Do what waits."""
    _compute(plan)
    called, plan.called = plan.called, []
    _call(plan, called)


def _exactly(plan: Plan, literal: Comparison | Test | Let) -> str | None:
    """The value of a new variable over l, if DuckDB computes it as we do."""
    match literal:
        case Let(var=var, term=Call() as term) if var.name not in plan.bound and names_in(term) <= plan.bound.keys():
            types = plan.rule.types
            writer = Writer(types, lambda name: f"l.{plan.bound[name]}", "TRY_CAST")
            return writer.widened(term, types[var.name])
        case _:
            return None


def _compute(plan: Plan) -> None:
    """New columns, all at once; in Python if one did not fit its type: it is NULL though it has all that it needs."""
    computed, plan.computed = plan.computed, {}
    if not computed:
        return
    before, columns = plan.materialised(), {name: plan.column() for name in computed}
    texts = ", ".join(f"{text} AS {columns[name]}" for name, (_, text) in computed.items())
    lost = " OR ".join(_lost(plan, let.term, columns[name]) for name, (let, _) in computed.items())
    made = _made(plan, f"SELECT l.*, {texts} FROM {before.name} l", lost)
    if made is None:
        _call(plan, [let for let, _ in computed.values()])
        return
    plan.current = made
    plan.bound |= columns


def _made(plan: Plan, text: str, failed: str) -> Table | None:
    """The table of a query, unless it stops (with more than 38 digits) or some of its rows have failed."""
    try:
        made = plan.tables.make(Sql(text))
        ((rows,),) = plan.tables.run(Sql(f"SELECT count(*) FROM {made.name} l WHERE {failed}"))
    except duckdb.Error:
        return None
    return None if rows else made


def _lost(plan: Plan, term: Term, column: str) -> str:
    known = "".join(f" AND l.{plan.bound[name]} IS NOT NULL" for name in sorted(names_in(term)))
    return f"(l.{column} IS NULL{known})"


def _in_duckdb(plan: Plan, literal: Comparison | Test | Let) -> bool:
    """Whether DuckDB could do it, as it has done then."""
    match literal:
        case Let(var=var, term=(Var() | Const()) as term) if var.name not in plan.bound:
            value, column = _side(plan, term, plan.rule.types[var.name]), plan.column()
            values = dict(value.values)
            plan.current = Sql(f"SELECT l.*, {value.text} AS {column} FROM {source(plan, values)} l", values)
            plan.bound[var.name] = column
            return True
        case Comparison() | Test():
            return not keep(plan, [literal])
        case _:
            return False


def _call(plan: Plan, literals: Sequence[Comparison | Test | Let]) -> None:
    """Functions, on the joined rows, in Python: its failures are ours."""
    if not literals:
        return
    tables, types = plan.tables, plan.rule.types
    table = plan.materialised()
    tables.budget.see(table.rows)
    wanted = [(f"wanted {name}", column, kind) for name, (column, kind) in plan.wanted.items()]
    named = [*((name, column, types[name]) for name, column in plan.bound.items()), *wanted]
    kinds = [kind for _, _, kind in named]
    columns = ", ".join(column for _, column, _ in named) or "1"
    rows = from_duck(tables.run(Sql(f"SELECT {columns} FROM {table.name}")), kinds)
    rows = rows if named else [() for _ in rows]
    bindings = Bindings(plan.rule, {name: i for i, (name, _, _) in enumerate(named)}, rows)
    for literal in literals:
        bindings.apply(literal)
    fresh = {name: plan.column() for name, slot in bindings.slots.items() if slot >= len(named)}
    kinds += [types[name] for name in fresh]
    names = [*(column for _, column, _ in named), *fresh.values()]
    plan.current = tables.bring([(*row, None) for row in bindings.rows], (*kinds, _ANY), (*names, "one"))
    plan.bound |= fresh


_ANY = Type("boolean")
