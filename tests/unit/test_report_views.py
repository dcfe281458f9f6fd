"""The page of a view: what it says of a real warehouse, what it never lets out, and how big it may get."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset as command
from tests.unit.test_reports import Reader

import foreset
from foreset.reports import pages, views
from foreset.reports.definition import readers_elsewhere
from foreset.reports.site import write_site
from foreset.reports.views import ViewPage, read_view
from foreset.store import arrow

EVIL = "<script>alert('x')</script>"
FEED = {"delta.enableChangeDataFeed": "true"}
SPEC = f"""\
group: roads
description: Which cities reach which {EVIL}
owner: "{EVIL} team"
sources:
  edge:
    table: raw/edge
    description: "{EVIL}"
    columns: {{src: string, dst: string}}
  closed: {{table: raw/closed, columns: {{src: string}}}}
views:
  way:
    description: "A way {EVIL}"
    columns:
      src: {{type: string, description: "where it begins {EVIL}"}}
      dst: {{type: string, description: where it ends}}
    rules:
      - way(X,  Y) :- edge(X, Y), Y != "{EVIL}"   % as written
      - way(X, Y) :- edge(X, Z), way(Z, Y)
    expectations:
      - not_null: [src, dst]
      - in_set: {{column: src, values: [a, b, "<script>"]}}
        severity: warning
        note: "{EVIL}"
  free:
    columns: {{src: string}}
    rules: ["free(X) :- way(X, _), not closed(X)"]
tests:
  - name: "a way is lost {EVIL}"
    given: {{edge: [[a, b]]}}
    change: {{edge: {{delete: [[a, b]]}}}}
    expect: {{way: {{delete: [[a, b]]}}}}
  - name: all of it
    given: {{edge: [[a, b], [b, c]]}}
    state: {{free: [[a], [b]]}}
"""
OTHER = """\
group: audit
sources:
  ways: {view: roads.way, columns: {src: string, dst: string}}
views:
  loop: {columns: {src: string}, rules: ["loop(X) :- ways(X, X)"]}
"""


def edges(*rows: tuple[str | None, str | None]) -> pa.Table:
    return pa.table(
        {"src": pa.array([a for a, _ in rows], pa.string()), "dst": pa.array([b for _, b in rows], pa.string())}
    )


class Place:
    """A warehouse with its specs."""

    def __init__(self, folder: Path) -> None:
        self.root, self.specs = folder / "warehouse", folder / "specs"
        self.specs.mkdir(parents=True)
        (self.specs / "roads.yaml").write_text(SPEC)
        (self.specs / "audit.yaml").write_text(OTHER)
        write_deltalake(str(self.root / "raw/edge"), edges(("a", "b"), ("b", "c")), configuration=FEED)
        write_deltalake(str(self.root / "raw/closed"), pa.table({"src": ["b"]}), configuration=FEED)
        self.warehouse = foreset.open(str(self.root), str(self.specs))

    def load(self, *rows: tuple[str | None, str | None]) -> None:
        write_deltalake(str(self.root / "raw/edge"), edges(*rows), mode="append")

    def page(self, view: str = "way") -> ViewPage:
        found = read_view(self.warehouse.layout("roads"), view, self.specs)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Three refreshes that read nothing but this module: a first load, a night, and one that changes nothing."""
    found = Place(tmp_path_factory.mktemp("views"))
    found.warehouse.refresh("roads", refresh_id="n1")
    found.load(("c", EVIL + "x"), (EVIL, "b"))
    found.warehouse.refresh("roads", refresh_id="n2")
    found.warehouse.refresh("roads", refresh_id="n3")
    return found


def rendered(place: Place, view: str = "way") -> str:
    return pages.view_page(place.page(view), pages.Links(home="../", history="x", runs="../runs/", views="./"))


def text_of(page: str) -> str:
    return " ".join("".join(Reader(page).text).split())


# ---------------------------------------------------------------- what it says
def test_it_says_what_the_view_is(place: Place) -> None:
    page = place.page()
    assert [(c.name, c.description) for c in page.columns] == [
        ("src", f"where it begins {EVIL}"), ("dst", "where it ends")
    ]  # fmt: skip
    assert page.rules == [
        f'way(X,  Y) :- edge(X, Y), Y != "{EVIL}"   % as written',
        "way(X, Y) :- edge(X, Z), way(Z, Y).",
    ]
    assert [node.name for node in page.reads] == ["edge"]
    assert [node.name for node in page.readers] == ["free"]
    assert [(one.group, one.source) for one in page.elsewhere] == [("audit", "ways")]
    assert [(one.name, one.inserted, one.deleted, one.whole) for one in page.tests] == [
        (f"a way is lost {EVIL}", 0, 1, None)
    ]  # fmt: skip
    assert [(one.name, one.whole) for one in place.page("free").tests] == [("all of it", 2)]


def test_it_says_how_fresh_it_is(place: Place) -> None:
    page, other = place.page(), place.page("free")
    assert (page.rows, page.seq) == (place.warehouse.read("roads.way").num_rows, 2)
    assert page.changed is not None
    assert page.changed.seq == 2
    assert page.refreshed is not None
    assert page.changed.committed_at is not None
    assert page.refreshed > page.changed.committed_at, "the refresh that found nothing to do counts"
    assert [(s.name, s.table, s.after) for s in page.sources] == [("edge", "raw/edge", 1)]
    assert {s.name for s in other.sources} == {"edge", "closed"}, "what it rests on, through other views too"


def test_it_has_rows_expectations_and_the_history(place: Place) -> None:
    page = place.page()
    assert page.sample is not None
    table = place.warehouse.read("roads.way")
    assert {tuple(row) for row in page.sample.rows} == {tuple(row.values()) for row in table.to_pylist()}
    outcomes = [(held.declared.text, held.outcome.success if held.outcome else None) for held in page.expectations]
    assert [success for _, success in outcomes] == [True, True, False], outcomes
    second, first = [(run.refresh_id, line.inserted, line.deleted) for run, line in page.lines if run.seq]
    assert (first, second) == (("n1", 3, 0), ("n2", table.num_rows - 3, 0))
    shown = text_of(rendered(place))
    heads = (
        "Columns",
        "Some of its rows",
        "How it is made",
        "How fresh it is",
        "Expectations",
        "Tests of this view",
    )
    for words in (*heads, "The last", "where it ends", "All rows", "by refresh 2", "raw/edge"):
        assert words in shown, words
    assert f"Owner{EVIL} team" in shown
    assert "1 row removed" in shown
    assert "audit (as ways)" in shown


def test_it_shows_a_command_that_works(place: Place) -> None:
    sample = place.page("free").sample
    assert sample is not None
    assert sample.asked in {row[0] for row in sample.rows}
    asked = ("why", "roads.free", sample.asked, "--warehouse", str(place.root), "--specs", str(place.specs))
    assert command(*asked).code == 0
    assert f'foreset why roads.free "{sample.asked}"' in text_of(rendered(place, "free"))
    for value in ('a"b', "a, b", "", None, EVIL, "-3"):
        assert views.Sample(("x",), ((value,),)).asked == "...", value


def test_it_leads_to_its_neighbours_and_to_the_reports(place: Place) -> None:
    found = set(re.findall(r'href="([^"#]+)"', rendered(place)))
    assert found == {"./free", "../runs/n3", "../runs/n2", "../runs/n1", "../", "x"}
    assert set(re.findall(r'href="([^"#]+)"', rendered(place, "free"))) >= {"./way"}


def test_a_group_that_was_never_refreshed_has_pages_by_its_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    page = place.page()
    assert (page.rows, page.from_file, page.sample) == (None, True, None)
    shown = text_of(pages.view_page(page))
    assert "This group was never refreshed. This page shows the spec file." in shown
    assert "It was never published." in shown
    assert read_view(place.warehouse.layout("roads"), "nobody", place.specs) is None


def test_words_of_the_spec_that_readers_see_outlast_the_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    text = BARE.replace("{columns: {src: string}, rules", "{columns: {src: {type: string, description: a city}}, rules")
    (place.specs / "roads.yaml").write_text(text)
    place.warehouse.refresh("roads", refresh_id="n1")
    (place.specs / "roads.yaml").unlink()
    assert place.page().columns[0].description == "a city"


def test_other_specs_that_are_broken_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("roads.way: [")
    (tmp_path / "b.yaml").write_bytes(b"\xffroads.way")
    (tmp_path / "c.yaml").write_text(OTHER)
    assert [one.group for one in readers_elsewhere(tmp_path, "roads", "way")] == ["audit"]
    assert list(readers_elsewhere(tmp_path / "nowhere", "roads", "way")) == []


# ---------------------------------------------------------------- what it never lets out
def test_it_is_whole_escaped_and_needs_nothing_from_outside(place: Place) -> None:
    for view in ("way", "free"):
        page = rendered(place, view)
        read = Reader(page)
        assert "script" not in read.tags
        assert read.outside == []
        assert "http://" not in page
        assert "https://" not in page
        assert pages.policy().replace("'", "&#39;") in page
    assert text_of(rendered(place)).count(EVIL) >= 8, "in words, rules, rows, notes, titles and tests, always as text"


VALUES = (EVIL, "a \"b\" 'c'", "\x1b[31m", "a\u202eb", None, "", "x" * 5000)
BARE = """\
group: roads
sources:
  edge: {table: raw/edge, columns: {src: string, dst: string}}
views:
  way: {columns: {src: string}, rules: ["way(X) :- edge(X, _)"]}
"""


def test_any_value_is_text(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.specs / "roads.yaml").write_text(BARE)
    place.load(*((value, "b") for value in VALUES))
    place.warehouse.refresh("roads", refresh_id="n1")
    page = rendered(place)
    read = Reader(page)
    shown = "".join(read.text)
    assert "script" not in read.tags
    assert "\x1b" not in page
    assert "\u202e" not in page
    for expected in (
        EVIL,
        "a \"b\" 'c'",
        "\N{REPLACEMENT CHARACTER}[31m",
        "a\N{REPLACEMENT CHARACTER}b",
        "NULL",
        "empty text",
    ):
        assert expected in shown, expected
    assert "x" * 150 in page
    assert "x" * 300 not in page, "a long value is cut"


# ---------------------------------------------------------------- how big it may get
def test_a_sample_stops_reading_and_shows_only_what_is_there(place: Place) -> None:
    row = place.warehouse.manifest("roads")[-1]["views"]["way"]
    path = str(place.root / row["path"])
    table = arrow.sample(path, row["version"], ["src", "dst"], 3)
    whole = arrow.read(path, row["version"], ["src", "dst"])
    assert table.num_rows == 3
    assert {tuple(r.values()) for r in table.to_pylist()} <= {tuple(r.values()) for r in whole.to_pylist()}
    assert arrow.sample(path, row["version"], ["src", "dst"], 999).num_rows == whole.num_rows


def test_a_sample_has_no_row_that_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalake import DeltaTable

    place = Place(tmp_path)
    (place.specs / "roads.yaml").write_text(BARE)
    place.load(*((f"n{i}", "z") for i in range(200)))
    place.warehouse.refresh("roads", refresh_id="n1")
    DeltaTable(str(place.root / "raw/edge")).delete("src <> 'n150'")
    place.warehouse.refresh("roads", refresh_id="n2")
    monkeypatch.setattr(arrow, "BATCH", 16)
    page = place.page()
    assert page.sample is not None
    assert [tuple(row) for row in page.sample.rows] == [("n150",)]
    monkeypatch.setattr(views, "MOST_GONE", 10)
    assert "Too many rows have been removed" in place.page().no_sample


WIDE = """\
group: wide
sources:
  e: {table: raw/e, columns: {a: string}}
views:
"""


def wide_spec(count: int) -> str:
    """A view of many columns and rules, and many tests that name it."""
    columns = ", ".join(f"c{i}: {{type: string, description: {'long words ' * 20}}}" for i in range(count))
    head = ", ".join(["X"] * count)
    rules = "\n".join(f'      - v({head}) :- e(X), X != "{i} {"&" * 900}"' for i in range(110))
    tests = "\n".join(f"  - {{name: test {i}, given: {{e: []}}, expect: {{v: {{insert: []}}}}}}" for i in range(200))
    return f"{WIDE}  v:\n    columns: {{{columns}}}\n    rules:\n{rules}\ntests:\n{tests}\n"


def test_no_page_is_above_a_megabyte(tmp_path: Path) -> None:
    root, specs = tmp_path / "warehouse", tmp_path / "specs"
    specs.mkdir()
    (specs / "wide.yaml").write_text(wide_spec(40))
    values = [f"{i}{'<' * 4000}" for i in range(15)]
    write_deltalake(str(root / "raw/e"), pa.table({"a": values}), configuration=FEED)
    warehouse = foreset.open(str(root), str(specs))
    warehouse.refresh("wide", verify="off")
    page = read_view(warehouse.layout("wide"), "v", specs)
    assert page is not None
    assert page.sample is not None
    assert (len(page.sample.rows), len(page.sample.columns), page.sample.hidden_columns) == (10, 30, 10)
    assert (len(page.rules), page.more_rules, len(page.tests)) == (100, 10, 50)
    shown = pages.view_page(page)
    assert len(shown.encode()) < 1_000_000
    assert "10 more rules in wide.yaml" in shown


# ---------------------------------------------------------------- as files
def links_of(folder: Path) -> set[str]:
    found = set()
    for file in folder.rglob("*.html"):
        for link in re.findall(r'href="([^"#]+)"', file.read_text()):
            target = (file.parent / link).resolve()
            assert target.is_file(), f"{file.name} leads to {link}, which is not there"
            found.add(str(target.relative_to(folder)))
    return found


def test_the_pages_as_files_lead_to_each_other(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    found = write_site(place.warehouse.layout("roads"), folder, place.specs, None)
    assert [str(file.relative_to(folder)) for file in found] == [
        "index.html", "history.html", "views.svg", "views/way.html", "views/free.html"
    ]  # fmt: skip
    assert links_of(folder) == {"history.html", "views.svg", "views/way.html", "views/free.html"}
    assert "script" not in Reader((folder / "views/way.html").read_text()).tags


def test_the_command_writes_them(place: Place, tmp_path: Path) -> None:
    options = ["--warehouse", str(place.root), "--specs", str(place.specs)]
    folder = tmp_path / "site"
    done = command("report", "roads", "--site", str(folder), *options)
    assert (done.code, f"written: {folder / 'index.html'}" in done.out) == (0, True)
    assert command("report", "roads", "--seq", "1", "--site", str(folder), *options).code == 0
    assert "Refresh 1" in (folder / "index.html").read_text()
    assert command("report", "roads", "--history", "--site", str(folder), *options).code == 0
