"""A stratum of views that are kept by constraints, as a program of clauses, and its entries as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from foreset.constraints.calls import Answers, resolve
from foreset.constraints.decide import satisfiable
from foreset.constraints.form import TRUE, Constraint, conjunction
from foreset.constraints.instances import bound, rows
from foreset.constraints.rows import CONSTRAINT, from_row, to_row, variables_of
from foreset.constraints.rules import Functions, constraint_of, operand, relations_of, scope_of
from foreset.constraints.simplify import simplify
from foreset.constraints.sorts import Variable, sort_of
from foreset.errors import EvaluationError
from foreset.ir.program import Column
from foreset.ir.rules import Atom as Written
from foreset.ir.rules import Rule
from foreset.ir.strata import Stratum
from foreset.ir.terms import Const, Row, Var
from foreset.mediated import dred
from foreset.mediated.fixpoint import MAX_ENTRIES, materialise, t_p, w_p
from foreset.mediated.program import Atom, Clause, Program, Region, asserting, without

Rows = Mapping[str, Iterable[Row]]
Schemas = Mapping[str, Sequence[Column]]


def entries_of(
    stratum: Stratum,
    inputs: Rows,
    schemas: Schemas,
    functions: Functions,
    answers: Answers | None,
    edits: Sequence[tuple[str, Region]] = (),
) -> dict[str, frozenset[Row]]:
    """The entries of each view of `stratum`, as rows; without `answers` calls stay in the constraints."""
    program = edited(program_of(stratum, inputs, schemas, functions), edits)
    if stratum.recursive:
        sets = dred.fixpoint(program)
    else:
        view = materialise(program, w_p if answers is None else t_p(answers))
        sets = {name: view.constraints(name) for name in stratum.names}
    return {
        name: frozenset(
            to_row(part, program.columns[name])
            for said in sets.get(name, ())
            for part in ([said] if answers is None else resolve(said, answers))
        )
        for name in stratum.names
    }


def members(
    entries: Iterable[Row], columns: Sequence[Column], places: Sequence[int], wanted: Iterable[Row], answers: Answers
) -> set[Row]:
    """Which of `wanted`, values of the columns at `places`, are in a view with these entries."""
    own = variables_of(declared(columns))
    parts = [from_row(row, own) for row in entries]
    keys = [own[place] for place in places]

    def holds(row: Row) -> bool:
        found = (bound(part, dict(zip(keys, row, strict=True))) for part in parts)
        return any(satisfiable(one) for part in found for one in (resolve(part, answers) if part.calls else [part]))

    return {row for row in wanted if None not in row and holds(row)}


def instances(
    entries: Iterable[Row], columns: Sequence[Column], answers: Answers, within: Constraint = TRUE
) -> set[Row]:
    """Every row of a view with these entries that is in `within`; Infinite where there is no end to them."""
    own = variables_of(declared(columns))
    parts = (simplify(conjunction(from_row(row, own), within)) for row in entries)
    return {row for part in parts for said in resolve(part, answers) for row in rows(said, own)}


def edited(program: Program, edits: Iterable[tuple[str, Region]]) -> Program:
    """P' and P♭, edit by edit: `delete` or `insert` with its region."""
    for kind, region in edits:
        program = without(program, region) if kind == "delete" else asserting(program, region)
    return program


def program_of(stratum: Stratum, inputs: Rows, schemas: Schemas, functions: Functions) -> Program:
    """The rules of the views, and a fact for each row or entry of what they read."""
    columns = {name: variables_of(declared(schemas[name])) for name in (*stratum.names, *stratum.reads)}
    clauses = [_clause(0, rule, schemas, functions) for view in stratum.views for rule in view.rules]
    for name in stratum.reads:
        facts = _facts(inputs.get(name, ()), schemas[name], columns[name])
        clauses += [Clause(0, Atom(name, columns[name]), said) for said in facts]
        if len(clauses) > MAX_ENTRIES:
            hint = "views that are kept by constraints are for few rows: narrow them in a view of rows, and read that"
            raise EvaluationError(f"`{name}` has more than {MAX_ENTRIES:,} rows for {', '.join(stratum.names)}", hint)
    return Program(columns, tuple(_numbered(clauses)))


def declared(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that users see, and not that of constraints."""
    return tuple(column for column in columns if column.name != CONSTRAINT.name)


def _numbered(clauses: Iterable[Clause]) -> Iterator[Clause]:
    for number, clause in enumerate(clauses, 1):
        yield Clause(number, clause.head, clause.constraint, clause.body)


def _facts(rows: Iterable[Row], columns: Sequence[Column], own: Sequence[Variable]) -> Iterator[Constraint]:
    """Rows as entries; NULL satisfies no constraint, and joins with nothing."""
    entries = any(column.name == CONSTRAINT.name for column in columns)
    kept = [i for i, column in enumerate(columns) if sort_of(column.type) is not None]
    for row in rows:
        if entries:
            yield from_row(row, own)
        else:
            values = tuple(row[i] for i in kept)
            if None not in values:
                yield from_row((*values, ""), own)


def _clause(number: int, rule: Rule, schemas: Schemas, functions: Functions) -> Clause:
    scope = scope_of(rule)
    head = Atom(rule.head.relation, tuple(operand(arg, scope) for arg in rule.head.args))
    body = tuple(_atom(atom, schemas, scope) for atom in relations_of(rule, functions))
    return Clause(number, head, constraint_of(rule, functions), body)


def _atom(atom: Written, schemas: Schemas, scope: Mapping[str, Variable]) -> Atom:
    """Columns of which constraints know nothing are left out: only `_` stands there."""
    columns = declared(schemas[atom.relation])
    args = [arg for arg, column in zip(atom.args, columns, strict=True) if sort_of(column.type) is not None]
    assert all(isinstance(arg, Var | Const) for arg in args)
    return Atom(atom.relation, tuple(operand(arg, scope) for arg in args))
