"""Corrections of views: they are published at once, reach what depends on them, and outlast every refresh."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, DEAD_END, GROUP, World, closed, words

from foreset.constraints.errors import Infinite
from foreset.errors import UsageError
from foreset.refresh.committing import engine_version
from foreset.store.rollback import roll_back
from foreset.warehouse import Warehouse

SPEC = f"""{GROUP}{CLOSURE}{DEAD_END}\
  loops:
    columns: {{node: string}}
    rules:
      - loops(X) :- closure(X, X)
  sizes:
    columns: {{src: string, n: bigint}}
    rules:
      - sizes(X, N) :- N = count{{Y | closure(X, Y)}}
"""
ROADS = "ab bc cd"


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", ROADS)
    found.spec(SPEC)
    return found


@pytest.fixture
def wh(world: World) -> Warehouse:
    opened = world.open()
    opened.refresh("reach")
    return opened


def ways(wh: Warehouse) -> set[str]:
    return words(wh.read("reach.closure"))


def test_a_retraction_reaches_what_depends_on_it_and_stays(world: World, wh: Warehouse) -> None:
    done = wh.edit("reach.closure", delete='SRC = "b", DST = "c"', why="the bridge is down")
    assert ways(wh) == {"ab", "cd", "bd", "ad"}, "`ac` was derived from it, `bd` was not"
    assert done.views["closure"].deleted == 2
    plus, minus = wh.changes("reach.closure")
    assert not plus.num_rows
    assert words(minus) == {"bc", "ac"}
    assert {(r["src"], r["n"]) for r in wh.read("reach.sizes").to_pylist()} == {("a", 2), ("b", 1), ("c", 1)}

    world.insert("bc", "de")  # the source says it again, louder
    wh.refresh("reach", verify="200")
    assert ways(wh) == closed(f"{ROADS} de") - {"bc", "ac"}


def test_an_assertion_is_a_fact_and_stays(world: World, wh: Warehouse) -> None:
    wh.edit("reach.closure", insert='src = "d", dst = "a"', who="eve", why="seen on Tuesday")
    assert ways(wh) == closed(ROADS) | {"da", "ca", "ba", "aa"}, "with what follows from it"
    assert words(wh.read("reach.loops")) == {"a"}
    world.delete("ab")
    wh.refresh("reach")
    assert ways(wh) == closed("bc cd") | {"da", "ca", "ba"}
    (edit,) = wh.edits("reach")
    assert (edit["who"], edit["why"], edit["kind"], edit["view"]) == ("eve", "seen on Tuesday", "insert", "closure")
    assert edit["at"].startswith("20")


def test_the_latest_edit_wins_and_undoing_takes_one_back(wh: Warehouse) -> None:
    whole = ways(wh)
    wh.edit("reach.closure", delete='src = "a"')
    wh.edit("reach.closure", insert='src = "a", dst = "z"')
    assert ways(wh) == closed("bc cd") | {"az"}
    wh.edit("reach.closure", delete='src = "a", dst != "q"')
    assert ways(wh) == closed("bc cd")
    wh.edit("reach.closure", undo=3)
    assert ways(wh) == closed("bc cd") | {"az"}
    wh.edit("reach.closure", undo=0)  # the last one that holds
    assert ways(wh) == closed("bc cd")
    wh.edit("reach.closure", undo=1)
    assert ways(wh) == whole, "insert, delete, undo: the identity"
    assert wh.edits() == []
    assert [one["id"] for one in wh.edits(undone=True)] == [1, 2, 3]


def test_rollback_takes_edits_back(world: World, wh: Warehouse) -> None:
    wh.edit("reach.closure", delete='src = "a"')
    assert wh.edits()
    roll_back(wh.layout("reach"), 1, "back", engine_version=engine_version())
    assert wh.edits() == []
    world.insert("de")
    wh.refresh("reach")
    assert ways(wh) == closed(f"{ROADS} de")


def test_sources_stay_as_they_were_read(world: World, wh: Warehouse) -> None:
    """A correction publishes itself, and not what else has happened since."""
    world.insert("de")
    wh.edit("reach.dead_end", insert='node = "q"')
    assert ways(wh) == closed(ROADS)
    wh.refresh("reach")
    assert ways(wh) == closed(f"{ROADS} de")
    assert words(wh.read("reach.dead_end")) == {"e", "q"}


def test_groups_are_edited_like_rows(wh: Warehouse) -> None:
    wh.edit("reach.sizes", delete="N >= 2, N <= 3")
    assert {(r["src"], r["n"]) for r in wh.read("reach.sizes").to_pylist()} == {("c", 1)}
    wh.edit("reach.sizes", insert='src = "x", n >= 1, n <= 2')
    assert {(r["src"], r["n"]) for r in wh.read("reach.sizes").to_pylist()} == {("c", 1), ("x", 1), ("x", 2)}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"delete": "X = 6"}, "`X` is not a variable here"),
        ({"delete": 'src = "a", src = "b"'}, "can never hold"),
        ({"delete": "src = 5"}, "compared with something else"),
        ({"delete": 'src = "a"', "insert": 'src = "a"'}, "one of: delete, insert, undo"),
        ({}, "one of: delete, insert, undo"),
        ({"undo": 7}, "has no edit 7"),
    ],
)
def test_what_is_no_edit(wh: Warehouse, edit: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        wh.edit("reach.closure", **edit)
    assert len(wh.manifest("reach")) == 1


def test_what_has_no_end_cannot_be_put_in(wh: Warehouse) -> None:
    with pytest.raises(Infinite, match="infinitely many"):
        wh.edit("reach.closure", insert='src = "a"')
    with pytest.raises(UsageError, match="did you mean `closure`"):
        wh.edit("reach.closur", delete='src = "a"')


def test_the_command_line(world: World, wh: Warehouse) -> None:
    where = ("--specs", world.specs, "--warehouse", world.root)
    done = cli("edit", "reach.closure", "--delete", 'src = "a"', "--why", "never was", *where)
    assert done.code == 0, done.err
    assert "closure" in done.out
    assert ways(wh) == closed("bc cd")
    (told,) = cli("edits", "--json", *where).data
    assert (told["region"], told["why"]) == ('src = "a"', "never was")
    assert 'reach.closure 1: delete src = "a"' in cli("edits", "reach", *where).out
    assert cli("verify", "reach", *where).code == 0
    assert cli("edit", "reach.closure", "--undo", "last", *where).code == 0
    assert ways(wh) == closed(ROADS)
    assert cli("edits", *where).out.strip() == "no edits"
    assert cli("edit", "reach.closure", "--undo", "soon", *where).code == 2
    shown = cli("show", "reach.closure", "--where", 'src = "a", dst > "b"', "--format", "json", *where)
    assert [row["dst"] for row in shown.data] == ["c", "d"]


@pytest.mark.parametrize("strategy", ["stdel", "counting", "dredc"])
def test_whatever_the_strategy(world: World, strategy: str) -> None:
    """Also where derivations are kept one by one, or counted."""
    text = f"""{GROUP}\
  two_steps:
    columns: {{src: string, dst: string}}
    strategy: {strategy}
    rules:
      - two_steps(X, Y) :- edge(X, Z), edge(Z, Y)
      - two_steps(X, Y) :- edge(X, Y)
"""
    world.spec(text)
    wh = world.open()
    wh.refresh("reach")
    wh.edit("reach.two_steps", delete='src = "a", dst >= "c"')
    wh.edit("reach.two_steps", insert='src = "z", dst = "z"')
    assert words(wh.read("reach.two_steps")) == {"ab", "bc", "cd", "bd", "zz"}
    world.insert("be", "ac", "zz")
    world.delete("cd")
    night = wh.refresh("reach", mode="incremental")
    assert night.views["two_steps"].strategy in (strategy, "dred")
    assert words(wh.read("reach.two_steps")) == {"ab", "bc", "be", "zz"}
    world.delete("zz")
    wh.refresh("reach", mode="incremental")
    assert words(wh.read("reach.two_steps")) == {"ab", "bc", "be", "zz"}, "it stands without its source"
