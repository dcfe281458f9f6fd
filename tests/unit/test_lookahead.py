"""What is built for one reader, which may compute it in one plan with its own work."""

from __future__ import annotations

import pytest
from tests.refresh_cases import in_normal_form, load_program

from foreset.ir.steps import Ref
from foreset.ir.versions import Version
from foreset.machine.lookahead import read_once
from foreset.plan.translate import keeps_counters, translate

SPEC = """\
group: g
sources:
  edge: {table: t/edge, columns: {a: int, b: int}}
views:
  two:
    columns: {a: int, c: int}
    rules: two(A, C) :- edge(A, B), edge(B, C).
  copy:
    columns: {a: int, b: int}
    rules: copy(A, B) :- edge(A, B), A > 1.
  closure:
    columns: {a: int, b: int}
    rules: |
      closure(A, B) :- edge(A, B).
      closure(A, C) :- edge(A, B), closure(B, C).
  many:
    columns: {a: int, n: bigint}
    rules: many(A, N) :- N = count{B | edge(A, B)}.
  best:
    columns: {a: int, n: int}
    rules: best(A, N) :- N = max{B | edge(A, B)}.
"""


@pytest.mark.parametrize(
    ("view", "first", "again"),
    [
        ("copy", "copy.full copy.full_next", "copy.full copy.full_next"),  # the difference is one reader too
        ("two", "two.full two.touched", "two.full"),  # counters need the tally as well, beside the difference
        ("closure", "", ""),  # a loop reads its rows round by round
        ("many", "many.full many.full_next", "many.full many.full_next"),  # a rule over groups
    ],
)
def test_what_recomputes_may_leave_to_one_reader(view: str, first: str, again: str) -> None:
    _, layering = in_normal_form(load_program(SPEC, "spec"))
    stratum = layering.of(view)
    procedure = translate(stratum, "recompute", counted=keeps_counters(stratum))
    results = [Ref(view, version) for version in (Version.PLUS, Version.MINUS)]
    old = Ref(view, Version.OLD)
    for empty, expected in ((lambda ref: ref == old, first), (lambda _: False, again)):
        found = read_once(procedure.steps, results, empty)
        assert " ".join(sorted(f"{ref.relation}.{ref.version}" for ref in found)) == expected


def test_members_are_gathered_where_they_are_derived() -> None:
    _, layering = in_normal_form(load_program(SPEC, "spec"))
    for stratum in layering.strata:
        if stratum.aggregation is None:
            continue
        procedure = translate(stratum, "recompute")
        (view,) = stratum.names
        found = read_once(procedure.steps, [Ref(view, Version.PLUS), Ref(view, Version.MINUS)], lambda _: False)
        members = Ref(stratum.aggregation.members, Version.FULL)
        assert (members in found) is not stratum.aggregation.stored, "only those that are not stored are derived here"


@pytest.mark.parametrize("strategy", ["insert", "counting", "dred", "dredc"])
def test_maintenance_reads_what_it_finds_again_and_again(strategy: str) -> None:
    _, layering = in_normal_form(load_program(SPEC, "spec"))
    stratum = layering.of("two")
    results = [Ref("two", version) for version in (Version.PLUS, Version.MINUS)]
    assert not read_once(translate(stratum, strategy).steps, results, lambda _: True)
