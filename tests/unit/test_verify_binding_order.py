"""The way through a rule's body: the atom that few rows answer comes next, not the one with the most values."""

from __future__ import annotations

from tests.refresh_cases import in_normal_form, load_program

from foreset.verify.binding_order import Asked, passage

SPEC = """\
group: shop
sources:
  line: {table: raw/line, columns: {id: bigint, customer: int, store: int}}
  customer: {table: raw/customer, columns: {id: int, segment: string}}
  store: {table: raw/store, columns: {id: int, region: string}}
views:
  sale:
    columns: {line: bigint, segment: string, region: string}
    rules:
      - sale(L, G, R) :- line(L, C, S), customer(C, G), store(S, R)
"""
ROWS: dict[tuple[str, Asked], float] = {
    ("line", (0,)): 1.0, ("line", (1,)): 100.0, ("customer", (1,)): 17_000.0, ("store", (1,)): 5.0,
}  # fmt: skip


def way(known: bool) -> list[tuple[str, Asked]]:
    program, _ = in_normal_form(load_program(SPEC, "shop"))
    schemas = {name: tuple(column.type for column in columns) for name, columns in program.columns_of().items()}
    fanout = (lambda relation, known: ROWS.get((relation, known))) if known else (lambda *_: None)
    found = passage(program.views[0].rules[0], (0, 1, 2), schemas, fanout)
    return [(stage.literal.relation, stage.known) for stage in found.stages]  # type: ignore[union-attr]


def test_a_key_of_one_column_goes_before_half_of_a_wide_one() -> None:
    """A line is found by its id; by a segment and a region, a third of all customers would be."""
    assert way(known=True) == [("line", (0,)), ("customer", (0, 1)), ("store", (0, 1))]
    assert way(known=False)[0][0] != "line", "without numbers there is nothing better than the share that is known"
