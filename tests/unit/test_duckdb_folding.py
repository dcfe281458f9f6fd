"""Groups that are folded by DuckDB alone: random nights against evaluation, with folding in Python forbidden."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random

import pytest
from tests.duckdb_reader import DuckDBReader
from tests.refresh_cases import always, in_normal_form, load_program

from foreset.backends.duckdb import aggregates
from foreset.errors import EvaluationError
from foreset.ir.terms import Row
from foreset.oracle.naive import evaluate
from foreset.testing.replica import Delta

SPEC = """\
group: g
sources:
  sale: {table: raw/sale, columns: {shop: string, id: int, amount: "decimal(9,2)", paid: boolean, day: date}}
views:
  of_shop:
    columns: {shop: string, n: bigint, total: "decimal(38,2)", low: "decimal(9,2)", first: int, last: int, ok: boolean}
    rules: |
      of_shop(S, N, T, L, F, K, B) :-
          setof((I, A, P, D), sale(S, I, A, P, D), Z),
          count(Z, N), sum(Z, T, 2), min(Z, L, 2), arg_min(Z, F, 1, 2), arg_max(Z, K, 1, 4), bool_and(Z, B, 3).
  in_all:
    columns: {n: bigint, newest: date}
    rules: |
      in_all(N, D) :- N = count{I | sale(_, I, _, _, _)}, D = max{D, I | sale(_, I, _, _, D)}.
"""


def random_sale(rng: Random, number: int) -> Row:
    """Few values, so that extrema tie, and NULL wherever it may stand."""
    return (
        rng.choice(["north", "south", "east", None]),
        number,
        rng.choice([None, Decimal("1.50"), Decimal("2.25"), Decimal(rng.randint(-300, 300)) / 100]),
        rng.choice([None, True, True, False]),
        rng.choice([None, date(2026, 1, rng.randint(1, 9))]),
    )


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("these groups were left to the reference")

    monkeypatch.setattr(aggregates, "fold_all", refuse)


@pytest.mark.usefixtures("no_python")
@pytest.mark.parametrize("seed", range(6))
def test_random_nights(seed: int) -> None:
    rng = Random(seed)
    program, layering = in_normal_form(load_program(SPEC, "g"))
    kinds = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    session = DuckDBReader().open(program, layering)
    sales: frozenset[Row] = frozenset()
    before = {view.name: frozenset[Row]() for view in program.views}
    for night in range(9):
        plus = frozenset(random_sale(rng, 100 * night + i) for i in range(rng.choice([0, 1, 12])))
        share = 1.0 if night == 6 else rng.choice([0, 0.2, 0.7])
        minus = frozenset(row for row in sorted(sales, key=str) if rng.random() < share)
        sales = (sales - minus) | plus
        now = evaluate(layering.strata, {"sale": sales}, kinds, program.max_rounds)
        found = session.refresh({"sale": Delta(plus, minus)}, always("aggregate"))
        expected = {name: Delta(now[name] - before[name], before[name] - now[name]) for name in before}
        assert {name: found.get(name, Delta()) for name in expected} == expected, night
        before = {name: now[name] for name in before}


def test_a_total_of_too_many_digits_is_told_with_its_group() -> None:
    spec = SPEC.replace("decimal(9,2)", "decimal(38,2)")
    program, layering = in_normal_form(load_program(spec, "g"))
    session = DuckDBReader().open(program, layering)
    large = Decimal(6 * 10**35)
    first, second = (("north", i, large, True, None) for i in (1, 2))
    session.refresh({"sale": Delta(frozenset([first]), frozenset())}, always("aggregate"))
    with pytest.raises(EvaluationError, match='view of_shop.*S = "north"'):
        session.refresh({"sale": Delta(frozenset([second]), frozenset())}, always("aggregate"))
