"""Which columns of sources reach a view's columns, and where absent rows are looked for."""

from __future__ import annotations

import pyarrow as pa
from tests.refresh_cases import in_normal_form, load_program

from foreset.verify.origins import hints, near_goals, origins
from foreset.verify.sample import Staged, draw, share_of

SPEC = """\
group: g
sources:
  edge: {table: raw/edge, columns: {x: int, y: int}}
  sale: {table: raw/sale, columns: {shop: string, amount: int}}
views:
  path:
    columns: {x: int, y: int}
    rules:
      - path(X, Y) :- edge(X, Y)
      - path(X, Y) :- edge(X, Z), path(Z, Y), not edge(Y, X)
  back:
    columns: {y: bigint, x: int, sum: int}
    rules:
      - back(Y, X, X + 1) :- path(X, Y)
  totals:
    columns: {shop: string, n: bigint}
    rules:
      - totals(S, N) :- N = sum{A | sale(S, A)}
  beside:
    columns: {shop: string, share: bigint}
    rules:
      - beside(S, N - A) :- sale(S, A), N = sum{B | sale(_, B)}
"""


def test_values_are_followed_through_rules() -> None:
    """Through recursion and groups; not through computing, negation, another type or what is made of a group."""
    program, layering = in_normal_form(load_program(SPEC, "g"))
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    found = origins(layering, schemas)
    assert found["path"] == {"edge": ((0, 0), (1, 1))}
    assert found["back"] == {"edge": ((0, 1), (1, 0))}
    assert found["totals"] == {"sale": ((0, 0),)}
    assert hints(found["back"]["edge"], [(1, 2)]) == [((0, 2), (1, 1))]


def test_the_only_row_with_a_value_is_missed() -> None:
    """A view that lost it shows the value nowhere; the changed row of the source does."""
    program, _ = in_normal_form(load_program(SPEC, "g"))
    columns = program.columns_of()["path"]
    old = pa.table({"x": pa.array([1, 2], pa.int32()), "y": pa.array([2, 3], pa.int32())})
    staged = Staged(columns, old, None, None)
    assert (1, 9) not in {claim.row for claim in draw(staged, share_of(200), 1)}
    claims = draw(staged, share_of(200), 1, [((0, 1), (1, 9))])
    assert (1, 9) in {claim.row for claim in claims if claim.kind == "absent" and not claim.present}
    empty = Staged(columns, None, None, None)
    assert [claim.row for claim in draw(empty, share_of(20), 1, [((0, 1), (1, 9))])] == [(1, 9)]


def test_whole_rows_are_asked_for_where_a_key_has_few() -> None:
    """A shop has one total; how far each of its sales is from the sum of all are many rows."""
    program, layering = in_normal_form(load_program(SPEC, "g"))
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    near = {"totals": [((0, "a"),), ((0, None),)], "beside": [((0, "a"),)], "back": [((0, 2), (1, 1))], "path": []}
    goals = near_goals(near, layering, origins(layering, schemas), near.__getitem__, 1)
    assert goals == {("totals", (0,)): {("a",), (None,)}, ("back", (0, 1)): {(2, 1)}}
