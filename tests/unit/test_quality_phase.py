"""Which rows the quality phase looks at, night by night: on real marks and parquet, without Spark.

Great Expectations is replaced by a recorder, so that what is asked for can be seen; the old state
of views comes from a table in memory. tests/spark/test_quality.py runs it all for real.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
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
from foreset.records import codec
from foreset.refresh import context as context_module
from foreset.refresh import denying
from foreset.refresh import quality as phase
from foreset.refresh.context import Context, read_spec
from foreset.store.layout import Layout
from foreset.store.rows import ManifestRow, ViewPin

Edge = tuple[str | None, str | None]
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
        return [self.one(one.type, rows, int(one.arguments.get("column") == "dst")) for one in batch.expectations]

    def one(self, type_: str, rows: Sequence[Any], place: int) -> Finding:
        if type_ == "deny":
            return Finding(success=False, unexpected=len(rows), examples=tuple(rows))
        if type_ == "expect_table_row_count_to_be_between":
            return Finding(bool(rows), observed="" if rows else "0")
        bad = [row for row in rows if row[place] is None]
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
        self.patch.setattr("foreset.store.arrow.read", lambda *_: table(old))
        record = phase.quality(context)
        self.state = [*(edge for edge in self.state if edge not in minus), *plus]
        pin = ViewPin("reach/v", "id", self.number, {"src": "string", "dst": "string"}, rows=len(self.state))
        self.previous = ManifestRow(self.number, "r", "a", 1, 0, views={"v": pin}, quality=record)
        return codec.to_plain(record)

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


def test_rows_that_came_before_and_break_a_warning_are_counted(nights: Nights) -> None:
    nights.expectations = [WARNS, {"not_null": "dst"}]

    def known() -> list[int | None]:
        return [entry.known for entry in nights.previous.quality.views["v"]]

    nights.night([(None, "a"), (None, "b"), ("c", "d")])
    assert known() == [2, 0]
    facts = nights.night([("d", "e")])
    assert (facts["status"], facts["known"], known()) == ("passed", 2, [2, 0])
    assert Recorder.asked == [(NULL, "changes", 1)] * 2
    nights.night([(None, "c"), ("e", "f")], [(None, "a"), ("c", "d")])
    assert known() == [2, 0], "one came and one went"
    assert Recorder.asked == [(NULL, "changes", 2)] * 2 + [(NULL, "changes", 2)], (
        "what went, for the one that is broken"
    )
    assert nights.night([], [(None, "b")])["known"] == 1
    assert known() == [1, 0]
    assert nights.night([], [(None, "c")])["known"] == 0
    nights.night([], [("e", "f")])
    assert Recorder.asked == [], "where nothing is broken, what goes is of no interest"


def test_what_the_refresh_before_does_not_know_is_counted_once(nights: Nights) -> None:
    nights.expectations = [WARNS]
    nights.night([(None, "a"), ("c", "d")])
    before = nights.previous.quality
    (entry,) = before.views["v"]
    unknown = replace(before, views={"v": (replace(entry, known=None),)})  # as an earlier release wrote it
    nights.previous = replace(nights.previous, quality=unknown)
    facts = nights.night([("d", "e")])
    assert Recorder.asked == [(NULL, "changes", 1), (NULL, "all", 3)]
    assert (facts["status"], facts["views"]["v"][0]["known"]) == ("passed", 1), "counted, and no news"
    assert nights.night([("e", "f")])["views"]["v"][0]["known"] == 1
    assert Recorder.asked == [(NULL, "changes", 1)]


def test_shares_of_rows_and_whole_views_have_no_known_violations(nights: Nights) -> None:
    nights.expectations = [
        {"not_null": {"column": "src", "mostly": 0.1}, "severity": "warning"}, {**WARNS, "on": "all"},
        {"row_count": {"min": 1}, "on": "all"},
    ]  # fmt: skip
    nights.night([(None, "a"), ("c", "d")])
    facts = nights.night([("d", "e")])
    assert [entry["known"] for entry in facts["views"]["v"]] == [None, None, None]
    assert facts["known"] == 0


def test_what_cannot_be_counted_is_not_guessed(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.expectations = [WARNS]
    nights.night([(None, "a"), ("c", "d")])
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "one", lambda *_: Finding(success=False, error="no such thing"))
        assert nights.night([("d", "e")], [(None, "a")])["views"]["v"][0]["known"] is None
    assert nights.night([("e", "f")])["views"]["v"][0]["known"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_known_violations_are_those_of_the_whole_state(nights: Nights, seed: int) -> None:
    """Random nights of two warnings: what is carried from night to night is what a look at everything finds."""
    draw = random.Random(seed)
    nights.expectations = [WARNS, {"not_null": "dst", "severity": "warning"}]
    for _ in range(8):
        minus = [edge for edge in nights.state if draw.random() < 0.3]
        values = [None, *"abcdefg"]
        drawn = {(draw.choice(values), draw.choice(values)) for _ in range(draw.randrange(5))}
        plus = sorted(drawn - set(nights.state), key=repr)
        if draw.random() < 0.2:
            nights.expectations = nights.expectations[::-1]
        facts = nights.night(plus, minus)
        by_text = {entry["text"]: entry["known"] for entry in facts["views"]["v"]}
        assert by_text["src is never null"] == sum(src is None for src, _ in nights.state)
        assert by_text["dst is never null"] == sum(dst is None for _, dst in nights.state)


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
        nights.night([(None, None)])
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


def test_known_violations_of_a_deny(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing matched before, what matches is new; else the whole state is counted, and only then."""
    looked: list[bool] = []
    circles = lambda: [edge for edge in nights.state if edge[0] == edge[1]]  # noqa: E731 - the state before the night
    night: dict[str, list[Edge]] = {}

    def violations(*_: Any, whole: bool) -> denying.Violations:
        looked.append(whole)
        state = (
            [edge for edge in [*nights.state, *night["plus"]] if edge not in night["minus"]] if whole else night["plus"]
        )
        found = [(src,) for src, dst in state if src == dst]
        return denying.Violations(len(found), tuple(found), None)  # type: ignore[arg-type]

    def run(plus: list[Edge], minus: list[Edge]) -> int:
        night.update(plus=plus, minus=minus)
        looked.clear()
        return nights.night(plus, minus)["views"]["v"][0]["known"]

    monkeypatch.setattr(phase, "violations", violations)
    nights.expectations = [{"deny": "v(X, X)", "severity": "warning"}]
    assert run([("a", "b")], []) == 0
    assert run([("c", "c"), ("d", "d")], []) == len(circles()) == 2
    assert looked == [False]
    assert run([("e", "f")], [("c", "c")]) == len(circles()) == 1
    assert looked == [False, True]
    assert run([], []) == 1
    assert looked == []
    assert run([], [("d", "d")]) == 0
    assert run([("g", "h")], []) == 0
    assert looked == [False]
