"""A stratum of views that are kept by constraints, as a program of clauses, and its entries as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from foreset.constraints.calls import Answers, resolve
from foreset.constraints.decide import satisfiable
from foreset.constraints.form import TRUE, Constraint, conjunction
from foreset.constraints.instances import bound, rows
from foreset.constraints.rows import CONSTRAINT, from_row, to_row, variables_of
from foreset.constraints.rules import Functions, constraint_of, operand, relations_of, scope_of
from foreset.constraints.simplify import simplify
from foreset.constraints.sorts import Variable
from foreset.errors import EvaluationError
from foreset.ir.program import Column
from foreset.ir.rules import Atom as Written
from foreset.ir.rules import Rule, literal_variables
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row, Var
from foreset.mediated import dred
from foreset.mediated.fixpoint import MAX_ENTRIES, USUAL, Limits, materialise, t_p, w_p
from foreset.mediated.grounding import Binding, bindings, grounded, in_ticks
from foreset.mediated.pools import Pool, may_meet, range_of_value
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
    limits: Limits = USUAL,
) -> dict[str, frozenset[Row]]:
    """The entries of each view of `stratum`, as rows; without `answers` calls stay in the constraints."""
    program = edited(program_of(stratum, inputs, schemas, functions), edits)
    if stratum.recursive:
        sets = dred.fixpoint(program, limits)
    else:
        view = materialise(program, w_p if answers is None else t_p(answers), limits)
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
    entries: Collection[Row], columns: Sequence[Column], places: Sequence[int], wanted: Iterable[Row], answers: Answers
) -> set[Row]:
    """Which of `wanted`, values of the columns at `places`, are in a view with these entries."""
    own = variables_of(declared(columns))
    keys = [own[place] for place in places]
    whole = {tuple(row[place] for place in places) for row in entries if not row[-1]}  # NULL stands for no value there
    others = Pool(own).extend(from_row(row, own) for row in entries if row[-1])

    def holds(row: Row) -> bool:
        if row in whole:
            return True
        asked = {place: range_of_value(value, own[place]) for place, value in zip(places, row, strict=True)}
        met = (others.parts[number] for number in others.meeting(asked))
        found = (bound(part, dict(zip(keys, row, strict=True))) for part in met)
        return any(satisfiable(one) for part in found for one in (resolve(part, answers) if part.calls else [part]))

    return {row for row in wanted if None not in row and holds(row)}


def instances(
    entries: Iterable[Row], columns: Sequence[Column], answers: Answers, within: Constraint = TRUE
) -> set[Row]:
    """Every row of a view with these entries that is in `within`; Infinite where there is no end to them."""
    own = variables_of(declared(columns))
    inside = (part for row in entries if may_meet(part := from_row(row, own), within))
    parts = (simplify(conjunction(part, within)) for part in inside)
    return {row for part in parts for said in resolve(part, answers) for row in rows(said, own)}


def edited(program: Program, edits: Iterable[tuple[str, Region]]) -> Program:
    """P' and P♭, edit by edit: `delete` or `insert` with its region."""
    for kind, region in edits:
        program = without(program, region) if kind == "delete" else asserting(program, region)
    return program


def program_of(stratum: Stratum, inputs: Rows, schemas: Schemas, functions: Functions) -> Program:
    """A clause for each rule and each way to join the rows that it reads, and a fact for each entry."""
    kept = [name for name in (*stratum.names, *stratum.reads) if _has_entries(schemas[name])]
    columns = {name: variables_of(declared(schemas[name])) for name in kept}
    clauses: list[Clause] = []
    for name in stratum.reads:
        if name in columns:
            head = Atom(name, columns[name])
            clauses += [Clause(0, head, from_row(row, columns[name])) for row in inputs.get(name, ())]
    for rule in (rule for view in stratum.views for rule in view.rules):
        for clause in _clauses(rule, inputs, schemas, functions):
            clauses.append(clause)
            if len(clauses) > MAX_ENTRIES:
                hint = "such views are for few rows: narrow them in a view of rows, and read that"
                raise EvaluationError(f"{rule.name} has more than {MAX_ENTRIES:,} rows to look at", hint)
    return Program(columns, tuple(_numbered(clauses)))


def _has_entries(columns: Sequence[Column]) -> bool:
    return any(column.name == CONSTRAINT.name for column in columns)


def declared(columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns that users see, and not that of constraints."""
    return tuple(column for column in columns if column.name != CONSTRAINT.name)


def _numbered(clauses: Iterable[Clause]) -> Iterator[Clause]:
    for number, clause in enumerate(clauses, 1):
        yield Clause(number, clause.head, clause.constraint, clause.body)


def _clauses(rule: Rule, inputs: Rows, schemas: Schemas, functions: Functions) -> Iterator[Clause]:
    scope = scope_of(rule)
    said, read = constraint_of(rule, functions), tuple(relations_of(rule, functions))
    body = [atom for atom in read if _has_entries(schemas[atom.relation])]
    ground = [_needed(atom, rule) for atom in read if not _has_entries(schemas[atom.relation])]
    for binding in bindings(ground, lambda name: inputs.get(name, ()), schemas, rule.types):
        values = in_ticks(binding, scope)
        left = None if values is None else grounded(said, values)
        if left is not None:
            head, *atoms = (_atom(atom, binding, scope) for atom in (rule.head, *body))
            yield Clause(0, head, left, tuple(atoms))


def _atom(atom: Written, binding: Binding, scope: Mapping[str, Variable]) -> Atom:
    """An atom with the values of a binding in place of its variables."""
    args = (
        binding[arg.name] if isinstance(arg, Var) and arg.name in binding else operand(arg, scope) for arg in atom.args
    )
    return Atom(atom.relation, tuple(args))


def _needed(atom: Written, rule: Rule) -> Written:
    """`_` for what nothing else speaks of: there, a NULL is as good as any value."""
    counts = Counter(var.name for literal in (rule.head, *rule.body) for var in literal_variables(literal))
    blank = Var("_")
    args = (blank if isinstance(arg, Var) and counts[arg.name] == 1 else arg for arg in atom.args)
    return replace(atom, args=tuple(args))
