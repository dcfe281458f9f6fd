"""Groups in bound recomputation: what is known to be asked for is gathered along, in one look."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.ir.terms import Row
from foreset.verify.facts import SourceFacts
from foreset.verify.solving import derivable

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
