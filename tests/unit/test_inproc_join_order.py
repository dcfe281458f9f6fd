"""In which order the atoms of a rule are joined in process."""

from __future__ import annotations

import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.inproc import compile as joining
from foreset.inproc.plans import Plan
from foreset.inproc.tables import Part, Tables, connect
from foreset.ir.rules import Atom
from foreset.ir.steps import Ref
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
ROWS = {
    "part": [(k,) for k in range(3)],
    "line": [(k % 50, k) for k in range(2000)],
    "done": [(o, "F" if o % 2 else "O") for o in range(1000)],
}


def test_a_constant_ties_an_atom_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`done` is smaller than `line`, but shares no variable with `part`: before `line` it would be a cross join."""
    program, layering = in_normal_form(load_program(SPEC, "g"))
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    rule = layering.strata[0].views[0].rules[0]
    tables = Tables(connect(), schemas)
    versions = {literal.relation: literal.version for literal in rule.body if isinstance(literal, Atom)}
    for name, rows in ROWS.items():
        kinds = schemas[name]
        tables.put(Ref(name, versions[name]), Part(tables.bring(rows, kinds, column_names(len(kinds)))))
    order: list[str] = []
    join = joining._join

    def noted(plan: Plan, atom: Atom, needed: frozenset[str]) -> None:
        order.append(atom.relation)
        join(plan, atom, needed)

    monkeypatch.setattr(joining, "_join", noted)
    found = joining.derive(rule, tables)
    assert found is not None
    assert order == ["part", "line", "done"]
    rows = set(tables.run(found))
    assert rows == {(k % 50, k) for k in range(1000) if k % 50 < 3 and k % 2}
