"""Rows of a published view by what they have to satisfy: also where the view holds constraints and not only rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from foreset.constraints.calls import Answers, resolve
from foreset.constraints.decide import canonical, satisfiable
from foreset.constraints.errors import BadConstraint
from foreset.constraints.form import TRUE, Constraint, conjunction
from foreset.constraints.instances import contains
from foreset.constraints.read import read_constraint
from foreset.constraints.rows import from_row, variables_of
from foreset.constraints.simplify import simplify
from foreset.constraints.sorts import sort_of
from foreset.constraints.text import print_constraint
from foreset.domains.asking import Calls
from foreset.domains.provider import Access
from foreset.errors import EvaluationError, UsageError
from foreset.ir.domains import Domain
from foreset.ir.program import Column, Program
from foreset.ir.terms import Row
from foreset.ir.values import Misfit, coerce, sort_key
from foreset.mediated.from_rules import declared, instances
from foreset.refresh.context import read_spec
from foreset.relations.arrow import table_of
from foreset.relations.located import published
from foreset.store.arrow_values import to_rows
from foreset.store.layout import Layout
from foreset.store.snapshots import open_snapshot


def rows(layout: Layout, spec: tuple[str, str], view: str, where: str, at: int | None) -> pa.Table:
    """Every row of a view that satisfies `where`; Infinite where there is no end."""
    columns, entries = _entries(layout, view, at)
    within = region(where, view, columns)
    shown = declared(columns)
    if len(shown) < len(columns):
        with _answers(layout, spec) as answers:
            found = instances(entries, columns, answers, within)
    else:
        found = _within(entries, columns, within)
    return table_of([_held(row, view, shown) for row in sorted(found, key=sort_key)], shown)


def _held(row: Row, view: str, columns: Sequence[Column]) -> Row:
    """The row, if the columns can hold it: constraints know no largest number."""
    for value, column in zip(row, columns, strict=True):
        try:
            coerce(value, column.type)
        except Misfit as misfit:
            hint = f"give `{column.name}` a wider type, limit it in the rules, or ask for less"
            raise EvaluationError(f"column `{column.name}` of `{view}` cannot hold a value: {misfit}", hint) from None
    return row


def regions(layout: Layout, spec: tuple[str, str], view: str, where: str, at: int | None) -> list[str]:
    """What is known of the rows of a view that satisfy `where`, as constraints: for regions without end."""
    columns, entries = _entries(layout, view, at)
    if len(declared(columns)) == len(columns):
        hint = f"`foreset show {layout.group}.{view}` shows them"
        raise UsageError(f"`{view}` holds rows, not ranges", hint)
    own, within = variables_of(declared(columns)), region(where, view, columns)
    parts = (canonical(conjunction(from_row(row, own), within)) for row in entries)
    with _answers(layout, spec) as answers:
        found = [said for part in parts for said in resolve(part, answers)]
    return sorted({print_constraint(said) for said in found if satisfiable(said)})


def holds(layout: Layout, spec: tuple[str, str], view: str, where: str, at: int | None) -> bool:
    """Whether any row of a view satisfies `where`."""
    columns, entries = _entries(layout, view, at)
    within = region(where, view, columns)
    if len(declared(columns)) == len(columns):
        return bool(_within(entries, columns, within))
    own = variables_of(declared(columns))
    parts = (simplify(conjunction(from_row(row, own), within)) for row in entries)
    with _answers(layout, spec) as answers:
        return any(satisfiable(said) for part in parts for said in resolve(part, answers))


def region(where: str, view: str, columns: Sequence[Column]) -> Constraint:
    """The constraint that people wrote about a view; UsageError where it is none."""
    known = [column for column in declared(columns) if sort_of(column.type) is not None]
    try:
        return read_constraint(where, variables_of(known), in_capitals=True) if where else TRUE
    except BadConstraint as wrong:
        told = ", ".join(f"{column.name} {column.type}" for column in declared(columns))
        message = f"`{where}` is not a condition on the columns of `{view}`: {wrong.message}"
        raise UsageError(message, f"its columns are {told}") from None


def _entries(layout: Layout, view: str, at: int | None) -> tuple[tuple[Column, ...], list[Row]]:
    with open_snapshot(layout.root, layout.group, at, lease=False) as snapshot:
        table = snapshot.arrow(view)
        columns = published(layout, view, snapshot.row.views[view]).columns
    return columns, to_rows(table, columns)


def _within(entries: list[Row], columns: Sequence[Column], within: Constraint) -> set[Row]:
    """The rows that lie in a region; a NULL satisfies no condition."""
    kept = [i for i, column in enumerate(columns) if sort_of(column.type) is not None]
    own = variables_of([columns[i] for i in kept])
    asked = [i for i, v in zip(kept, own, strict=True) if v in within.free]
    keys = [v for v in own if v in within.free]
    return {row for row in entries if contains(within, keys, tuple(row[i] for i in asked))}


@contextmanager
def _answers(layout: Layout, spec: tuple[str, str]) -> Iterator[Answers]:
    """What domains answer now, each argument asked once."""
    program: Program = read_spec(*spec)[0]
    with tempfile.TemporaryDirectory(prefix="foreset-asked-") as folder:
        calls = Calls(folder, None, Access(layout.root))
        yield calls.for_constraints({domain.name: _strict(domain) for domain in program.domains})


def _strict(domain: Domain) -> Domain:
    """The domain, with every failure raised: who reads has no older answer to keep."""
    return replace(domain, functions=tuple(replace(one, on_error="stop") for one in domain.functions))
