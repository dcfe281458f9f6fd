"""Domains in a refresh: asked once for each argument, pinned, and maintained like any change; without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.cli_runner import foreset as cli
from tests.roads import FEED

import foreset
from foreset.domains import registry
from foreset.domains.provider import DomainFailed
from foreset.errors import SourceError
from foreset.plan.frozen import Request
from foreset.plan.stages import CAPTURE, COMMIT, OPEN, PUBLISH, QUALITY, STRATA, VERIFY, Stage
from foreset.records.codec import to_plain
from foreset.refresh.tasks import Job, perform
from foreset.warehouse import Warehouse

SPEC = """\
group: faces
sources:
  person: {table: raw/person, columns: {name: string, age: int}}
domains:
  book:
    provider: book
    functions:
      city: {args: {name: string}, results: {city: string}%s}
      cities: {results: {city: string}}
      small: {args: {city: string}}
views:
  lives:
    columns: {name: string, city: string}
    rules:
      - lives(N, C) :- person(N, A), A >= 18, in(C, book:city(N))
  in_big:
    columns: {name: string}
    rules:
      - in_big(N) :- lives(N, C), not in(book:small(C))
  empty:
    columns: {city: string}
    rules:
      - empty(C) :- in(C, book:cities()), not lives(_, C)
tests:
  - name: who moves
    given:
      person: [[ann, 30], [kid, 3]]
      "book:city": [[ann, Rome], [kid, Rome], [eve, Oslo]]
      book:cities: [[Rome], [Oslo]]
      book:small: [[Oslo]]
    change:
      "book:city": {delete: [[ann, Rome]], insert: [[ann, Oslo]]}
    expect:
      lives: {insert: [[ann, Oslo]], delete: [[ann, Rome]]}
      in_big: {insert: [], delete: [[ann]]}
      empty: {insert: [[Rome]], delete: [[Oslo]]}
"""


class Book:
    """A provider that can be changed, and that counts what it is asked."""

    def __init__(self) -> None:
        self.city = {"ann": ["Rome"], "bob": ["Oslo", "Rome"], "eve": ["Oslo"], "kid": ["Rome"]}
        self.small, self.asked, self.broken = {"Oslo"}, [], False

    def answer(self, domain, function, arguments, access):  # noqa: ARG002 - as providers are called
        self.asked += [(function.name, *args) for args in arguments]
        if self.broken:
            raise DomainFailed("the book is closed")
        answers = {"city": lambda n: self.city.get(n, []), "small": lambda c: [True] if c in self.small else [],
                   "cities": lambda: sorted({c for found in self.city.values() for c in found})}  # fmt: skip
        return {args: answers[function.name](*args) for args in arguments}


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Iterator[Book]:
    found = Book()
    monkeypatch.setitem(registry._registered, "book", found)
    return found


@pytest.fixture
def wh(tmp_path: Path) -> Warehouse:
    (tmp_path / "specs").mkdir()
    declare(tmp_path)
    people(tmp_path, ("ann", 30), ("bob", 40), ("kid", 3))
    return foreset.open(tmp_path / "wh", tmp_path / "specs", "nowhere")


def declare(root: Path, more: str = "") -> None:
    (root / "specs" / "faces.yaml").write_text(SPEC % more)


def people(root: Path, *rows: tuple[str | None, int]) -> None:
    table = pa.table({"name": [name for name, _ in rows], "age": pa.array([age for _, age in rows], pa.int32())})
    write_deltalake(root / "wh/raw/person", table, mode="append",
                    configuration=FEED)  # fmt: skip


def rows(table: pa.Table) -> set[tuple]:
    return {tuple(row.values()) for row in table.to_pylist()}


def holds(wh: Warehouse, lives: set, in_big: set, empty: set) -> None:
    assert rows(wh.read("faces.lives")) == lives
    assert rows(wh.read("faces.in_big")) == {(name,) for name in in_big}
    assert rows(wh.read("faces.empty")) == {(name,) for name in empty}


def test_a_load_and_nights(wh: Warehouse, book: Book, tmp_path: Path) -> None:
    first = wh.refresh("faces")
    assert first.verification["verdict"] == "passed"
    holds(wh, {("ann", "Rome"), ("bob", "Oslo"), ("bob", "Rome")}, {"ann", "bob"}, set())
    assert sorted(book.asked) == [("cities",), ("city", "ann"), ("city", "bob"), ("small", "Oslo"), ("small", "Rome")]
    assert first.domains["book:city"] | {"digest": ""} == {
        "arguments": 2, "fresh": 2, "cached": 0, "kept": 0, "held": 0, "rows": 3, "digest": ""}  # fmt: skip

    book.asked.clear()
    quiet = wh.refresh("faces")
    assert (quiet.status, quiet.seq) == ("unchanged", 1)
    assert ("city", "ann") in book.asked, "only the domain knows whether it has news"

    book.city["bob"] = ["Pisa"]
    night = wh.refresh("faces", mode="incremental")
    assert night.status == "committed"
    plus, minus = wh.changes("faces.lives")
    assert rows(plus) == {("bob", "Pisa")}
    assert rows(minus) == {("bob", "Oslo"), ("bob", "Rome")}
    assert night.views["lives"].strategy in ("counting", "dred")
    holds(wh, {("ann", "Rome"), ("bob", "Pisa")}, {"ann", "bob"}, {"Oslo"})

    book.small.add("Pisa")
    people(tmp_path, ("eve", 50), (None, 50))
    wh.refresh("faces")
    holds(wh, {("ann", "Rome"), ("bob", "Pisa"), ("eve", "Oslo")}, {"ann"}, set())

    DeltaTable(tmp_path / "wh/raw/person").delete("name = 'bob'")
    book.asked.clear()
    last = wh.refresh("faces", verify="full")
    holds(wh, {("ann", "Rome"), ("eve", "Oslo")}, {"ann"}, {"Pisa"})
    assert ("city", "bob") not in book.asked, "nobody wants to know it any more"
    assert last.verification["verdict"] == "passed"
    json.dumps(wh.manifest("faces"))
    assert cli("verify", "faces", "--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh").code == 0


def test_what_is_recorded_is_what_a_retry_takes(wh: Warehouse, book: Book, tmp_path: Path) -> None:
    """An answer is pinned for the refresh, also where a later stage begins anew."""
    layout = wh.layout("faces")

    def done(stage: Stage, stratum: int = 0) -> dict:
        request = Request(refresh_id="night")
        spec = str(tmp_path / "specs/faces.yaml")
        return to_plain(perform(Job(stage, layout.root, "faces", request, stratum, spec, "nowhere", again=True)))

    done(OPEN)
    assert done(CAPTURE)["status"] == "moved"
    for number in range(1, 6):
        done(STRATA, number)
    asked = list(book.asked)
    for mark in Path(layout.runs).glob("*/marks/stratum-*.json"):
        mark.unlink()
    book.city["ann"] = ["Bonn"]
    strata = len(read_strata(wh))
    for number in range(1, strata + 1):
        done(STRATA, number)
    for stage in (VERIFY, QUALITY, COMMIT, PUBLISH):
        done(stage)
    assert sorted(set(book.asked)) == sorted(book.asked), f"asked twice: {book.asked}, first {asked}"
    assert ("ann", "Rome") in rows(wh.read("faces.lives"))


def read_strata(wh: Warehouse) -> tuple:
    from foreset.refresh.context import read_spec

    return read_spec(*wh.spec("faces"))[1].strata


def test_a_domain_that_fails_stops_the_refresh(wh: Warehouse, book: Book) -> None:
    wh.refresh("faces")
    book.broken = True
    with pytest.raises(SourceError, match="the book is closed"):
        wh.refresh("faces")
    assert len(wh.manifest("faces")) == 1
    book.broken = False
    assert wh.refresh("faces").status == "unchanged"


def test_or_keeps_what_it_said_last(wh: Warehouse, book: Book, tmp_path: Path) -> None:
    declare(tmp_path, ", on_error: keep")
    wh.refresh("faces")
    book.city["ann"] = ["Bonn"]
    book.broken = True
    with pytest.raises(SourceError):
        wh.refresh("faces")  # the other functions of the book stop it
    text = (tmp_path / "specs/faces.yaml").read_text()
    text = text.replace("results: {city: string}}", "results: {city: string}, on_error: keep}")
    (tmp_path / "specs/faces.yaml").write_text(
        text.replace("{args: {city: string}}", "{args: {city: string}, on_error: keep}")
    )
    people(tmp_path, ("ann", 31))
    kept = wh.refresh("faces")
    assert any("book:city failed for 2 of 2 arguments (the book is closed)" in warning for warning in kept.warnings)
    assert ("ann", "Rome") in rows(wh.read("faces.lives"))
    assert wh.manifest("faces")[-1]["extra"]["warnings"] == list(kept.warnings)
    told = cli("report", "faces", "--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh")
    assert "Yes, with 3 warnings" in told.out
    assert "warning: book:city failed" in told.out
    book.broken = False
    wh.refresh("faces")
    assert ("ann", "Bonn") in rows(wh.read("faces.lives"))


KEEPING = """\
group: faces
sources:
  person: {table: raw/person, columns: {name: string, age: int}}
domains:
  book:
    provider: book
    functions:
      city: {args: {name: string}, results: {city: string}, on_error: keep}
views:
  lives:
    columns: {name: string, city: string}
    rules: ["lives(N, C) :- person(N, _), in(C, book:city(N))"]
  homeless:
    columns: {name: string}
    rules: ["homeless(N) :- person(N, _), not in(book:city(N))"]
  everybody:
    columns: {name: string}
    rules: ["everybody(N) :- person(N, _)"]
"""


def test_what_has_no_answer_yet_is_held_back(wh: Warehouse, book: Book, tmp_path: Path) -> None:
    """Neither `in` nor `not in` holds of it; everything else is published, and verified."""
    (tmp_path / "specs/faces.yaml").write_text(KEEPING)
    people(tmp_path, ("tim", 1))
    wh.refresh("faces")
    assert rows(wh.read("faces.homeless")) == {("tim",)}
    book.broken = True
    people(tmp_path, ("eve", 50), ("moe", 50))
    night = wh.refresh("faces")
    assert night.verification["verdict"] == "passed"
    assert night.domains["book:city"]["held"] == 2
    (warning,) = night.warnings
    assert "no answer yet for 2" in warning
    assert rows(wh.read("faces.everybody")) == {(name,) for name in ("ann", "bob", "kid", "tim", "eve", "moe")}
    assert rows(wh.read("faces.homeless")) == {("tim",)}
    assert "eve" not in {name for name, _ in rows(wh.read("faces.lives"))}
    assert cli("verify", "faces", "--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh").code == 0
    where = "--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh"
    why = cli("why", "faces.homeless", "tim", *where).out
    why_not = cli("why-not", "faces.homeless", "eve", *where).out
    assert 'book:city has answered ("tim")' in why
    assert 'book:city has answered ("eve"): not yet' in why_not
    assert "~" not in why + why_not

    book.broken = False
    healed = wh.refresh("faces")
    assert healed.warnings == ()
    plus, minus = wh.changes("faces.homeless")
    assert (rows(plus), rows(minus)) == ({("moe",)}, set())
    assert ("eve", "Oslo") in rows(wh.read("faces.lives"))


def test_an_edit_publishes_no_news_of_domains(wh: Warehouse, book: Book) -> None:
    wh.refresh("faces")
    book.city["ann"] = ["Bonn"]
    book.asked.clear()
    edited = wh.edit("faces.lives", delete="name = 'bob'", who="t")
    assert book.asked == []
    assert {name: (one.inserted, one.deleted) for name, one in edited.views.items()}["lives"] == (0, 2)
    assert ("ann", "Rome") in rows(wh.read("faces.lives"))
    book.broken = True
    wh.edit("faces.lives", undo=1, who="t")
    assert ("bob", "Oslo") in rows(wh.read("faces.lives"))
    book.broken = False
    wh.refresh("faces")
    assert ("ann", "Bonn") in rows(wh.read("faces.lives")), "a refresh asks again"


def test_unit_tests_say_what_domains_answer(wh: Warehouse, tmp_path: Path) -> None:
    found = cli("test", "--specs", tmp_path / "specs")
    assert found.code == 0, found.out


def test_explain_and_forecast_know_them(wh: Warehouse, book: Book, tmp_path: Path) -> None:
    found = cli("explain", "faces", "--specs", tmp_path / "specs")
    assert found.code == 0
    assert "book:city" in found.out
    assert cli("explain", "faces", "--specs", tmp_path / "specs", "--json").data
    wh.refresh("faces")
    assert wh.forecast("faces").views
