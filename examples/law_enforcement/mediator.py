"""The law-enforcement mediator of paper 003 from end to end: five sources, each of another kind, and some nights.

    python examples/law_enforcement/mediator.py [WAREHOUSE]

No Spark is needed. docs/mediated.md explains what it prints, and a test holds the two together.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

import foreset
from foreset.domains.registry import forget

SPECS = Path(__file__).resolve().parents[2] / "view_specs"
DON = "Don Corleone"
Row = tuple[str, ...]


@dataclass
class World:
    """The five sources as they are now; what is changed here is what they say next."""

    root: Path
    photos: dict[str, Row] = field(
        default_factory=lambda: {"p1": ("don.1", "ann.1"), "p2": ("don.2", "bob.2", "eve.2"), "p3": ("eve.3",)}
    )
    km: dict[str, int] = field(
        default_factory=lambda: {"1 Long Street": 5, "2 Near Street": 12, "3 Far Street": 300, "4 Near Street": 90}
    )
    up: bool = True

    def lay_out(self) -> None:
        """The sources that are files."""
        self.root.mkdir(parents=True, exist_ok=True)
        names = {DON: "mug don", "Ann": "mug ann", "Bob": "mug bob", "Eve": "mug eve"}
        pq.write_table(pa.table({"name": list(names), "mugshot": list(names.values())}), self.root / "faces.parquet")
        book = [(DON, "1 Long Street"), ("Ann", "2 Near Street"), ("Bob", "3 Far Street"), ("Eve", "4 Near Street")]
        with sqlite3.connect(self.root / "phonebook.db") as connection:
            connection.execute("create table phonebook (name text, address text)")
            connection.executemany("insert into phonebook values (?, ?)", book)
        self.employ("Ann", "Bob")

    def employ(self, *names: str) -> None:
        """What the payroll says."""
        with (self.root / "employees.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["name"], *([name] for name in names)])

    def move(self, name: str, address: str) -> None:
        """A new address in the phone book."""
        with sqlite3.connect(self.root / "phonebook.db") as connection:
            connection.execute("update phonebook set address = ? where name = ?", (address, name))

    def segment(self, album: str) -> list[Row]:
        """The faces of an album, with the photograph that each is from."""
        assert album == "surveillance"
        return [(face, photo) for photo, faces in self.photos.items() for face in faces]

    def same(self, face: str, mugshot: str) -> list[bool]:
        """A row, if both show one person."""
        return [True] if face.split(".", maxsplit=1)[0] == mugshot.removeprefix("mug ") else []

    @contextmanager
    def open(self) -> Iterator[None]:
        """The Python package is registered, and the service answers on this machine only."""
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address = parse_qs(urlsplit(self.path).query).get("address", [""])[0]
                body = json.dumps({"places": [{"km": world.km[address]}] if address in world.km else []}).encode()
                self.send_response(200 if world.up else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        foreset.register_domain("facextract", foreset.PythonDomain({"segment": self.segment, "same": self.same}))
        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            before = dict(os.environ)
            os.environ["AIRFLOW_CONN_SPATIALDB"] = f"http://127.0.0.1:{server.server_address[1]}"
            os.environ["FORESET_HTTP_PRIVATE_HOSTS"] = "127.0.0.1"
            try:
                yield
            finally:
                os.environ.clear()
                os.environ.update(before)
                server.shutdown()
                forget("facextract")


def told(table: pa.Table) -> str:
    """Rows of two names, in order."""
    return ", ".join(sorted(f"{row['x']} - {row['y']}" for row in table.to_pylist())) or "nobody"


def run(warehouse: Path) -> Iterator[str]:
    """Nights and a correction, a line for each thing that is worth saying."""
    world = World(warehouse / "law_enforcement")
    world.lay_out()
    wh = foreset.open(warehouse, SPECS, "nowhere")  # so small that Spark is never asked for
    view, mine = "law_enforcement.suspect", f'x = "{DON}"'

    def refresh(title: str) -> Iterator[str]:
        result = wh.refresh("law_enforcement")
        plus, minus = wh.changes(view)
        yield f"{title}: {result.status}, seq {result.seq}"
        if result.status == "committed":
            yield f"  came: {told(plus)}; went: {told(minus)}"
        yield from (f"  warning: {warning}" for warning in result.warnings)
        yield f"  suspects by {DON}: {told(wh.rows(view, mine))}"

    with world.open():
        yield from refresh("first load")
        yield from refresh("a quiet night")
        world.photos["p4"] = ("don.4", "eve.4")
        world.employ("Ann", "Bob", "Eve")
        yield from refresh("a photograph, and somebody is hired")
        world.employ("Ann")
        yield f"  read now: {told(wh.rows('law_enforcement.suspect_now', mine))}"
        world.move("Bob", "2 Near Street")
        world.employ("Ann", "Bob", "Eve")
        yield from refresh("Bob moves")
        world.up = False
        yield from refresh("the map service is down")
        world.up = True
        done = wh.edit("law_enforcement.seen_with", delete=f'{mine}, y = "Ann"', who="Kay", why="p1 is forged")
        yield f"Kay retracts what p1 shows: {done.status}, seq {done.seq}"
        world.photos["p5"] = ("don.5", "ann.5")
        yield from refresh("another photograph of both")
        for edit in wh.edits("law_enforcement"):
            yield f"  edit {edit['id']}: {edit['view']} {edit['kind']} {edit['region']} ({edit['who']}: {edit['why']})"


def main() -> None:
    """Run in a folder that goes away, or in the one that is named."""
    with tempfile.TemporaryDirectory() as folder:
        for line in run(Path(sys.argv[1] if len(sys.argv) > 1 else folder)):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
