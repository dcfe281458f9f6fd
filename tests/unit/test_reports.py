"""Reports: the first line for every outcome, the facts behind it, and pages that nothing can break out of."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cli_runner import foreset
from tests.unit.report_nights import EVIL, FEED, OFF, PASSED, SPEC, STILL, Nights, expectation, quality

from foreset import errors
from foreset.records.checks import ExpectationOutcome, QualityRecord
from foreset.reports import charts, datadocs, pages, reading, words
from foreset.reports.facts import quality as facts_of_quality
from foreset.reports.headline import group_headline, headline
from foreset.reports.model import State, Verification
from foreset.store import epochs, events, files

DATE = r"\d{1,2} \w{3} \d{4}, \d\d:\d\d UTC"


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(tmp_path / "warehouse")


def first_line(nights: Nights, refresh_id: str, scheduler: str = "") -> str:
    found = headline(reading.read_run(nights.layout, refresh_id, scheduler))
    return re.sub(DATE, "DATE", f"{found.answer}. {found.sentence}")


# ---------------------------------------------------------------- the first line, outcome by outcome
def test_published_and_in_order(nights: Nights) -> None:
    nights.night("n1", quality=quality("passed", expectation("critical", success=True)))
    assert first_line(nights, "n1") == (
        "Yes. Readers see refresh 1, published on DATE. "
        "100 rows recomputed from the sources agree, and the one expectation holds."
    )


def test_published_with_a_warning(nights: Nights) -> None:
    nights.night("n1", quality=quality("warned", expectation("warning"), expectation("critical", success=True)))
    assert first_line(nights, "n1") == (
        "Yes, with 1 warning. Readers see refresh 1, published on DATE. "
        "100 rows recomputed from the sources agree, and 1 of 2 expectations does not hold."
    )


def test_published_unverified(nights: Nights) -> None:
    nights.night("n1", OFF)
    told = first_line(nights, "n1")
    assert told.startswith("Yes, but unverified. Readers see refresh 1, published on DATE. No row was recomputed")


def test_replaced_by_a_later_one(nights: Nights) -> None:
    nights.night("n1")
    nights.night("n2")
    assert first_line(nights, "n1").startswith(
        "Replaced. Readers saw refresh 1 from DATE until DATE, when refresh 2 replaced it."
    )


def test_nothing_changed(nights: Nights) -> None:
    nights.night("n1")
    run = nights.open("n2")
    nights.capture(run, STILL)
    assert first_line(nights, "n2") == "Yes. No source has changed, so refresh 1 of DATE is still exact."
    epochs.close_run(run, "unchanged")
    assert first_line(nights, "n2") == "Yes. No source has changed, so refresh 1 of DATE is still exact."
    nights.night("n3")
    assert first_line(nights, "n2").startswith("Replaced. No source had changed, so refresh 1 of DATE stayed.")


DIFFER = "2 of 64 checked rows differ from recomputation"
FAILURES = [
    (errors.VerificationFailed(f"{DIFFER}:\n  x(1)"), DIFFER),
    (errors.SourceError("table t is gone"), "a source cannot be read as the spec says: table t is gone"),
    (errors.EvaluationError("rule v#1: overflow"), "a rule failed on the data: rule v#1: overflow"),
    (errors.EnvironmentFault("the disk is full"), "the machine was not ready: the disk is full"),
    (KeyboardInterrupt(), "it was interrupted"),
    (RuntimeError("boom\nand more"), "it failed while maintaining the views of step 1: RuntimeError: boom"),
]


@pytest.mark.parametrize(("error", "because"), FAILURES, ids=[type(error).__name__ for error, _ in FAILURES])
def test_failed(nights: Nights, error: BaseException, because: str) -> None:
    nights.fail("n0", "stratum-1", error)
    assert first_line(nights, "n0") == f"No. There are no numbers yet, because {because}."
    nights.night("n1")
    nights.fail("n2", "stratum-1", error)
    assert first_line(nights, "n2") == f"No. Readers still see the numbers of refresh 1 of DATE, because {because}."
    nights.night("n3")
    assert first_line(nights, "n2") == (
        f"Not by this one. It published nothing, because {because}. Readers now see refresh 2 of DATE."
    )


def test_a_broken_critical_expectation_names_its_views(nights: Nights) -> None:
    nights.night("n1")
    run = nights.fail("n2", "quality", errors.QualityFailed("no"), verify=PASSED)
    found = quality("failed", expectation("critical"), expectation("warning"))
    files.write_text(f"{run.directory}/quality.json", json.dumps(found))
    assert first_line(nights, "n2") == (
        "No. Readers still see the numbers of refresh 1 of DATE, "
        "because 1 critical expectation on contains does not hold."
    )


def test_fenced(nights: Nights) -> None:
    nights.night("n1")
    nights.fail("n2", "commit", errors.Fenced("n3 came first"))
    assert reading.read_run(nights.layout, "n2").state is State.FENCED
    nights.night("n3")
    assert first_line(nights, "n2").startswith("Not by this one. Another refresh came first, so this one stopped.")


def test_overtaken_without_having_said_a_word(nights: Nights) -> None:
    run = nights.open("n1")
    epochs.close_epoch(nights.layout, run.epoch, "committed")  # so that n2 need not wait
    nights.night("n2")
    assert reading.read_run(nights.layout, "n1").state is State.FENCED


def test_at_work_and_then_silent(nights: Nights) -> None:
    nights.night("n1")
    run = nights.open("n2")
    nights.capture(run)
    assert first_line(nights, "n2") == (
        "Not yet. The refresh still runs: 1 of 6 steps are done. Until it ends, readers see refresh 1 of DATE."
    )
    files.write_text(f"{nights.layout.epochs}/{run.epoch}-alive.json", '{"at": 1000.0}')
    assert first_line(nights, "n2").startswith("No. Readers still see the numbers of refresh 1 of DATE, because")


def test_tried_out(nights: Nights) -> None:
    nights.night("n1")
    epochs.close_run(nights.open("n2"), "dry-run")
    assert first_line(nights, "n2") == ("Nothing published. This was a dry run. Readers see refresh 1 of DATE.")


def test_rolled_back(nights: Nights) -> None:
    nights.night("n1")
    nights.night("n2")
    nights.night("n3", mode="rollback", extra={"rolled_back_to": 1})
    assert first_line(nights, "n3").startswith("With care. Somebody rolled back to refresh 1")


def test_a_run_that_has_not_begun(nights: Nights) -> None:
    nights.night("n1")
    assert first_line(nights, "n2", "queued").startswith("Not yet. This run has not started its refresh.")
    assert first_line(nights, "n2", "success").startswith("Nothing done.")
    assert "the run failed before the refresh started" in first_line(nights, "n2", "failed")
    assert first_line(nights, "../../../etc", "").startswith("Not yet.")
    assert group_headline(None).answer == "Not yet"


def test_a_retry_that_goes_on_is_at_work_again(nights: Nights) -> None:
    nights.night("n1")
    run = nights.fail("n2", "stratum-1", errors.EnvironmentFault("lost the server"))
    assert reading.read_run(nights.layout, "n2").state is State.FAILED
    again = nights.open("n2")
    assert again.run_id == run.run_id
    found = reading.read_run(nights.layout, "n2")
    assert (found.state, found.attempts) == (State.RUNNING, 2)
    nights.commit(again)
    page = pages.run_page(reading.read_run(nights.layout, "n2"))
    assert "1 earlier attempt of this refresh failed" in page


def test_a_task_that_failed_and_was_retried_in_place(nights: Nights) -> None:
    run = nights.open("n1")
    nights.capture(run)
    events.emit(run.directory, "failed", phase="stratum-1", error="EnvironmentFault", message="lost the server")
    assert reading.read_run(nights.layout, "n1").state is State.FAILED
    nights.maintain(run, 1, "contains", 4, 2)
    assert reading.read_run(nights.layout, "n1").state is State.RUNNING


def test_a_refresh_that_started_over_is_read_from_its_newest_directory(nights: Nights) -> None:
    old = nights.open("n1")
    epochs.close_run(old, "failed")
    nights.night("n2")
    nights.open("n1", note="again")
    found = reading.read_run(nights.layout, "n1")
    assert (found.run_id, found.note, found.before.seq) == ("n1~2", "again", 1)
    assert [run.refresh_id for run in reading.read_history(nights.layout).runs].count("n1") == 1


def test_a_group_that_is_not_refreshed_any_more(nights: Nights) -> None:
    nights.night("n1")
    run = replace(reading.read_run(nights.layout, "n1"), schedule="0 2 * * *", timezone="Europe/Berlin")
    assert run.when is not None
    due = (run.when + timedelta(days=2)).astimezone(ZoneInfo("Europe/Berlin")).replace(hour=2, minute=0)
    before = words.moment((due - timedelta(days=1)).astimezone(UTC))
    assert f"due on {before}" in group_headline(run, due + timedelta(minutes=59)).sentence, "a scheduler may be busy"
    assert group_headline(run, run.when + timedelta(minutes=30)).answer == "Yes"
    late = group_headline(run, due + timedelta(minutes=61))
    assert (late.answer, late.tone) == ("Not up to date", "caution")
    assert f"due on {words.moment(due.astimezone(UTC))} has not started" in late.sentence
    assert headline(run).answer == "Yes", "the page of the refresh itself speaks of that refresh"
    for schedule in (None, "@once", "@quarterly", "nonsense"):
        assert group_headline(replace(run, schedule=schedule), due + timedelta(days=900)).answer == "Yes"


# ---------------------------------------------------------------- the facts
def test_what_a_failed_run_had_done_and_what_it_never_reached(nights: Nights) -> None:
    nights.night("n1")
    nights.fail("n2", "stratum-2", errors.EvaluationError("overflow"))
    run = reading.read_run(nights.layout, "n2")
    contains, tainted = run.views
    assert (contains.done, contains.inserted, contains.deleted, contains.rows) == (True, 4, 2, 1202)
    assert (tainted.done, tainted.rows) == (False, 5)
    assert [(step.name, step.state) for step in run.steps] == [
        ("capture", "done"), ("stratum-1", "done"), ("stratum-2", "failed"), ("verify", "open"), ("quality", "open"),
        ("commit", "open"),
    ]  # fmt: skip
    assert [(s.name, s.before, s.after, s.way) for s in run.sources] == [
        ("uses", 1, 2, "Feed"), ("banned", 1, 2, "Unchanged")
    ]  # fmt: skip


def test_a_published_refresh_is_told_by_the_manifest_alone(nights: Nights) -> None:
    """The collector removes run directories long before rows of the manifest."""
    nights.night("n1", quality=quality("passed", expectation("warning", success=True)))
    files.delete_tree(nights.layout.run("n1"))
    run = reading.read_seq(nights.layout, 1)
    assert [(v.name, v.inserted, v.deleted, v.rows, v.rounds) for v in run.views] == [
        ("contains", 90, 10, 1200, 2), ("tainted", 0, 0, 5, 0)
    ]  # fmt: skip
    assert [(s.name, s.way, s.inserted) for s in run.sources] == [("uses", "Feed", 3), ("banned", "Unchanged", 0)]
    assert run.verification is not None
    assert run.quality is not None
    assert run.seconds == pytest.approx(0.2 * 2 + 1.5 + 0.4 + 0.3 + 0.9)
    assert "Recompute a sample" in pages.run_page(run)


def test_unknown_seqs_are_named(nights: Nights) -> None:
    with pytest.raises(errors.UsageError, match="no committed refresh"):
        reading.read_seq(nights.layout)
    nights.night("n1")
    with pytest.raises(errors.UsageError, match=r"no seq 4[\s\S]*its newest is seq 1"):
        reading.read_seq(nights.layout, 4)


@pytest.mark.parametrize(("verification", "tone"), [(PASSED, "good"), (OFF, "caution"), ({}, "caution")])
def test_the_history_and_the_first_line_agree(nights: Nights, verification: dict[str, Any], tone: str) -> None:
    nights.night("n1", verification)
    run = reading.read_seq(nights.layout)
    assert headline(run).tone == charts.sign(run) == tone


def test_the_history_has_published_and_failed_refreshes_in_order(nights: Nights) -> None:
    nights.night("a")
    nights.fail("c", "verify", errors.VerificationFailed("x"))
    nights.night("b")
    found = reading.read_history(nights.layout)
    assert [(run.refresh_id, charts.sign(run)) for run in found.runs] == [("b", "good"), ("c", "bad"), ("a", "good")]
    assert (found.newest.seq, found.owner) == (2, "plant-data")
    assert [run.refresh_id for run in reading.read_history(nights.layout, limit=2).runs] == ["b", "c"]
    assert reading.read_history(nights.layout, limit=2).more == 1


def test_torn_and_foreign_files_do_not_hide_a_report(nights: Nights) -> None:
    run = nights.open("n1")
    files.write_text(f"{run.directory}/marks/stratum-1.json", '{"strat')
    files.write_text(f"{run.directory}/marks/later-version.json", "[1]")
    log = Path(run.directory, "events.jsonl")
    log.write_text(log.read_text() + '{"kind": 7}\n{"at": "gestern", "kind": "failed"')
    assert reading.read_run(nights.layout, "n1").state is State.RUNNING
    assert pages.run_page(reading.read_run(nights.layout, "n1"))


# ---------------------------------------------------------------- words
AGREE = "were recomputed from the sources, and none differed."
CHANGED_3 = "at most 3 % of the changed rows can be wrong"
SAMPLED = f"60 rows {AGREE} "
ALL = {"checked": {"v": {"changed": 12, "unchanged": 328}}, "of": {"v": {"changed": 12, "unchanged": 328}}}
SOME = {"checked": {"v": {"changed": 100, "unchanged": 50}}, "of": {"v": {"changed": 5000, "unchanged": 20_000}}}
VERIFIED = [
    (
        {"rows": 370, **ALL},
        12,
        f"All 12 changed rows and all 328 unchanged rows {AGREE}",
    ),
    (
        {"rows": 150, **SOME, "bounds": {"changed": 0.0295, "unchanged": 0.0582}},
        5000,
        f"100 of 5,000 changed rows and 50 of 20,000 unchanged rows {AGREE} With 95 % certainty, {CHANGED_3}.",
    ),
    (
        {"rows": 1, "checked": {"v": {"changed": 1}}, "of": {"v": {"changed": 1, "unchanged": 0}}},
        1,
        "The one changed row was recomputed from the sources, and none differed.",
    ),
    (
        {"rows": 9, "checked": {"v": {"unchanged": 9}}, "of": {"v": {"changed": 0, "unchanged": 9}}},
        0,
        "All 9 rows were recomputed from the sources, and none differed.",
    ),
    (  # a record of an earlier release, which does not say how many rows there were
        {"rows": 60, "checked": {"v": {"changed": 30, "unchanged": 30}}, "bounds": {"changed": 0.0951}},
        900,
        SAMPLED.strip(),
    ),
    (
        {"rows": 60, "checked": {"v": {"changed": 3, "unchanged": 57}}, "bounds": {"unchanged": 0.0402}},
        3,
        SAMPLED + "All 3 changed rows were among them, so every change of this refresh is checked. "
        "With 95 % certainty, at most 4.1 % of the unchanged rows can be wrong.",
    ),
    ({"rows": 0}, 0, "There was nothing to recompute: this refresh maintained no view."),
    (
        {"rows": 12, "mode": "full", "checked": {"v": {"all": 12}}},
        3,
        "Every row was recomputed from the sources and compared: 12 rows, none differed.",
    ),
    (
        {"mode": "off", "verdict": "not checked"},
        5,
        "Verification was off for this refresh: no row was recomputed.",
    ),
]


@pytest.mark.parametrize(("facts", "changed", "said"), VERIFIED)
def test_verification_in_plain_words(facts: dict, changed: int, said: str) -> None:
    assert " ".join(words.verified(Verification(**{"mode": "200", "verdict": "passed", **facts}), changed)) == said


def test_every_strategy_has_plain_words() -> None:
    from foreset.plan.translate import MAINTAINING

    assert {*MAINTAINING, "skip", "recompute", "rollback"} <= set(words.STRATEGIES)


def test_numbers_and_times() -> None:
    assert [words.percent(rate) for rate in (0.0141, 0.00012, 0.63, 0.0951, 0.9501, 1, 0)] == [
        "1.5 %", "0.012 %", "63 %", "9.6 %", "96 %", "100 %", "0 %"
    ]  # fmt: skip
    assert [words.duration(s) for s in (None, 0.04, 59.7, 60.2, 200, 7500)] == [
        "–", "0.0 s", "1 min", "1 min", "3 min 20 s", "2 h 5 min"
    ]  # fmt: skip
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(list("abcd")) == "a, b and 2 more"
    assert (words.signed(1200, "+"), words.signed(0, "−")) == ("+1,200", "0")


# ---------------------------------------------------------------- pages
class Reader(HTMLParser):
    """Refuses what is not well-formed, and collects what a page refers to."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.outside: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert len(self.ids) == len(set(self.ids)), "an id occurs twice"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has a handler"
            assert name != "style", "the policy forbids inline styles"
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src", "action", "data", "xlink:href") and re.match(r"[a-z]+:|//", str(value)):
                self.outside.append(str(value))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def every_page(nights: Nights) -> dict[str, str]:
    """A page of each kind and outcome, with a script wherever a stranger's words can come."""
    nights.night(
        "n1",
        note=EVIL,
        verification={**PASSED, "mode": EVIL, "checked": {EVIL: {"changed": 3}}},
        quality=quality("warned", expectation("warning"), expectation("warning", success=True), docs="docs"),
    )
    nights.fail("n2", "verify", errors.VerificationFailed(EVIL, f"hint `{EVIL}`"))
    run = nights.open("n3", note=EVIL)
    nights.capture(run, {**FEED, "degraded": True, "way": EVIL, "reason": f"`{EVIL}`", "key": ["part", EVIL]})
    nights.maintain(run, 1, "contains", 4, 0, strategy=EVIL)
    run = nights.fail("n4", EVIL, RuntimeError(EVIL), verify={**PASSED, "verdict": "failed", "mismatches": [EVIL]})
    files.write_text(f"{run.directory}/quality.json", json.dumps(quality("failed", expectation("critical"))))
    links = pages.Links(home="../", history="../x", runs="x/runs/", docs="x/docs/index.html")
    found = {name: pages.run_page(reading.read_run(nights.layout, name), links) for name in ("n1", "n2", "n3", "n4")}
    found["none"] = pages.run_page(reading.read_run(nights.layout, EVIL, EVIL), links)
    history, latest = reading.read_history(nights.layout), reading.latest_run(nights.layout)
    found["history"] = pages.history_page(history, latest, links)
    found["file"] = pages.run_page(reading.read_run(nights.layout, "n1"))
    found["groups"] = pages.groups_page([pages.Entry("parts", "dags/x", latest), pages.Entry(EVIL, "y", None, EVIL)])
    found["no groups"] = pages.groups_page([])
    found["message"] = pages.message_page(EVIL, EVIL)
    return found


def test_pages_are_whole_escaped_and_need_nothing_from_outside(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.store.epochs.PATIENCE", 0)
    monkeypatch.setattr("foreset.store.epochs._holder", lambda *_: None)  # n3 is left at work on purpose
    found = every_page(nights)
    for name, page in found.items():
        read = Reader(page)
        assert "script" not in read.tags, name
        assert "b" not in read.tags or "<b>why</b>" not in page, name
        assert read.outside == [], name
        assert "http://" not in page and "https://" not in page, name
        assert read.tags.count("main") == read.tags.count("h1") == 1, name
        assert page.startswith('<!doctype html>\n<html lang="en">'), name
        assert pages.policy().replace("'", "&#39;") in page, name
    for name in ("n1", "n2", "n3", "n4", "none", "history", "groups", "message"):
        assert EVIL in "".join(Reader(found[name]).text), f"{name} shows the script as text"
    assert f". Checked: one row for each part, {EVIL}." in "".join(Reader(found["n3"]).text)


def test_every_cell_has_its_header_and_every_table_its_caption(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreset.store.epochs._holder", lambda *_: None)
    for name, page in every_page(nights).items():
        for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
            head, _, body = table.partition("<tbody>")
            assert "<caption>" in head, name
            columns = len(re.findall(r"<th scope=\"col\"", head))
            for row in re.findall(r"<tr>.*?</tr>|<tr class.*?</tr>", body, re.DOTALL):
                spans = sum(int(n) - 1 for n in re.findall(r"colspan=\"(\d+)\"", row))
                assert len(re.findall(r"<t[dh]\b", row)) + spans == columns, (name, row)


def test_the_style_sheet_is_the_one_that_the_policy_names(nights: Nights) -> None:
    import base64
    import hashlib

    page = pages.message_page("a", "b")
    sheet = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in pages.policy()
    assert "url(" not in sheet and "@import" not in sheet


def test_what_cannot_be_seen_is_made_visible() -> None:
    page = pages.message_page("a\x00b\u202ec", "d\x1b[31m")
    assert "a\ufffdb\ufffdc" in page
    assert "\x1b" not in page


def test_how_expectations_are_broken() -> None:
    def said(**facts: object) -> str:
        found = facts_of_quality(QualityRecord(views={"v": (ExpectationOutcome(**{"expectation": "x", **facts}),)}))
        assert found is not None
        return words.breaking(found.expectations[0])

    assert said(unexpected=1, rows=40) == "1 row of 40 breaks it."
    assert said(unexpected=1200, rows=4000) == "1,200 rows of 4,000 break it."
    assert said(unexpected=2, rows=9, expectation="deny") == "2 rows match the denied condition."
    assert said(unexpected=0, observed="7 rows") == "Found 7 rows."
    assert said(error="no such column") == "It could not be checked: no such column."


def test_a_run_id_with_signs_makes_a_link_that_stays_in_the_folder() -> None:
    link = pages.Links(runs="x/runs/").run("manual__2026-11-18T02:00:00+00:00")
    assert link == "x/runs/manual__2026-11-18T02%3A00%3A00%2B00%3A00"


def test_no_report_is_above_a_megabyte(nights: Nights) -> None:
    """However much a refresh has to say: long messages, hundreds of expectations, rows of long values."""
    long = "<&" * 3000
    many = [{**expectation("critical"), "text": f"{i} {long}", "examples": [[long, long]] * 5} for i in range(400)]
    verified = {**PASSED, "verdict": "failed", "mismatches": [f"contains({long})"] * 200}
    run = nights.fail("n1", "quality", errors.QualityFailed(long * 100, f"correct {long}"), verify=verified)
    files.write_text(f"{run.directory}/quality.json", json.dumps(quality("failed", *many)))
    page = pages.run_page(reading.read_run(nights.layout, "n1"))
    assert len(page.encode()) < 1_000_000
    Reader(page)
    assert "And 370 more expectations that do not hold" in page
    assert "The first 300 expectations, broken ones first" in page


def test_reading_and_rendering_need_no_spark_and_no_airflow(nights: Nights) -> None:
    nights.night("n1")
    code = """
import sys
from foreset.reports import pages, reading
from foreset.store.layout import Layout
layout = Layout(sys.argv[1], "parts")
pages.run_page(reading.read_run(layout, "n1")); pages.history_page(reading.read_history(layout), None)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"pyspark", "delta", "airflow", "great_expectations"}))
"""
    done = subprocess.run([sys.executable, "-c", code, nights.layout.root], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---------------------------------------------------------------- Data Docs
def test_data_docs_can_run_nothing() -> None:
    for rule in ("sandbox allow-same-origin;", "default-src 'none'", "style-src 'self';", "frame-ancestors 'self'"):
        assert rule in datadocs.POLICY
    assert "allow-scripts" not in datadocs.POLICY
    assert "script-src" not in datadocs.POLICY


def test_only_files_of_the_data_docs_can_be_fetched(nights: Nights, tmp_path: Path) -> None:
    nights.night("n1")
    run = nights.open("n2")
    nights.mark(run, "quality", quality("passed", expectation("warning", success=True), docs="quality/docs"))
    folder = Path(run.directory, "quality", "docs")
    (folder / "validations").mkdir(parents=True)
    (folder / "index.html").write_text("<html><body>index</body></html>")
    (folder / "style.css").write_text("p {}")
    (folder / "validations" / "x.html").write_text("<body>x</body>")
    (folder / "data.parquet").write_text("rows")
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    (folder / "link.html").symlink_to(secret)

    def fetched(path: str, refresh: str = "n2") -> bytes | None:
        page = datadocs.fetch(nights.layout, refresh, path)
        return page and page.content

    back = b'<body><p><a href="%s">Back to the report</a></p>'
    assert fetched("index.html") == b"<html>" + back % b"../../n2" + b"index</body></html>"
    assert fetched("validations/x.html") == back % b"../../../n2" + b"x</body>"
    assert fetched("style.css") == b"p {}"
    outside = [
        "../../plan.json",
        "../docs/index.html",
        "/etc/passwd",
        str(secret),
        "link.html",
        "validations/../x.html",
    ]
    for path in [*outside, "data.parquet", "", "nowhere.html", "validations", "./index.html"]:
        assert fetched(path) is None, path
    assert fetched("index.html", "n1") is None
    assert fetched("index.html", "../n2") is None


@pytest.mark.parametrize("docs", ["../..", "/etc", "s3://bucket/x", "a/../../..", "", None])
def test_a_reference_cannot_lead_out_of_the_run_directory(nights: Nights, docs: str | None) -> None:
    run = nights.open("n1")
    Path(run.directory, "index.html").write_text("x")
    nights.mark(run, "quality", quality("passed", docs=docs))
    assert datadocs.fetch(nights.layout, "n1", "index.html") is None


# ---------------------------------------------------------------- the command
@pytest.fixture
def options(nights: Nights, tmp_path: Path) -> list[str]:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "parts.yaml").write_text(SPEC)
    return ["--warehouse", nights.layout.root, "--specs", str(tmp_path / "specs")]


def test_the_command_answers_in_its_first_line(nights: Nights, options: list[str], tmp_path: Path) -> None:
    nights.night("n1")
    nights.fail("n2", "verify", errors.VerificationFailed("2 of 9 rows differ"))
    said = foreset("report", "parts", *options).out.splitlines()
    assert re.sub(DATE, "DATE", said[0]) == (
        "parts: No. Readers still see the numbers of refresh 1 of DATE, because 2 of 9 rows differ."
    )
    assert any("contains" in line and "+4" in line and "-2" in line for line in said)
    assert foreset("report", "parts", "--seq", "1", *options).out.startswith("parts: Yes.")
    assert foreset("report", "parts", "--run", "n1", *options).out.startswith("parts: Yes.")
    page = tmp_path / "deep" / "page.html"
    assert foreset("report", "parts", "--history", "-o", str(page), *options).code == 0
    assert "a" not in Reader(page.read_text()).tags, "a page in a file has no links"


def test_the_command_gives_json(nights: Nights, options: list[str]) -> None:
    nights.night("n1")
    found = foreset("report", "parts", "--json", *options).data
    assert (found["answer"], found["report"]["seq"], found["report"]["state"]) == ("Yes", 1, "committed")
    assert foreset("report", "parts", "--json", "--history", *options).data["report"]["runs"][0]["seq"] == 1


def test_the_command_refuses_what_is_not_there(nights: Nights, options: list[str]) -> None:
    assert foreset("report", "parts", *options).code == 2
    nights.night("n1")
    wrong = foreset("report", "parts", "--run", "n9", *options)
    assert (wrong.code, "its last ones: n1" in wrong.err) == (2, True)
    assert foreset("report", "parts", "--run", "n1", "--seq", "1", *options).code == 2
