"""In which order the atoms of a rule are joined in process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.refresh_cases import in_normal_form, load_program

from foreset.backends.duckdb import compile as joining
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.join_state import Plan
from foreset.backends.duckdb.tables import Part, Tables
from foreset.ir.rules import Atom, Rule
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.relations.bind_files import bind_table, stored
from foreset.store.types import column_names

SPEC = """\
group: g
sources:
  part: {table: raw/part, columns: {k: int}}
  line: {table: raw/line, columns: {k: int, o: int}}
  done: {table: raw/done, columns: {o: int, state: string}}
views:
  found:
    columns: {k: int, o: int}
    rules:
      - found(K, O) :- part(K), line(K, O), done(O, "F")
"""
CHAINED = """\
group: g
sources:
  order: {table: raw/order, columns: {o: int, nation: int}}
  line: {table: raw/line, columns: {o: int, supplier: int}}
  supplier: {table: raw/supplier, columns: {supplier: int, nation: int}}
views:
  found:
    columns: {o: int, s: int}
    rules:
      - found(O, S) :- order(O, N), supplier(S, N), line(O, S)
"""
NARROWING = """\
group: g
sources:
  changed: {table: raw/changed, columns: {o: int}}
  line: {table: raw/line, columns: {o: int, supplier: int}}
  supplier: {table: raw/supplier, columns: {supplier: int, land: int}}
  land: {table: raw/land, columns: {land: int, region: int}}
views:
  found:
    columns: {o: int, s: int}
    rules:
      - found(O, S) :- changed(O), line(O, S), supplier(S, L), land(L, 1)
"""
ROWS = {
    "part": [(k,) for k in range(3)],
    "line": [(k % 50, k) for k in range(2000)],
    "done": [(o, "F" if o % 2 else "O") for o in range(1000)],
}


def test_a_constant_ties_an_atom_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`done` is smaller than `line`, but shares no variable with `part`: before `line` it would be a cross join."""
    rule, tables, refs = prepared(SPEC)
    for name, rows in ROWS.items():
        kinds = tables.schemas[name]
        tables.put(refs[name], Part(tables.bring(rows, kinds, column_names(len(kinds)))))
    order, found = joined(monkeypatch, rule, tables)
    assert order == ["part", "line", "done"]
    assert found == {(k % 50, k) for k in range(1000) if k % 50 < 3 and k % 2}


def test_a_key_comes_before_a_column_of_few_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An order has one line and its nation 500 suppliers; that the lines are many more says nothing."""
    rule, tables, refs = prepared(CHAINED)
    rows = {
        "order": {"o": range(3), "nation": [o % 2 for o in range(3)]},
        "line": {"o": range(20_000), "supplier": [o % 1000 for o in range(20_000)]},
        "supplier": {"supplier": range(1000), "nation": [s % 2 for s in range(1000)]},
    }
    bind(tables, refs, rows, tmp_path)
    order, found = joined(monkeypatch, rule, tables)
    assert order == ["order", "line", "supplier"]
    assert found == {(o, o) for o in range(3)}


def test_the_smallest_atom_is_a_poor_start_where_it_leads_to_many_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One land has ten suppliers, and each of them a hundred lines; the twenty changed orders have a line each."""
    rule, tables, refs = prepared(NARROWING)
    rows = {
        "changed": {"o": range(20)},
        "line": {"o": range(10_000), "supplier": [o % 100 for o in range(10_000)]},
        "supplier": {"supplier": range(100), "land": [s % 10 for s in range(100)]},
        "land": {"land": range(10), "region": [n % 5 for n in range(10)]},
    }
    bind(tables, refs, rows, tmp_path)
    order, found = joined(monkeypatch, rule, tables)
    assert order == ["changed", "line", "supplier", "land"]
    assert found == {(o, o) for o in range(20) if o % 10 in (1, 6)}


def prepared(text: str) -> tuple[Rule, Tables, dict[str, Ref]]:
    """The only rule of a spec, tables that hold nothing yet, and where the rule looks for each relation."""
    program, layering = in_normal_form(load_program(text, "g"))
    tables = Tables(connect(), {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()})
    rule = layering.strata[0].views[0].rules[0]
    atoms = (literal for literal in rule.body if isinstance(literal, Atom))
    return rule, tables, {atom.relation: Ref(atom.relation, atom.version) for atom in atoms}


def bind(tables: Tables, refs: Mapping[str, Ref], rows: Mapping[str, Mapping[str, Iterable[int]]], root: Path) -> None:
    """The rows, by relation and column, as Delta tables."""
    for name, values in rows.items():
        path, columns = str(root / name), stored(list(values), tables.schemas[name])
        write_deltalake(path, pa.table({column: pa.array(those, pa.int32()) for column, those in values.items()}))
        tables.put(refs[name], Part(bind_table(tables, name, path, 0, columns)))


def joined(monkeypatch: pytest.MonkeyPatch, rule: Rule, tables: Tables) -> tuple[list[str], set[Row]]:
    """In which order the atoms were joined, and what was found."""
    order: list[str] = []
    join = joining._join

    def noted(plan: Plan, atom: Atom, needed: frozenset[str]) -> None:
        order.append(atom.relation)
        join(plan, atom, needed)

    monkeypatch.setattr(joining, "_join", noted)
    found = joining.derive(rule, tables)
    assert found is not None
    return order, set(tables.run(found))
