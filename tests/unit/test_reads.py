"""What steps name, so that a reader may fetch the inputs of a loop once."""

from __future__ import annotations

import pytest
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import CLOSURE, GROUP

from foreset.ir.reads import read_by
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
