"""In which order the atoms of a rule are joined: in DuckDB, and by every backend as `explain` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.duckdb_reader import DuckDBReplica
from tests.refresh_cases import always, in_normal_form, load_program

from foreset.backends.duckdb.compile import DuckDBJoin, derive
from foreset.backends.duckdb.database import connect
from foreset.backends.duckdb.tables import Part, Tables
from foreset.explain.notation import readable
from foreset.explain.steps import describe, render
from foreset.ir.rules import Atom, Literal, Negation, Rule
from foreset.ir.steps import Ref
from foreset.ir.terms import Row
from foreset.ir.text import print_rule
from foreset.machine.literals import Join, Sizes, heads_of
from foreset.plan.translate import translate
from foreset.relations.bind_files import bind_table, stored
from foreset.store.types import column_names
from foreset.testing.replica import Delta, Replica

F = TypeVar("F")

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


CLOSURE = """\
group: g
sources:
  edge: {table: raw/edge, columns: {a: int, b: int}}
  shut: {table: raw/shut, columns: {a: int}}
views:
  v:
    columns: {a: int, b: int}
    rules:
      - v(X, Y) :- edge(X, Y), X != Y
      - v(X, Y) :- edge(X, Z), not shut(Z), v(Z, Y), Z > 0, 100 / Z < 200
"""


@pytest.mark.parametrize("replica", [Replica, DuckDBReplica])
def test_explain_says_the_order_that_runs(replica: type[Replica], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every rule of a deletion and an insertion, as a backend has joined it, against what is printed of it."""
    program, layering = in_normal_form(load_program(CLOSURE, "g"))
    kept = replica(program, layering)
    kept.refresh({"edge": Delta(frozenset((n, n + 1) for n in range(1, 60))), "shut": Delta(frozenset({(70,)}))})
    seen: list[tuple[Rule, tuple[Literal, ...]]] = []
    monkeypatch.setattr("foreset.backends.sets.joins.heads_of", partial(watched, seen))
    monkeypatch.setattr("foreset.backends.duckdb.compile.heads_of", partial(watched, seen))
    kept.refresh({"edge": Delta(frozenset({(61, 62)}), frozenset({(30, 31)}))}, always("dred"))
    procedure = translate(layering.strata[0], "dred")
    explained = "\n".join(render(describe(procedure, program.columns_of())))
    assert len({rule for rule, _ in seen}) >= 6
    for rule, body in seen:
        assert sorted(map(str, body)) == sorted(map(str, rule.body)), "nothing is left out, nothing is done twice"
        told = print_rule(readable(replace(rule, body=body), program.columns_of())).partition(" :- ")[2]
        assert f":- {told}\n" in explained, explained


def watched(
    seen: list[tuple[Rule, tuple[Literal, ...]]], rule: Rule, sizes: Sizes, join: Join[F], within: Ref | None = None
) -> F | None:
    """`heads_of`, with a note of what the join was asked for, where it was asked for all of the body."""
    noting = Noting(join)
    found = heads_of(rule, sizes, noting, within)
    if noting.ended:
        seen.append((rule, tuple(noting.done)))
    return found


class Noting:
    """A join that notes what another one does."""

    def __init__(self, join: Join[F]) -> None:
        self.inner, self.done, self.ended = join, list[Literal](), False

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    def join(self, atom: Atom, needed: frozenset[str]) -> None:
        self.done.append(atom)
        self.inner.join(atom, needed)

    def keep(self, conditions: Sequence[Literal]) -> Sequence[Literal]:
        late = self.inner.keep(conditions)
        self.done += [condition for condition in conditions if condition not in late]
        return late

    def settle(self, literal: Literal) -> None:
        self.done.append(literal)
        self.inner.settle(literal)

    def exclude(self, atom: Atom) -> None:
        self.done.append(Negation(atom))
        self.inner.exclude(atom)

    def heads(self, *, restricted: bool) -> F:
        self.ended = True
        return self.inner.heads(restricted=restricted)


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
    join = DuckDBJoin.join

    def noted(self: DuckDBJoin, atom: Atom, needed: frozenset[str]) -> None:
        order.append(atom.relation)
        join(self, atom, needed)

    monkeypatch.setattr(DuckDBJoin, "join", noted)
    found = derive(rule, tables)
    assert found is not None
    return order, set(tables.run(found))
