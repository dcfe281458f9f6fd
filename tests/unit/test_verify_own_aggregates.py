"""A false `remove` that no check finds is found by the first deletion that it spoils, in however small a sample."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.cli_runner import foreset as run

import foreset
from foreset.errors import VerificationFailed
from foreset.ir.program import Column
from foreset.ir.types import BIGINT, STRING
from foreset.verify.entries import worked_on

GROUPS = 700  # more changed rows than are all checked
SPEC = """group: g
sources:
  n: {table: s/n, columns: {k: string, id: int}}
aggregates:
  f: {takes: int, state: bigint, zero: 0, add: "least(A + 1, 30)", remove: A - 1}
views:
  v:
    columns: {k: string, r: bigint}
    strategy: incremental
    rules: ["v(K, R) :- setof(I, n(K, I), S), f(S, R)"]
"""


def rows(found: list[tuple[str, int]]) -> pa.Table:
    return pa.table({"k": [k for k, _ in found], "id": pa.array([i for _, i in found], pa.int32())})


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `foreset check` had found nothing."""
    monkeypatch.setattr("foreset.understand.proven", lambda prepared: prepared)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("verify", [1, 20])
def test_groups_that_lost_members_are_checked_first(tmp_path: Path, verify: int) -> None:
    """One group of many is wrong, and all of them have changed."""
    (tmp_path / "g.yaml").write_text(SPEC)
    table = tmp_path / "wh" / "s" / "n"
    feed = {"delta.enableChangeDataFeed": "true"}
    loaded = rows([*(("wrong", i) for i in range(40)), *((f"k{k}", i) for k in range(GROUPS) for i in range(2))])
    write_deltalake(table, loaded, configuration=feed)
    warehouse = foreset.open(warehouse=str(tmp_path / "wh"), specs=str(tmp_path), spark="nowhere")
    warehouse.refresh("g", verify=0)
    DeltaTable(table).delete("id = 1")
    with pytest.raises(VerificationFailed, match=r"\('wrong', 39, 29\) was computed.*\n.*`remove` or `merge` of `f`"):
        warehouse.refresh("g", verify=verify)
    assert '<g class="box view failed"><title>view v' in warehouse.report("g").page  # though only its groups differ
    assert ("wrong", 30) in {tuple(row.values()) for row in warehouse.read("g.v").to_pylist()}


def test_the_order_in_which_groups_are_looked_at() -> None:
    columns = tuple(Column(name, kind) for name, kind in (("k", STRING), ("members", BIGINT), ("f_1", BIGINT)))

    def table(*found: tuple[str | None, int, int]) -> pa.Table:
        parts = zip(*found, strict=True)
        return pa.table([pa.array(part) for part in parts], names=[column.name for column in columns])

    plus = table(("new", 9, 9), ("grown", 8, 8), ("less", 1, 1), ("many less", 50, 50), (None, 2, 2), ("same", 3, 4))
    minus = table(("grown", 7, 7), ("less", 2, 2), ("many less", 60, 60), (None, 3, 3), ("same", 3, 3), ("gone", 1, 1))
    found = [row[0] for row in worked_on(plus, minus, columns, 1, 9)]
    assert found == ["many less", None, "less", "grown", "same", "new"]
    assert [row[0] for row in worked_on(plus, None, columns, 1, 2)] == ["many less", "new"]
    assert worked_on(None, minus, columns, 1, 2) == []


@pytest.mark.usefixtures("unchecked")
def test_a_unit_test_names_the_aggregate(tmp_path: Path) -> None:
    test = """tests:
  - name: one goes
    given: {n: [[a, 1], [a, 2], [a, 3]]}
    change: {n: {delete: [[a, 3]]}}
    state: {v: [[a, 1]]}
"""
    (tmp_path / "g.yaml").write_text(SPEC.replace("least(A + 1, 30)", "least(A + 1, 1)") + test)
    shown = run("test", "--specs", str(tmp_path))
    assert shown.code == 3
    assert shown.out.count("`remove` or `merge` of `f` is wrong: computing the group again gives another result") == 1
    assert "strategies `insert`, `counting`, `dred`" in shown.out
