"""No suite file makes the reader fail: a broken one gives faults with places."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace

from tests.property.test_spec_fuzz import MUTATIONS, ROOT

from foreset.diagnostics import Report
from foreset.ir.expectations import KNOWN, Arg
from foreset.spec.load import load_file, load_text
from foreset.spec.suites import with_suites

SEED = int(os.environ.get("FORESET_SEED", "20261118"))
MUTANTS = max(1500, int(os.environ.get("FORESET_FUZZ", "0")))
SPEC = """\
group: g
sources:
  e: {table: raw/e, columns: {a: string, n: bigint, d: date, m: "decimal(10,2)"}}
views:
  v: {columns: {a: string, n: bigint, d: date, m: "decimal(10,2)"}, rules: ["v(A, N, D, M) :- e(A, N, D, M)"]}
"""
VALUES = [None, True, 0, -1, 2.5, 10**30, "a", "n", "2026-01-01", "([", [], ["a", 1], {"a": 1}, [[["a"]]]]
GIVEN = {Arg.COLUMN: ["a", "n", "d"], Arg.VALUE: [1, "2026-01-01", "0.50"], Arg.VALUES: [["x"], [1, 2]],
         Arg.REGEX: ["^a"], Arg.COLUMNS: [["a", "n"]], Arg.WHOLE: [0, 2], Arg.NUMBER: [1, 2.5], Arg.SHARE: [0.5, 1],
         Arg.FLAG: [True, False], Arg.REGEXES: [["^a", "b"]], Arg.ANY_OR_ALL: ["any", "all"]}  # fmt: skip


def suite(rng: random.Random) -> bytes:
    """A suite of random expectations, whose arguments are mostly of the right kind."""
    entries = []
    for name in rng.sample(sorted(KNOWN), 4):
        known = KNOWN[name]
        some = [key for key in known.arguments if key in known.required or rng.random() < 0.5]
        picked = {key: rng.choice(GIVEN[known.arguments[key]] if rng.random() < 0.95 else VALUES) for key in some}
        entries.append({"type": name, "kwargs": picked, "meta": {"foreset": {"on": rng.choice(["all", "changes", 1])}},
                        "severity": rng.choice(["critical", "warning", "info", None, 3])})  # fmt: skip
    return json.dumps({"name": "g.v", "expectations": entries}, indent=rng.choice([None, 1, 2])).encode()


def test_no_suite_makes_the_reader_fail() -> None:
    loaded = load_text(SPEC)
    assert loaded.program is not None
    accepted = refused = 0
    rng = random.Random(SEED)
    for number in range(MUTANTS):
        text = suite(rng)
        for _ in range(rng.choice((0, 0, 1, 3))):
            text = rng.choice(MUTATIONS)(text, rng) if text.strip() else text
        report = Report()
        program = with_suites(loaded.program, {"x/v.json": text.decode("utf-8", "replace")}, report)
        for fault in report:
            assert (fault.file, fault.line >= 1, fault.column >= 1) == ("x/v.json", True, True), f"mutant {number}"
            assert len(fault.message) < 400
        accepted += sum(len(view.expectations) for view in program.views)
        refused += not report.ok
    assert accepted > MUTANTS // 2
    assert refused > MUTANTS // 4


def test_the_sample_suites_are_read() -> None:
    loaded = load_file(ROOT / "view_specs" / "supply_chain.yaml")
    assert loaded.program is not None
    view = next(view for view in loaded.program.views if view.name == "maintainer_at_risk")
    assert [one.origin.rsplit("/", 1)[-1] for one in view.expectations] == [
        "maintainer_at_risk.json:11", "maintainer_at_risk.json:19"]  # fmt: skip
    assert replace(view, expectations=()) != view
