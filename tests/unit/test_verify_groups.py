"""Groups in bound recomputation: what is known to be asked for is gathered along, in one look."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from tests.recomputed import derivable
from tests.refresh_cases import in_normal_form, load_program

from foreset.ir.aggregates import Kind
from foreset.ir.terms import Row
from foreset.oracle.naive import evaluate
from foreset.store.arrow_values import to_arrow
from foreset.verify.facts import SourceFacts

SPEC = """group: shop
sources:
  sale: {table: raw/sale, columns: {shop: string, amount: bigint}}
views:
  total:
    columns: {shop: string, amount: bigint}
    rules: |
      total(S, A) :- A = sum{X | sale(S, X)}.
"""
SALES = pa.table({"shop": ["a", "a", "b", "c"], "amount": [1, 2, 3, 4]})


def test_groups_of_a_view_and_of_what_it_reads_are_gathered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    program, layering = in_normal_form(load_program(SPEC, "spec"))
    (groups,) = (view for view in program.views if view.aggregation)
    kinds = {name: tuple(column.type for column in columns) for name, columns in program.columns_of().items()}
    facts = SourceFacts(program.columns_of(), {"sale": SALES}.__getitem__)
    (of_b,) = facts.grouped(groups, groups.rules, (0,), [("b",)]) or ()
    asked_for: list[set[Row]] = []
    gathered = SourceFacts.grouped

    def watched(*args: Any) -> list[Row] | None:
        asked_for.append(set(args[-1]))
        return gathered(*args)

    monkeypatch.setattr(SourceFacts, "grouped", watched)
    wrong = (*of_b[:-1], -1)
    rows = {"total": {("a", 3), ("a", 4)}, groups.name: {of_b, wrong}}
    assert derivable(rows, layering, facts, kinds) == {"total": {("a", 3)}, groups.name: {of_b}}
    assert asked_for == [{("a",), ("b",)}]


EVERY = """group: shop
sources:
  sale: {table: raw/sale, columns: {shop: string, id: int, amount: int, price: "decimal(10,2)", open: boolean}}
views:
  told:
    columns: {shop: string, n: bigint, a: bigint, p: "decimal(20,2)", c: "decimal(38,4)", l: int,
              g: "decimal(10,2)", e: boolean, o: boolean, w: int, x: "decimal(10,2)"}
    rules: |
      told(S, count{I | sale(S, I, _, _, _)}, sum{A, I | sale(S, I, A, _, _)}, sum{P, I | sale(S, I, _, P, _)},
           sum{P * A - 0.5 * A, I | sale(S, I, A, P, _), A > 0}, min{A | sale(S, _, A, _, _)},
           max{P | sale(S, _, _, P, _)}, bool_and{B, I | sale(S, I, _, _, B)}, bool_or{B, I | sale(S, I, _, _, B)},
           arg_min{A, P | sale(S, _, A, P, _)}, arg_max{P, A | sale(S, _, A, P, _)}) :- sale(S, _, _, _, _).
"""
IN_SQL = {Kind.MEMBERS, Kind.FILLED, Kind.TOTAL, Kind.TRUES, Kind.FALSES, Kind.LEAST, Kind.GREATEST, Kind.AT_LEAST,
          Kind.AT_GREATEST}  # fmt: skip


def test_a_query_gathers_what_single_members_do() -> None:
    """Every kind of accumulator that a query can have, with NULLs, equal keys and groups of nothing but NULLs."""
    program, layering = in_normal_form(load_program(EVERY, "spec"))
    kinds = {name: tuple(column.type for column in columns) for name, columns in program.columns_of().items()}
    prices = (None, Decimal("1.25"), Decimal("-3.00"))
    values = product(("a", "b"), (None, 7, -7, 2**31 - 1), prices, (None, True, False))
    rows = [(shop, number, *rest) for number, (shop, *rest) in enumerate(values)]
    rows += [("b", 900, 7, Decimal("1.25"), False), ("c", 901, None, None, None), (None, 902, 5, None, True)]
    state = evaluate(layering.strata, {"sale": frozenset(rows)}, kinds, program.max_rounds)
    columns = program.columns_of()["sale"]
    sales = to_arrow(rows, kinds["sale"], [column.name for column in columns])
    facts = SourceFacts(program.columns_of(), {"sale": sales}.__getitem__)
    own = {view.name: view for view in program.views}
    seen = set[Kind]()
    for view in (view for view in program.views if view.aggregation):
        assert view.aggregation is not None
        rules = own[view.aggregation.members].rules if view.aggregation.stored else view.rules
        found = facts.grouped(view, rules, (0,), [("a",), ("b",), ("c",), (None,)])
        seen |= {one.kind for one in view.aggregation.accumulators}
        assert found is not None, view.name
        assert sorted(found, key=repr) == sorted(state[view.name], key=repr)
    assert seen == IN_SQL
