"""What rows are held to shares nothing with what they are kept by: faults planted in the rewriting are seen.

Each slip is one that was there: it gave wrong rows by every strategy, and verification, which evaluated the same
rewritten rules, passed them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests import planted_sets
from tests.refresh_cases import CASES, evaluated_state, read_case
from tests.roads import FEED

import foreset
from foreset.domains import registry
from foreset.errors import VerificationFailed
from foreset.rewrite.pipeline import as_written, prepare
from foreset.spec.load import load_text
from foreset.testing.run import run_tests

ROWS = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 7), (None, 5), (None, 6)]
SPEC = """\
group: g
sources:
  n: {table: s/n, columns: {k: string, x: int}}
aggregates:
  iqr: percentile(S, 0.75) - percentile(S, 0.25)
domains:
  d: {provider: tens, functions: {g: {args: {n: bigint}, results: {r: bigint}}}}
views:
  iqrs: {columns: {k: string, r: double}, rules: ["iqrs(K, R) :- R = iqr{X | n(K, X)}"]}
  means: {columns: {k: string, r: double},
          rules: ["means(K, R) :- R = avg{X | n(K, X)}, R = avg{Y, X | n(K, X), n(K, Y)}"]}
  two: {columns: {k: string, n: bigint, t: bigint},
        rules: ["two(K, N, T) :- N = count{X | n(K, X)}, T = sum{Y | n(K, X), Y = 2 * X}"]}
  lower: {columns: {k: string, r: double}, rules: ["lower(K, R) :- R = percentile(0.25){X | n(K, X)}"]}
  upper: {columns: {k: string, r: double}, rules: ["upper(K, R) :- R = percentile(0.75){X | n(K, X)}"]}
  asked: {columns: {k: string, r: bigint}, rules: ["asked(K, R) :- N = count{X | n(K, X)}, in(R, d:g(N))"]}
  seen: {columns: {x: int, n: bigint}, rules: ["seen(Z, N) :- N = count{K | n(K, X), Z = 1}"]}
tests:
  - name: all of it
    given:
      n: [[a, 1], [a, 2], [a, 3], [a, 4], [b, 7], [null, 5], [null, 6]]
      "d:g": [[1, 10], [2, 20], [3, 30], [4, 40], [7, 70]]
    change: {n: {insert: [[b, 8]]}}
    state:
      iqrs: [[a, 1.5], [b, 0.5], [null, 0.5]]
      means: [[a, 2.5], [b, 7.5]]
      two: [[a, 4, 20], [b, 2, 30], [null, 2, 22]]
      upper: [[a, 3.25], [b, 7.75], [null, 5.75]]
      asked: [[a, 40], [b, 20], [null, 20]]
      seen: [[1, 3]]
"""


SLIPS: dict[planted_sets.Slip, str] = {
    planted_sets.labels_without_parameters: "iqrs",
    planted_sets.sets_of_one_name: "means",
    planted_sets.null_groups_joined: "two",
    planted_sets.groups_of_another_head: "asked",
    planted_sets.members_counted_twice: "seen",
    planted_sets.named_without_parameters: "upper",
}


@pytest.fixture(autouse=True, name="patch")
def _here(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    monkeypatch.setitem(registry._registered, "tens", foreset.PythonDomain({"g": lambda n: [n * 10]}))
    return monkeypatch


def outcome() -> Any:
    loaded = load_text(SPEC)
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert found.program is not None, list(found.report)
    (one,) = run_tests(loaded.program, found.program, found.layering)
    return one


def refresh(folder: Path) -> str:
    """The verdict of verification on a first load and on a night; the first that is not good ends it."""
    (folder / "specs").mkdir()
    (folder / "specs" / "g.yaml").write_text(SPEC)
    schema = pa.schema({"k": pa.string(), "x": pa.int32()})
    columns = [pa.array([row[i] for row in ROWS], kind) for i, kind in enumerate(schema.types)]
    write_deltalake(str(folder / "wh/s/n"), pa.table(columns, schema), configuration=FEED)
    warehouse = foreset.open(str(folder / "wh"), str(folder / "specs"), "nowhere")
    warehouse.refresh("g", verify="200")
    more = pa.table([pa.array(["b"]), pa.array([8], pa.int32())], schema)
    write_deltalake(str(folder / "wh/s/n"), more, mode="append")
    return str(warehouse.refresh("g", verify="200").verification["verdict"])


def test_what_is_right_passes(tmp_path: Path) -> None:
    assert outcome().passed, outcome()
    assert refresh(tmp_path) == "passed"


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.__name__)
def test_a_slip_in_the_rewriting_is_seen(slip: planted_sets.Slip, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
    slip(patch)
    found = outcome()
    assert not found.differences, "full evaluation is of the rules as written, and right"
    wrong = {difference.view for each in found.faults.values() for difference in each}
    assert SLIPS[slip] in wrong, found
    with pytest.raises(VerificationFailed):
        refresh(tmp_path)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.case")), ids=lambda path: path.stem)
def test_both_readings_of_a_program_agree(path: Path) -> None:
    case = read_case(path)
    found = prepare(case.program)
    assert found.program is not None
    assert found.layering is not None
    kept = evaluated_state(found.program, found.layering, case.nights)
    written = evaluated_state(*as_written(case.program, found.program), case.nights)
    assert {view: written[view] for view in kept} == kept
