"""Reports inside a real Airflow: who may see which, and what a browser shows.

One API server serves all tests of this file. Its warehouse was written by the real store, with a
script wherever a stranger's words can come.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.airflow import browser
from tests.airflow.api_server import Server, running
from tests.unit.report_nights import EVIL, PASSED, Nights, expectation, quality

from foreset import errors
from foreset.store import files

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

GOOD, BAD = "manual__2026-11-17T02:00:00+00:00", "manual__2026-11-18T02:00:00+00:00"
GOOD_PATH, BAD_PATH = GOOD.replace(":", "%3A").replace("+", "%2B"), BAD.replace(":", "%3A").replace("+", "%2B")
RUN = f"/foreset/dags/foreset_parts/runs/{BAD_PATH}"
DOCS = f"{RUN}/docs/index.html"
VIEW, PICTURE = "/foreset/dags/foreset_parts/views/contains", "/foreset/dags/foreset_parts/views.svg"
OTHER_SPEC = """\
group: other
sources:
  inside: {view: parts.contains, columns: {part: bigint, inner: bigint}}
views:
  loop: {columns: {part: bigint}, rules: ["loop(P) :- inside(P, P)"]}
"""


def write_docs(run_directory: str) -> None:
    """Data Docs as the quality phase writes them."""
    from foreset.quality import pages

    found = f"<h1>Expectations of contains</h1><p>{EVIL.replace('<', '&lt;')}</p>"
    files.write_text(
        f"{run_directory}/data_docs/index.html", pages.index("parts", {"contains": ("contains.html", False)})
    )
    files.write_text(f"{run_directory}/data_docs/contains.html", pages.page("contains", found))
    files.write_text(f"{run_directory}/data_docs/{pages.STYLE}", pages.style())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("reports")
    nights = Nights(place / "warehouse")
    nights.night(GOOD, note=EVIL)
    run = nights.fail(BAD, "quality", errors.QualityFailed(f"1 does not hold {EVIL}", "mend the data"), verify=PASSED)
    facts = quality("failed", expectation("critical"), expectation("warning", success=True), docs="data_docs")
    files.write_text(f"{run.directory}/quality.json", json.dumps(facts))
    write_docs(run.directory)
    specs = place / "home" / "view_specs"
    specs.mkdir(parents=True)
    (specs / "other.yaml").write_text(OTHER_SPEC)
    with running(place / "home", str(place / "warehouse")) as started:
        started.trigger("foreset_parts", BAD)
        started.trigger("foreset_parts", "manual__not_begun")
        started.trigger("plain", "manual__1")
        yield started


def routes() -> list[str]:
    """Every route of the application, with the parameters filled in: a new route is in the matrix at once."""
    from foreset.orchestrate.places import Places
    from foreset.reports.web import build

    values = {"{dag_id}": "foreset_parts", "{run_id}": BAD_PATH, "{path:path}": "index.html", "{view}": "contains"}
    found = []
    for route in build(Places(Path(), "warehouse")).routes:
        path = "/foreset" + route.path
        for name, value in values.items():
            path = path.replace(name, value)
        assert "{" not in path, f"{path} has a parameter that this test does not know"
        found.append(path)
    return found


# ---------------------------------------------------------------- who may see what
def test_every_route_for_everybody(server: Server) -> None:
    paths = routes()
    assert {"/foreset/", "/foreset/dags/foreset_parts", RUN, DOCS, VIEW, PICTURE} == set(paths)
    for path in paths:
        listing = path == "/foreset/"
        codes = {user: server.get(path, user).status_code for user in (None, "otto", "vera", "anna")}
        assert codes == {None: 401, "otto": 200 if listing else 403, "vera": 200, "anna": 200}, path
        assert server.get(path, "anna", "POST").status_code == 405, path
    assert "foreset_parts" in server.get("/foreset/", "vera").text
    assert "foreset_other" not in server.get("/foreset/", "vera").text
    assert "foreset_parts" not in server.get("/foreset/", "otto").text
    assert all(f"foreset_{name}" in server.get("/foreset/", "anna").text for name in ("parts", "other"))
    assert "dags/plain" not in server.get("/foreset/", "anna").text


def test_the_dag_comes_from_the_path_and_from_nowhere_else(server: Server) -> None:
    for query in (
        "dag_id=foreset_other",
        "dag_id=~",
        "group=other&dag_id=foreset_other",
        "dag_id=foreset_parts&dag_id=plain",
    ):
        assert server.get(f"{RUN}?{query}", "otto").status_code == 403, query
        assert "What went wrong" in server.get(f"{RUN}?{query}", "vera").text, query
    for path in (
        "/foreset/dags/foreset_other/../foreset_parts",
        "/foreset/dags/foreset_other%2F..%2Fforeset_parts",
        "/foreset/dags/foreset_other%2f%2e%2e%2fforeset_parts",
        "/foreset/dags/foreset_other/runs/..%2F..%2Fforeset_parts%2Fruns%2Fx",
        "/foreset/dags/~",
        "/foreset/dags/FORESET_PARTS",
        "/foreset/dags/foreset_parts%00",
        "/foreset//dags/foreset_parts",
    ):
        answer = server.get(path, "otto")
        assert "parts" not in answer.text.replace("foreset_parts", "") or answer.status_code >= 400, path
        assert "Which parts go into which products" not in answer.text, path
    assert server.get("/foreset/dags/foreset_nowhere", "vera").status_code == 403, "existence is not told"


def test_a_token_that_is_not_ours_opens_nothing(server: Server) -> None:
    server.tokens["mallory"] = server.token("anna")[:-4] + "AAAA"
    for path in routes():
        assert server.get(path, "mallory").status_code in (401, 403)


@pytest.mark.parametrize(
    "path",
    ["..%2F..%2Fplan.json", "../../plan.json", "..%2F..%2F..%2F..%2F..%2Fmanifest", "%2Fetc%2Fpasswd", "/etc/passwd",
     "", "index.html%00", "quality.json", "....//index.html", "..%5C..%5Cplan.json"],
)  # fmt: skip
def test_nothing_beside_the_data_docs_can_be_fetched(server: Server, path: str) -> None:
    answer = server.get(f"{RUN}/docs/{path}", "anna")
    # A client or a server may resolve `..` before it is matched: that names a run, which there is not.
    assert answer.status_code in (400, 404) or "has not started its refresh" in answer.text, path
    assert "spec_text" not in answer.text


def test_every_answer_has_strict_headers(server: Server) -> None:
    answers = [server.get(path, user) for path in routes() for user in (None, "otto", "anna")]
    answers += [server.get("/foreset/nowhere", "anna"), server.get("/foreset/dags/foreset_parts/", "anna")]
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Location" not in answer.headers
    assert server.get(DOCS, "anna").headers["Content-Security-Policy"].startswith("sandbox allow-same-origin;")


def test_pages_of_other_dags_and_of_runs_that_have_not_begun(server: Server) -> None:
    assert "No view refresh in this DAG" in server.get("/foreset/dags/plain/runs/manual__1", "anna").text
    assert "No view refresh in this DAG" in server.get("/foreset/dags/plain", "otto").text
    not_begun = server.get("/foreset/dags/foreset_parts/runs/manual__not_begun", "vera").text
    assert "This run has not started its refresh" in not_begun
    assert "never refreshed" in server.get("/foreset/dags/foreset_other", "otto").text
    assert "No view refresh in this DAG" in server.get("/foreset/dags/plain/views/x", "otto").text
    assert server.get("/foreset/dags/plain/views.svg", "otto").status_code == 404
    assert "No such view" in server.get("/foreset/dags/foreset_parts/views/nobody", "vera").text


def test_the_page_of_a_view_and_the_picture(server: Server) -> None:
    page = server.get(VIEW, "vera").text
    assert "Which parts" not in page, "that is the group's description"
    assert all(
        words in page for words in ("contains(P, R) :- contains(P, Q), uses(Q, R).", "plant-data", "How fresh it is")
    )
    assert "<script" not in page
    picture = server.get(PICTURE, "vera")
    assert picture.headers["Content-Type"] == "image/svg+xml"
    assert "style-src 'sha256-" in picture.headers["Content-Security-Policy"]
    assert '<g class="box view failed"><title>view contains' in picture.text


def test_of_other_groups_only_those_are_named_that_the_user_may_read(server: Server) -> None:
    """`other` reads `parts.contains`; vera may not read its DAG, anna may."""
    assert "as inside" in server.get(VIEW, "anna").text
    assert 'href="../../foreset_other"' in server.get(VIEW, "anna").text
    assert "as inside" not in server.get(VIEW, "vera").text
    assert "foreset_other" not in server.get(VIEW, "vera").text


def test_a_group_that_was_never_refreshed_has_the_pages_of_its_file(server: Server) -> None:
    page = server.get("/foreset/dags/foreset_other/views/loop", "otto").text
    assert "This page shows the spec file" in page
    assert "<title>view loop" in server.get("/foreset/dags/foreset_other/views.svg", "otto").text
    assert server.get("/foreset/dags/foreset_other/views/loop", "vera").status_code == 403


def test_the_report_has_the_facts_and_no_script(server: Server) -> None:
    page = server.get(RUN, "vera").text
    assert "because 1 critical expectation on contains does not hold" in page
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3
    assert "<script" not in server.get("/foreset/dags/foreset_parts", "vera").text


def test_a_broken_warehouse_folder_is_said_and_hides_nothing_else(server: Server) -> None:
    marker = Path(server.warehouse, "_foreset", "other", "manifest", "_delta_log", "00000000000000000000.json")
    marker.parent.mkdir(parents=True)
    marker.write_text("{ this is no log")
    try:
        listing = server.get("/foreset/", "anna")
        assert (listing.status_code, "Unknown" in listing.text, "foreset_parts" in listing.text) == (200, True, True)
        broken = server.get("/foreset/dags/foreset_other", "anna")
        assert (broken.status_code, "cannot be read just now" in broken.text) == (500, True)
        assert "default-src 'none'" in broken.headers["Content-Security-Policy"]
    finally:
        marker.unlink()


@pytest.mark.parametrize("dag", ["foreset_..", "foreset_%20", "foreset_a%0d%0ab", "~", "foreset_", "%00"])
def test_names_that_no_group_can_have(server: Server, dag: str) -> None:
    for path in (f"/foreset/dags/{dag}", f"/foreset/dags/{dag}/runs/x", f"/foreset/dags/{dag}/views/x"):
        answer = server.get(path, "anna")
        assert answer.status_code in (200, 404), path
        assert answer.status_code == 404 or "No view refresh in this DAG" in answer.text
    assert server.get(f"/foreset/dags/{dag}/runs/x/docs/index.html", "anna").status_code == 404


def test_links_lead_where_they_say(server: Server) -> None:
    import re
    from urllib.parse import urljoin

    found = set()
    todo = ["/foreset/"]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        answer = server.get(path, "vera")
        assert answer.status_code == 200, path
        if answer.headers["Content-Type"].startswith("text/html"):
            links = re.findall(r'<(?:a|link) [^>]*href="([^"#]+)"', answer.text)
            todo += [urljoin(path, link.replace("&amp;", "&")) for link in links]
    assert {"/foreset/", "/foreset/dags/foreset_parts", RUN, DOCS, VIEW, PICTURE} <= found
    assert f"/foreset/dags/foreset_parts/runs/{GOOD_PATH}" in found
    assert f"{RUN}/docs/contains.html" in found
    assert f"{RUN}/docs/style.css" in found


# ---------------------------------------------------------------- what a browser shows
@pytest.mark.skipif(
    not browser.available(), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
)
def test_a_person_reads_the_report_in_the_frame(server: Server, tmp_path: Path) -> None:
    shots = Path(os.environ.get("FORESET_SHOTS", tmp_path))
    with browser.browser(tmp_path / "profile") as page:
        page.open(f"{server.url}/dags/foreset_parts/runs/{BAD_PATH}")
        page.type("input[name=username]", "vera")
        page.type("input[name=password]", server.password)
        page.click(page.find("button[type=submit]"))
        page.click(page.link("Data quality"))
        page.frame("iframe[title='Data quality']")
        text = page.wait_for_text("Rows that break expectations")
        assert "No. Readers still see the numbers of refresh 1 of" in text
        assert text.count("<script>alert('x')</script>") >= 2, "the script of the source row is shown as text"
        assert page.run("return document.scripts.length") == 0
        assert page.run("return getComputedStyle(document.querySelector('.verdict')).display") == "flex", (
            "the style is in"
        )
        page.screenshot(shots / "tab.png")

        page.click(page.link("Data Docs"))
        page.frame(None)
        page.wait_for_text("Back to the report", page.framed_text)
        page.click_framed("contains")
        docs = page.wait_for_text("Expectations of contains", page.framed_text)
        assert "<script>alert('x')</script>" in docs
        styled = page.framed("return d.defaultView.getComputedStyle(d.body).maxWidth")
        assert styled != "none", "its style sheet was loaded with the login"
        page.screenshot(shots / "docs.png")
        page.click_framed("Back to the report")
        page.wait_for_text("Rows that break expectations", page.framed_text)
        page.click_framed("parts")
        page.wait_for_text("The last 2 refreshes", page.framed_text)
        page.screenshot(shots / "history_tab.png")

        page.open(f"{server.url}/plugin/foreset")
        page.frame("iframe[title='View refreshes']")
        page.wait_for_text("parts")
        page.frame(None)
        assert "other" not in page.text().split()
