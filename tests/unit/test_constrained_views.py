"""Views whose columns may be bound by constraints only, through whole refreshes; without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.cli_runner import foreset as cli
from tests.roads import FEED

import foreset
from foreset.constraints.errors import Infinite
from foreset.domains import registry
from foreset.errors import UsageError
from foreset.warehouse import Warehouse

SPEC = """\
group: rooms
sources:
  person: {table: raw/person, columns: {name: string, age: int}}
domains:
  desk:
    provider: desk
    functions:
      limit: {args: {name: string}, results: {most: int}}
      open: {results: {room: int}}
views:
  adult:
    description: Who may enter at which age
    columns: {age: int}
    rules:
      - adult(X) :- X >= 18
  invited:
    columns: {name: string, room: int}
    evaluate: at_refresh
    rules:
      - invited(N, R) :- person(N, A), adult(A), in(M, desk:limit(N)), R >= 1, R <= M
  enters:
    columns: {name: string, room: int}
    rules:
      - enters(N, R) :- person(N, _), in(R, desk:open()), invited(N, R)
  late:
    columns: {room: int}
    evaluate: on_read
    rules:
      - late(R) :- in(R, desk:open()), R != 2
  near:
    columns: {a: int, b: int}
    rules:
      - near(A, B) :- adult(A), adult(B), A - B <= 1, B - A <= 1, not (A >= 50, A <= 59)
tests:
  - name: a room more
    given:
      person: [[ann, 30], [kid, 3]]
      "desk:limit": [[ann, 1], [kid, 9]]
      "desk:open": [[1], [2], [3]]
    change:
      "desk:limit": {delete: [[ann, 1]], insert: [[ann, 2]]}
    expect:
      invited: {insert: [[ann, 2]]}
      enters: {insert: [[ann, 2]]}
    state:
      late: [[1], [3]]
"""


class Desk:
    """Answers that can be changed."""

    def __init__(self) -> None:
        self.limit, self.open, self.asked = {"ann": 2, "bob": 1}, {1, 2, 3}, []

    def answer(self, domain, function, arguments, access):  # noqa: ARG002 - as providers are called
        self.asked += [(function.name, *args) for args in arguments]
        if function.name == "open":
            return {(): sorted(self.open)}
        return {args: [self.limit[args[0]]] if args[0] in self.limit else [] for args in arguments}


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    found = Desk()
    monkeypatch.setitem(registry._registered, "desk", found)
    return found


@pytest.fixture
def wh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, desk: Desk) -> Warehouse:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/rooms.yaml").write_text(SPEC)
    people(tmp_path, ("ann", 30), ("bob", 40), ("kid", 3))
    opened = foreset.open(tmp_path / "wh", tmp_path / "specs", "nowhere")
    opened.refresh("rooms")
    return opened


def people(root: Path, *rows: tuple[str, int]) -> None:
    table = pa.table({"name": [name for name, _ in rows], "age": pa.array([age for _, age in rows], pa.int32())})
    write_deltalake(root / "wh/raw/person", table, mode="append",
                    configuration=FEED)  # fmt: skip


def rows(table: pa.Table) -> set[tuple]:
    return {tuple(row.values()) for row in table.to_pylist()}


def test_entries_are_values_and_what_else_holds(wh: Warehouse) -> None:
    assert rows(wh.read("rooms.adult")) == {(None, "age >= 18")}
    assert rows(wh.read("rooms.invited")) == {("ann", None, "room >= 1, room <= 2"), ("bob", 1, "")}
    assert rows(wh.read("rooms.late")) == {(None, "room != 2, in(room, desk:open())")}
    assert rows(wh.read("rooms.enters")) == {("ann", 1), ("ann", 2), ("bob", 1)}


def test_reading_by_keys_by_membership_and_to_the_end(wh: Warehouse, desk: Desk, tmp_path: Path) -> None:
    assert rows(wh.rows("rooms.invited")) == {("ann", 1), ("ann", 2), ("bob", 1)}
    assert rows(wh.rows("rooms.near", "A = 20")) == {(20, 19), (20, 20), (20, 21)}
    assert wh.holds("rooms.near", "a = 60, b = 59")
    assert not wh.holds("rooms.near", "a = 59, b = 60")
    assert wh.holds("rooms.adult", "age = 18")
    assert not wh.holds("rooms.adult", "age = 17")
    with pytest.raises(Infinite, match="infinitely many"):
        wh.rows("rooms.adult")
    with pytest.raises(UsageError, match="is not a condition on the columns of `adult`"):
        wh.rows("rooms.adult", "size = 3")
    assert rows(wh.rows("rooms.late")) == {(1,), (3,)}
    where = ("--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh")
    shown = cli("show", "rooms.near", "--where", "a = 20, b > 20", "--json", *where)
    assert shown.data == [{"a": 20, "b": 21}]
    assert "age >= 18" in cli("show", "rooms.adult", *where).out
    assert cli("show", "rooms.adult", "--where", "AGE != 20", "--json", *where).data == [
        {"_constraint": "age >= 18, age != 20"}
    ]
    assert wh.regions("rooms.near", "a = 20") == ["a = 20, b >= 19, b <= 21"]
    wrong = cli("show", "rooms.adult", "--instances", *where)
    assert wrong.code != 0
    assert "infinitely many" in wrong.err


def test_nights(wh: Warehouse, desk: Desk, tmp_path: Path) -> None:
    quiet = wh.refresh("rooms")
    assert quiet.status == "unchanged"
    desk.limit["ann"] = 1
    people(tmp_path, ("eve", 18))
    desk.limit["eve"] = 3
    night = wh.refresh("rooms")
    assert night.views["invited"].strategy == "constrain"
    plus, minus = wh.changes("rooms.invited")
    assert rows(plus) == {("ann", 1, ""), ("eve", None, "room >= 1, room <= 3")}
    assert rows(minus) == {("ann", None, "room >= 1, room <= 2")}
    assert rows(wh.changes("rooms.enters")[0]) == {("eve", 1), ("eve", 2), ("eve", 3)}
    assert rows(wh.changes("rooms.enters")[1]) == {("ann", 2)}
    DeltaTable(tmp_path / "wh/raw/person").delete("name = 'ann'")
    wh.refresh("rooms")
    assert rows(wh.read("rooms.enters")) == {("bob", 1), ("eve", 1), ("eve", 2), ("eve", 3)}
    assert cli("verify", "rooms", "--specs", tmp_path / "specs", "--warehouse", tmp_path / "wh").code == 0


def test_views_that_ask_when_they_are_read_need_no_maintenance(wh: Warehouse, desk: Desk) -> None:
    """W_P: the source changes, the view does not, and reading it tells the news (Corollary 1)."""
    before = wh.manifest("rooms")[-1]["views"]["late"]["version"]
    desk.open = {2, 7}
    assert rows(wh.rows("rooms.late")) == {(7,)}
    wh.refresh("rooms")
    assert wh.manifest("rooms")[-1]["views"]["late"]["version"] == before
    assert wh.holds("rooms.late", "room = 7")
    assert not wh.holds("rooms.late", "room = 2")


def test_edits_of_constraints(wh: Warehouse, desk: Desk) -> None:
    """Examples 4 and 5 of the paper in small: what is deleted leaves every view that stands on it."""
    wh.edit("rooms.adult", delete="AGE = 40", why="bob is banned")
    assert rows(wh.read("rooms.adult")) == {(None, "age >= 18, age != 40")}
    assert rows(wh.read("rooms.enters")) == {("ann", 1), ("ann", 2)}
    wh.edit("rooms.adult", insert="age >= 1, age <= 4", why="children's day")
    desk.limit["kid"] = 2
    wh.refresh("rooms")
    assert rows(wh.read("rooms.invited")) >= {("kid", None, "room >= 1, room <= 2")}
    assert not wh.holds("rooms.adult", "age = 40")
    wh.edit("rooms.adult", undo=2)
    assert not wh.holds("rooms.invited", 'name = "kid"')
    wh.edit("rooms.adult", undo=1)
    assert rows(wh.read("rooms.adult")) == {(None, "age >= 18")}
    assert rows(wh.read("rooms.enters")) == {("ann", 1), ("ann", 2), ("bob", 1)}


ENDLESS = """\
group: steps
max_rounds: 20
views:
  o:
    columns: {x: int}
    rules: ["o(X) :- X >= 1, X <= 2", "o(X) :- o(Y), X = Y + 3"]
"""


def test_recursion_without_an_end_obeys_max_rounds(tmp_path: Path) -> None:
    (tmp_path / "steps.yaml").write_text(ENDLESS)
    refreshed = cli("refresh", "steps", "--specs", tmp_path, "--warehouse", tmp_path / "wh")
    assert refreshed.code != 0
    assert "the recursion of o has not ended after 20 rounds" in refreshed.err
    assert "raise `max_rounds:`" in refreshed.err
    assert "11 entries so far" in refreshed.err, "one hears how far it is"


def test_unit_tests_and_explain(wh: Warehouse, tmp_path: Path) -> None:
    found = cli("test", "--specs", tmp_path / "specs")
    assert found.code == 0, found.out
    told = cli("explain", "rooms", "--specs", tmp_path / "specs")
    assert told.code == 0, told.err
    assert "constrain" in told.out
    assert cli("check", "--specs", tmp_path / "specs").code == 0
