"""What to do after a failure, and which boxes of the picture are red: by source, owner, versions and command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.report_nights import FEED, PASSED, STILL, Nights, expectation, quality

from foreset import errors
from foreset.explain.picture import State as Did
from foreset.refresh.record_failure import described
from foreset.reports import pages, reading
from foreset.reports.advice import advice
from foreset.reports.tonight import tonight
from foreset.store import epochs, events, files

USES = "source `uses` (table `plant/uses`, versions 1 to 2: +3 −1 rows)"
WARNING = "with `severity: warning` it is reported and stops nothing."
AGAIN = "Then refresh again: `foreset refresh parts`."


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    found = Nights(tmp_path / "warehouse")
    found.night("n1")
    return found


def steps(nights: Nights, refresh_id: str = "n2") -> tuple[str, ...]:
    return advice(reading.read_run(nights.layout, refresh_id))


def did(nights: Nights, refresh_id: str = "n2") -> dict[str, str]:
    return {name: one.words for name, one in tonight(reading.read_run(nights.layout, refresh_id)).items()}


def test_a_broken_expectation_names_its_sources_their_owner_and_its_place(nights: Nights) -> None:
    run = nights.fail("n2", "quality", errors.QualityFailed("no"), verify=PASSED)
    files.write_text(f"{run.directory}/quality.json", json.dumps(quality("failed", expectation("critical"))))
    assert steps(nights) == (
        f"Look at what changed in the sources of the view `contains`: {USES}.",
        "Correct the wrong rows in their source table. Owner of this group: plant-data.",
        "If such rows are allowed, change the expectation of `contains` at `parts.yaml:9`: " + WARNING,
        AGAIN,
    )
    assert did(nights) == {"uses": "+3 −1", "banned": "unchanged", "contains": "failed", "tainted": "not reached"}


def test_verification_names_the_view_the_command_and_what_to_report(nights: Nights) -> None:
    failed = {**PASSED, "verdict": "failed", "mismatches": ["tainted(3,) was computed, but no rule derives it"]}
    hint = "nothing was published; run the refresh with `--mode recompute`; if it fails again, report the run directory"
    nights.fail("n2", "verify", errors.VerificationFailed("1 of 9 differ", hint), verify=failed)
    assert steps(nights) == (
        "Rebuild the view `tainted`: `foreset refresh parts --mode recompute`.",
        "If that fails in the same way, it is a bug in Foreset: please report it, with `_foreset/parts/runs/n2`.",
    )
    assert did(nights) == {"uses": "+3 −1", "banned": "unchanged", "contains": "+4 −2", "tainted": "failed"}


def test_verification_that_blames_an_own_aggregate_says_so(nights: Nights) -> None:
    wrong = "`remove` of `total` is wrong: computing the group again gives another result; correct it, or leave it out"
    fault = errors.VerificationFailed("1 of 9 differ", f"nothing was published; {wrong}")
    nights.fail("n2", "verify", fault, verify=PASSED)
    first, *_ = steps(nights)
    assert first == f"{wrong}."


def test_a_source_that_cannot_be_read_is_named_with_table_versions_and_owner(nights: Nights) -> None:
    hint = "nothing was published; correct the rows, or remove `key` from the spec"
    run = nights.open("n2")
    nights.mark(run, "capture-banned", STILL)
    fault = errors.SourceError("source `uses`: several rows have the key (part = 7)", hint)
    events.emit(run.directory, "failed", phase="capture-uses", **described(fault, "parts"))
    epochs.close_run(run, "failed")
    assert steps(nights) == (
        "Correct the rows, or remove `key` from the spec.",
        "Look at source `uses` (table `plant/uses`, versions 1 to 2). Owner of this group: plant-data.",
        "Run `foreset check parts --against-warehouse`: it says what is still wrong.",
        AGAIN,
    )
    assert did(nights) == {
        "uses": "failed", "banned": "unchanged", "contains": "not reached", "tainted": "not reached"
    }  # fmt: skip


def test_a_rule_that_fails_names_what_came_into_its_sources(nights: Nights) -> None:
    nights.fail("n2", "stratum-1", errors.EvaluationError("rule contains#1: overflow"))
    assert steps(nights) == (f"Look at what changed in the sources of the view `contains`: {USES}.", AGAIN)
    assert did(nights)["contains"] == "failed"


GROUPS = """group: parts
owner: plant-data
sources:
  uses: {table: plant/uses, columns: {part: bigint, needs: bigint}}
  banned: {table: plant/banned, columns: {part: bigint}}
views:
  contains:
    columns: {part: bigint, n: bigint}
    rules: ["contains(P, N) :- N = sum{Q, R | uses(P, Q), uses(Q, R)}"]
  tainted: {columns: {part: bigint}, rules: ["tainted(P) :- contains(P, _), banned(P)"]}
"""


def test_what_stands_behind_a_view_fails_as_the_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stratum holds the groups, which nobody sees."""
    monkeypatch.setattr("tests.unit.report_nights.SPEC", GROUPS)
    nights = Nights(tmp_path / "groups")
    nights.fail("n1", "stratum-1", errors.EvaluationError("overflow in a sum"))
    run = reading.read_run(nights.layout, "n1")
    assert run.at_work == ("contains",)
    assert did(nights, "n1")["contains"] == "failed"
    assert "~" not in "".join(advice(run))


def test_a_group_that_differs_is_shown_as_the_view_it_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verification looks at the groups too, which nobody sees."""
    monkeypatch.setattr("tests.unit.report_nights.SPEC", GROUPS)
    nights = Nights(tmp_path / "groups")
    found = "the groups of `uses`(1, 2) was computed, but no rule derives it"
    told = {**PASSED, "verdict": "failed", "mismatches": [found]}
    run = nights.open("n1")
    nights.capture(run)
    events.emit(run.directory, "verification", **told, differing=["contains"])
    fault = errors.VerificationFailed("1 of 9 differ", "nothing was published; refresh with `--mode recompute`")
    events.emit(run.directory, "failed", phase="verify", **described(fault, "parts"))
    epochs.close_run(run, "failed")
    assert did(nights, "n1")["contains"] == "failed"
    assert steps(nights, "n1")[0] == "Rebuild the view `contains`: `foreset refresh parts --mode recompute`."


def test_the_machine_is_for_the_doctor(nights: Nights) -> None:
    nights.fail("n2", "stratum-2", errors.EnvironmentFault("the disk is full", "make room"))
    assert steps(nights) == ("Make room.", "Run `foreset doctor`: it says what is still wrong.", AGAIN)


def test_in_airflow_the_dag_is_named(nights: Nights) -> None:
    nights.fail("n2", "stratum-1", errors.EvaluationError("overflow"))
    run = reading.read_run(nights.layout, "n2", "failed")
    assert advice(run)[-1] == (
        "Then refresh again: `foreset refresh parts`, or trigger the DAG `foreset_parts` in Airflow."
    )


def test_what_went_well_needs_no_advice(nights: Nights) -> None:
    assert steps(nights, "n1") == ()
    assert did(nights, "n1") == {"uses": "+3 −1", "banned": "unchanged", "contains": "+90 −10", "tainted": "unchanged"}
    nights.open("n3")
    assert steps(nights, "n3") == ()


def test_where_no_source_had_moved_everything_is_unchanged(nights: Nights) -> None:
    run = nights.open("n2")
    nights.capture(run, STILL)
    assert set(did(nights).values()) == {"unchanged"}
    assert "nothing that it reads had changed" in pages.run_page(reading.read_run(nights.layout, "n2"))


def test_a_source_that_was_read_anew_counts_as_changed(nights: Nights) -> None:
    run = nights.open("n2")
    nights.capture(run, {**FEED, "way": "Reload", "inserted": 0, "deleted": 0})
    found = tonight(reading.read_run(nights.layout, "n2"))
    assert (found["uses"].state, found["uses"].words) == (Did.CHANGED, "read as a whole")


def test_the_page_and_the_list_show_it(nights: Nights) -> None:
    nights.fail("n2", "stratum-1", errors.EvaluationError("overflow"))
    run = reading.read_run(nights.layout, "n2")
    page = pages.run_page(run)
    assert "<h3>What to do</h3>" in page
    assert "<code>plant/uses</code>" in page
    assert "<code>foreset refresh parts</code>" in page
    assert '<g class="box view failed"><title>view contains' in page
    listing = pages.groups_page([pages.Entry("parts", "dags/x", run)])
    assert "<b>First:</b>" in listing
    assert "Owner: plant-data." in listing
    assert "<b>First:</b>" not in pages.groups_page([pages.Entry("parts", "x", reading.read_run(nights.layout, "n1"))])
