"""What steps name, so that a reader may fetch the inputs of a loop once."""

from __future__ import annotations

import pytest
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import CLOSURE, GROUP

from foreset.ir.reads import places_read, read_by
from foreset.ir.steps import Repeat
from foreset.plan.translate import translate


@pytest.mark.parametrize(
    ("strategy", "named"),
    [
        ("insert", ["edge.new v.ins v.ins_next v.live"]),
        ("recompute", ["edge.new v.full v.full_next"]),
        (
            "dredf",
            [
                "edge.kept edge.old v.del v.del_next v.held v.left v.touched v~circles.current",
                "edge.new v.del v.red v.red_next",
                "edge.new v.ins v.ins_next v.live",
            ],
        ),
    ],
)
def test_what_loops_read(strategy: str, named: list[str]) -> None:
    _, layering = in_normal_form(load_program((GROUP + CLOSURE).replace("closure", "v"), "spec"))
    procedure = translate(layering.strata[0], strategy)
    loops = [step for step in procedure.steps if isinstance(step, Repeat)]
    assert [" ".join(sorted(f"{ref.relation}.{ref.version}" for ref in read_by(loop.body))) for loop in loops] == named
    assert read_by(procedure.steps) >= frozenset(ref for loop in loops for ref in read_by(loop.body))


WIDE = """\
group: g
sources:
  wide: {table: t/wide, columns: {a: int, b: int, c: int, d: int, e: int}}
  edge: {table: t/edge, columns: {a: int, b: int}}
views:
  v:
    columns: {a: int}
    rules: RULES
"""


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        ("v(A) :- wide(A, _, _, _, _)", {0}),
        ("v(A) :- wide(A, B, _, _, _), edge(B, _)", {0, 1}),
        ("v(A) :- wide(A, B, _, _, _)", {0}),
        ("v(A) :- wide(A, _, 7, _, _)", {0, 2}),
        ("v(A) :- wide(A, _, _, D, D)", {0, 3, 4}),
        ("v(A) :- wide(A, _, _, D, _), D > 1", {0, 3}),
        ("v(A) :- edge(A, B), not wide(_, B, _, _, _)", {1}),
        ("v(A) :- edge(A, _)", set()),
        ("v(N) :- N = int(sum{B, C | wide(_, B, C, _, _)})", {1, 2}),
    ],
)
@pytest.mark.parametrize("strategy", ["recompute", "auto"])
def test_columns_that_no_rule_asks_for(rule: str, places: set[int], strategy: str) -> None:
    """Of all strata together; an atom of a head that only looks at existence asks for nothing."""
    _, layering = in_normal_form(load_program(WIDE.replace("RULES", f'["{rule}"]'), "spec"))
    found: set[int] = set()
    for stratum in layering.strata:
        chosen = strategy if strategy != "auto" else "aggregate" if stratum.aggregation else "counting"
        read = places_read(translate(stratum, chosen).steps, "wide")
        assert read is not None
        found |= read
    assert found == places


def test_a_step_that_takes_rows_as_they_are_reads_all_columns() -> None:
    _, layering = in_normal_form(load_program((GROUP + CLOSURE).replace("closure", "v"), "spec"))
    assert places_read(translate(layering.strata[0], "recompute").steps, "edge") == {0, 1}
    assert places_read(translate(layering.strata[0], "recompute").steps, "v") is None
