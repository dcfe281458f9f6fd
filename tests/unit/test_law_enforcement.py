"""Example 1 of paper 003, end to end: the law-enforcement mediator over five domains, each of another kind.

facextract is Python, facedb a Parquet table, paradox a sqlite file, spatialdb HTTP on loopback, dbase a CSV file.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mediated_programs import program, region
from tests.unit.test_domains import function

from foreset.constraints.calls import resolve
from foreset.constraints.instances import rows
from foreset.domains.asking import Calls
from foreset.domains.builtin import PythonDomain
from foreset.domains.connections import Connection
from foreset.domains.http import HttpPolicy
from foreset.domains.provider import Access
from foreset.ir.domains import Domain
from foreset.ir.terms import Row
from foreset.mediated.entries import View
from foreset.mediated.fixpoint import materialise, t_p, w_p
from foreset.mediated.update import delete, insert

DON, ANN, BOB, EVE = "Don Corleone", "Ann", "Bob", "Eve"
PHOTOS = {"photo 1": ("don.1", "ann.1"), "photo 2": ("don.2", "bob.2", "eve.2"), "photo 3": ("eve.3",)}
FACES = {"Don Corleone": "mug don", "Ann": "mug ann", "Bob": "mug bob", "Eve": "mug eve"}
PHONEBOOK = [(DON, "1 Long Street"), (ANN, "2 Near Street"), (BOB, "3 Far Street"), (EVE, "4 Near Street")]
NEAR = {"1 Long Street", "2 Near Street", "4 Near Street"}
EMPLOYEES = [ANN, BOB]

MEDIATOR = program(
    dict.fromkeys(("seenwith", "swlndc", "suspect"), "X string, Y string"),
    'seenwith(X, Y) <- in((F1, O), facextract:segmentface("surveillancedata")),'
    ' in((F2, O), facextract:segmentface("surveillancedata")), F1 != F2,'
    " in((X, M1), facedb:faces()), in(facextract:matchface(F1, M1)),"
    " in((Y, M2), facedb:faces()), in(facextract:matchface(F2, M2))"
    " for some F1 string, F2 string, O string, M1 string, M2 string",
    'swlndc(X, Y) <- in(A, paradox:phonebook(Y)), in("near", spatialdb:range(A)) for some A string || seenwith(X, Y)',
    "suspect(X, Y) <- in(dbase:empl_abc(Y)) || swlndc(X, Y)",
)  # fmt: skip


def domains() -> dict[str, Domain]:
    """The five, as a spec would declare them."""
    faces = function("faces", "", "name string, mugshot string")
    employed = function("empl_abc", "name string", "")
    segment = function("segmentface", "album string", "file string, origin string")
    match = function("matchface", "face string, mugshot string", "")
    return {
        "facextract": Domain("facextract", "facextract", (segment, match)),
        "facedb": Domain("facedb", "files", (faces,), options={"path": "faces.parquet"}),
        "paradox": Domain(
            "paradox", "sqlite", (function("phonebook", "name string", "address string"),),
            options={"path": "book.db", "table": "phonebook"},
        ),
        "spatialdb": Domain(
            "spatialdb", "http", (function("range", "address string", "where string", options={"path": "/range"}),),
            connection="spatialdb",
        ),
        "dbase": Domain("dbase", "files", (employed,), options={"path": "empl_abc.csv", "format": "csv"}),
    }  # fmt: skip


class World:
    """The sources, as they are now."""

    def __init__(self, root: Path) -> None:
        self.root, self.photos, self.near = root, dict(PHOTOS), set(NEAR)
        pq.write_table(pa.table({"name": list(FACES), "mugshot": list(FACES.values())}), root / "faces.parquet")
        with sqlite3.connect(root / "book.db") as book:
            book.execute("create table phonebook (name text, address text)")
            book.executemany("insert into phonebook values (?, ?)", PHONEBOOK)
        self.employ(EMPLOYEES)
        self.runs = 0

    def employ(self, names: list[str]) -> None:
        """What dbase says."""
        with (self.root / "empl_abc.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["name"], *([name] for name in names)])

    def segmentface(self, album: str) -> list[Row]:
        """Faces with the photograph that they are from."""
        assert album == "surveillancedata"
        return [(face, origin) for origin, faces in self.photos.items() for face in faces]

    def matchface(self, face: str, mugshot: str) -> list[bool]:
        """A row, if both show one person."""
        return [True] if face.split(".", maxsplit=1)[0] == mugshot.removeprefix("mug ") else []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def access(world: World) -> Iterator[Access]:
    """spatialdb answers on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = parse_qs(urlsplit(self.path).query)["address"][0]
            body = json.dumps(["near"] if address in world.near else ["far"]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        spatial = Connection("spatialdb", "http", "127.0.0.1", server.server_address[1])
        policy = HttpPolicy(private=frozenset({"127.0.0.1"}))
        yield Access(str(world.root), connection=lambda _: spatial, http=policy)
        server.shutdown()


def refresh(world: World, access: Access):
    """What the domains answer in a refresh of its own."""
    world.runs += 1
    python = PythonDomain({"segmentface": world.segmentface, "matchface": world.matchface})
    calls = Calls(str(world.root / f"run {world.runs}"), None, access, {"facextract": python})
    return calls.for_constraints(domains())


def read(view: View, predicate: str, answers) -> set[Row]:
    """The rows of a view by these answers."""
    parts = [part for said in view.constraints(predicate) for part in resolve(said, answers)]
    return {row for part in parts for row in rows(part, MEDIATOR.columns[predicate])}


WITH_DON = {(DON, ANN), (DON, BOB), (DON, EVE)}


def of_don(found: set[Row]) -> set[Row]:
    return {row for row in found if row[0] == DON}


def test_the_mediator_finds_the_suspect(world: World, access: Access) -> None:
    answers = refresh(world, access)
    view = materialise(MEDIATOR, t_p(answers))
    assert of_don(read(view, "seenwith", answers)) == WITH_DON
    assert of_don(read(view, "swlndc", answers)) == {(DON, ANN), (DON, EVE)}
    assert of_don(read(view, "suspect", answers)) == {(DON, ANN)}
    assert [str(entry.support) for entry in view] == ["<1>", "<2, <1>>", "<3, <2, <1>>>"]


def test_sources_change_and_w_p_needs_no_maintenance(world: World, access: Access) -> None:
    lasting = materialise(MEDIATOR, w_p)
    before = refresh(world, access)
    assert of_don(read(lasting, "suspect", before)) == {(DON, ANN)}
    world.employ([EVE])
    world.photos["photo 4"] = ("bob.4", "eve.4")
    after = refresh(world, access)
    assert of_don(read(lasting, "suspect", after)) == {(DON, EVE)}
    assert (BOB, EVE) in read(lasting, "suspect", after), "seen together on the new photograph"
    assert of_don(read(lasting, "suspect", before)) == {(DON, ANN)}, "what was recorded stays as it was"
    at_once = materialise(MEDIATOR, t_p(after))
    for name in MEDIATOR.columns:
        assert read(lasting, name, after) == read(at_once, name, after), "Corollary 1"


def test_a_retraction_survives_and_an_assertion_follows_through(world: World, access: Access) -> None:
    answers = refresh(world, access)
    view = materialise(MEDIATOR, w_p)
    forged = delete(MEDIATOR, view, region(MEDIATOR, "seenwith", f'X = "{DON}", Y = "{ANN}"'), w_p)
    assert of_don(read(forged.view, "seenwith", answers)) == {(DON, BOB), (DON, EVE)}
    assert of_don(read(forged.view, "suspect", answers)) == set()
    world.photos["photo 5"] = ("don.5", "ann.5")
    later = refresh(world, access)
    assert of_don(read(forged.view, "suspect", later)) == set(), "a new photograph does not bring it back"
    again = materialise(forged.program, w_p)
    assert of_don(read(again, "suspect", later)) == set(), "nor does a view made anew from P'"
    world.employ([EVE])
    told = insert(forged.program, forged.view, region(MEDIATOR, "seenwith", 'X = "Ann", Y = "Eve"'), w_p)
    assert (ANN, EVE) in read(told.view, "suspect", refresh(world, access)), "what an officer reports has consequences"
