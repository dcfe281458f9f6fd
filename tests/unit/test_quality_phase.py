"""Which rows the quality phase looks at, night by night: on real marks and parquet, without Spark.

Great Expectations is replaced by a recorder, so that what is asked for can be seen; the old state
of views comes from a table in memory. tests/spark/test_quality.py runs it all for real.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreset.errors import EnvironmentFault, QualityFailed
from foreset.plan.frozen import RefreshPlan
from foreset.quality.batches import Batch, Finding
from foreset.quality.checker import Checker
from foreset.refresh import context as context_module
from foreset.refresh import denying
from foreset.refresh import quality as phase
from foreset.refresh.context import Context, read_spec
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow, ViewPin

Edge = tuple[str | None, str]
SPEC = """\
group: reach
sources:
  edge: {table: sales/edge, columns: {src: string, dst: string}}
views:
  v:
    columns: {src: string, dst: string}
    rules: ["v(X, Y) :- edge(X, Y)"]
    expectations: EXPECTATIONS
"""


class Recorder:
    """Stands in for Great Expectations: knows nulls and numbers of rows, and remembers what it was asked."""

    asked: list[tuple[str, str, int]]

    def __init__(self) -> None:
        Recorder.asked = []

    def check(self, batch: Batch) -> list[Finding]:
        rows = list(batch.rows or ())
        Recorder.asked += [(one.type, str(batch.scope), len(rows)) for one in batch.expectations]
        return [self.one(one.type, rows) for one in batch.expectations]

    def one(self, type_: str, rows: Sequence[Any]) -> Finding:
        if type_ == "deny":
            return Finding(success=False, unexpected=len(rows), examples=tuple(rows))
        if type_ == "expect_table_row_count_to_be_between":
            return Finding(bool(rows), observed="" if rows else "0")
        bad = [row for row in rows if row[0] is None]
        return Finding(not bad, len(bad), tuple(bad))

    def pages(self, group: str) -> dict[str, str]:
        return {"index.html": group}


class Nights:
    """One view, its state, and what each night does to it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, monkeypatch
        self.state: list[Edge] = []
        self.previous: ManifestRow | None = None
        self.expectations: list[dict[str, Any]] = []
        self.number = 0
        monkeypatch.setattr(context_module, "heartbeat", lambda _: None)
        monkeypatch.setattr("foreset.quality.checker.Checker", Recorder)

    def night(self, plus: Sequence[Edge] = (), minus: Sequence[Edge] = ()) -> dict[str, Any]:
        """Stage a change, check it, and commit it if it may be."""
        self.number += 1
        run = self.folder / f"run{self.number}"
        sides = {side: self.staged(run, side, rows) for side, rows in (("plus", plus), ("minus", minus))}
        (run / "marks").mkdir(parents=True, exist_ok=True)
        (run / "marks" / "stratum-1.json").write_text(json.dumps({"views": {"v": sides}, "strategy": "x"}))
        moved = {"inserted": len(plus), "deleted": len(minus), "taken_whole": self.previous is None}
        (run / "marks" / "capture-edge.json").write_text(json.dumps(moved))
        text = SPEC.replace("EXPECTATIONS", json.dumps(self.expectations))
        program, layering = read_spec(text, "reach.yaml")
        named = SimpleNamespace(directory=str(run), layout=Layout(str(self.folder), "reach"), sources={"edge": None})
        plan = RefreshPlan("reach", "reach.yaml", text)
        context = Context(None, named, plan, program, layering, self.previous)  # type: ignore[arg-type]
        Recorder.asked = []
        old = self.state
        self.patch.setattr(phase.arrow, "read", lambda *_: table(old))
        facts = dict(phase.quality(context))
        self.state = [*(edge for edge in self.state if edge not in minus), *plus]
        pin = ViewPin("reach/v", "id", self.number, {"src": "string", "dst": "string"}, rows=len(self.state))
        self.previous = ManifestRow(self.number, "r", "a", 1, 0, views={"v": pin}, quality=facts)
        return facts

    def staged(self, run: Path, side: str, rows: Sequence[Edge]) -> dict[str, Any]:
        if not rows:
            return {"path": None, "rows": 0}
        folder = run / side
        folder.mkdir(parents=True)
        pq.write_table(table(rows), folder / "part.parquet")
        return {"path": str(folder), "rows": len(rows)}


def table(rows: Sequence[Edge]) -> pa.Table:
    text = pa.string()
    return pa.table({"src": pa.array([a for a, _ in rows], text), "dst": pa.array([b for _, b in rows], text)})


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    return Nights(tmp_path, monkeypatch)


NULL, COUNT = "expect_column_values_to_not_be_null", "expect_table_row_count_to_be_between"
WARNS = {"not_null": "src", "severity": "warning"}


def test_what_held_is_looked_at_in_the_rows_that_come(nights: Nights) -> None:
    nights.expectations = [{"not_null": "src"}]
    nights.night([("a", "b"), ("b", "c")])
    assert Recorder.asked == [(NULL, "changes", 2)], "a first load: all of it comes"
    nights.night([("c", "d")], [("a", "b")])
    assert Recorder.asked == [(NULL, "changes", 1)]
    facts = nights.night([], [("c", "d")])
    assert Recorder.asked == [], "nothing comes, so nothing is looked at"
    assert (facts["status"], facts["docs"], facts["views"]["v"][0]["success"]) == ("nothing to check", None, True)


def test_what_is_new_or_said_otherwise_is_looked_at_on_the_whole_state_once(nights: Nights) -> None:
    nights.night([(None, "b"), ("b", "c")])
    nights.expectations = [WARNS]
    assert nights.night([("c", "d")])["status"] == "warned", "the null was there before anybody minded it"
    assert Recorder.asked == [(NULL, "all", 3)]
    assert nights.night([("d", "e")])["status"] == "passed"
    assert Recorder.asked == [(NULL, "changes", 1)]
    nights.expectations = [{**WARNS, "note": "why"}]
    nights.night([("e", "f")])
    assert Recorder.asked == [(NULL, "changes", 1)], "a note changes no meaning"
    nights.expectations = [{"not_null": "src"}]
    with pytest.raises(QualityFailed, match="src is never null; 1 of 6 rows does not fit: \\(NULL, b\\)"):
        nights.night([("f", "g")])
    assert Recorder.asked == [(NULL, "all", 6)], "as a critical one it is new"


def test_the_whole_state_is_old_without_minus_and_with_plus(nights: Nights) -> None:
    nights.expectations = [{**WARNS, "on": "all"}, {"row_count": {"min": 1}, "on": "all"}]
    nights.night([(None, "a"), (None, "b"), ("c", "d")])
    facts = nights.night([("e", "f"), (None, "g")], [(None, "a")])
    assert Recorder.asked == [(NULL, "all", 4), (COUNT, "all", 4)]
    assert facts["views"]["v"][0]["examples"] == [["NULL", "b"], ["NULL", "g"]]
    assert [entry["rows"] for entry in facts["views"]["v"]] == [4, 4]


def test_an_outcome_about_a_view_that_did_not_change_is_kept(nights: Nights) -> None:
    nights.expectations = [{**WARNS, "on": "all"}]
    nights.night([(None, "a"), ("c", "d")])
    nights.expectations = [{"row_count": {"min": 1}, "on": "all"}, {**WARNS, "on": "all", "note": "since May"}]
    facts = nights.night()
    assert Recorder.asked == [(COUNT, "all", 2)], "only the new one"
    kept = facts["views"]["v"][1]
    assert (kept["unexpected"], kept["examples"], kept["note"]) == (1, [["NULL", "a"]], "since May")
    assert facts["status"] == "warned"


def test_of_no_rows_only_their_number_can_be_wrong(nights: Nights) -> None:
    nights.expectations = [
        {"not_null": "src", "on": "all"},
        {"row_count": {"min": 1}, "on": "all", "severity": "warning"},
    ]
    nights.night([("a", "b")])
    facts = nights.night([], [("a", "b")])
    assert Recorder.asked == [(COUNT, "all", 0)]
    assert [entry["success"] for entry in facts["views"]["v"]] == [True, False]


def test_what_could_not_be_checked_was_not(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.expectations = [WARNS]
    broken = Finding(success=False, error="no such thing")
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "one", lambda *_: broken)
        assert nights.night([("a", "b")])["status"] == "warned"
    nights.night([("b", "c")])
    assert Recorder.asked == [(NULL, "all", 2)], "the rows before have not been looked at yet"


def test_a_machine_without_great_expectations_is_told_so(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Recorder) -> None:
        raise ImportError("No module named 'great_expectations'")

    monkeypatch.setattr(Recorder, "__init__", missing)
    nights.expectations = [{"not_null": "src"}]
    with pytest.raises(EnvironmentFault, match="Great Expectations cannot be imported"):
        nights.night([("a", "b")])


def test_deny_looks_at_changes_once_it_is_known(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[bool] = []
    found: list[tuple[str]] = []

    def violations(*_: Any, whole: bool) -> denying.Violations:
        looked.append(whole)
        return denying.Violations(len(found), tuple(found), None)  # type: ignore[arg-type]

    monkeypatch.setattr(phase, "violations", violations)
    nights.expectations = [{"deny": "v(X, X)"}]
    nights.night([("a", "b")])
    nights.night([("b", "c")])
    assert looked == [True, False]
    nights.night()
    assert looked == [True, False], "nothing below it changed"
    nights.expectations = [{"deny": "v(X, X)", "on": "all"}]
    nights.night([("c", "d")])
    nights.night([("d", "e")])
    assert looked[2:] == [True, True]
    assert Recorder.asked == [], "a body that nothing matches needs no second opinion"
    found.append(("x",))
    with pytest.raises(QualityFailed, match="no row matches v\\(X, X\\); 1 row matches: \\(x\\)"):
        nights.night([("x", "x")])
    assert Recorder.asked == [("deny", "all", 1)]


def test_a_failure_leaves_a_record_and_no_mark(nights: Nights) -> None:
    nights.expectations = [{"not_null": ["src", "dst"]}]
    with pytest.raises(QualityFailed) as failed:
        nights.night([(None, "b")])
    assert "severity: warning" in failed.value.hint
    run = nights.folder / "run1"
    record = json.loads((run / phase.RECORD).read_text())
    assert (record["status"], record["failed"], record["checked"], record["docs"]) == ("failed", 2, 2, "data_docs")
    assert (run / "data_docs" / "index.html").read_text() == "reach"
    assert not (run / "marks" / "quality.json").exists()


def test_a_finished_phase_is_not_repeated(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.expectations = [{"not_null": "src"}]
    first = nights.night([("a", "b")])
    nights.number, nights.previous = 0, None
    Recorder.asked = []
    monkeypatch.setattr(Nights, "staged", lambda *_: {"path": None, "rows": 0})
    assert nights.night([("a", "b")]) == first, "its mark says what it found"
    assert Recorder.asked == []


def test_the_real_checker_has_what_the_recorder_has() -> None:
    assert {"check", "pages"} <= set(dir(Checker))
