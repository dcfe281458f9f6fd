"""Edits that name rows stand in relations below their views, and are maintained as changes of those."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import foreset as cli
from tests.refresh_cases import in_normal_form, load_program
from tests.roads import CLOSURE, DEAD_END, GROUP, World, closed, words

from foreset.constraints.read import read_constraint
from foreset.constraints.rows import variables_of
from foreset.ir.edits import Edit, EditRequest
from foreset.ir.program import Column, View
from foreset.ir.types import BOOLEAN, DATE, DOUBLE, INT, STRING, decimal
from foreset.plan.frozen import Request
from foreset.plan.stages import CAPTURE, COMMIT, OPEN, QUALITY, STRATA, VERIFY
from foreset.records.results import SourcesCaptured
from foreset.refresh import context
from foreset.refresh.tasks import Job, perform
from foreset.rewrite import edit_views
from foreset.rewrite.edit_relations import point, summed
from foreset.rewrite.edit_views import with_edits
from foreset.warehouse import Warehouse

VIEW = View("v", tuple(Column(name, kind) for name, kind in (
    ("i", INT), ("s", STRING), ("b", BOOLEAN), ("d", DATE), ("m", decimal(9, 2)), ("x", DOUBLE))), ())  # fmt: skip
PAIR = View("p", (Column("a", INT), Column("b", INT)), ())
COUNTED = f"""{GROUP}{CLOSURE}{DEAD_END}\
  sizes:
    columns: {{src: string, n: bigint}}
    rules:
      - sizes(X, N) :- N = count{{Y | closure(X, Y)}}
  loops:
    columns: {{node: string}}
    rules:
      - loops(X) :- closure(X, X)
"""
ROADS = " ".join(a + b for a, b in zip("abcdefgh", "bcdefghi", strict=True))


def region(text: str, view: View = VIEW) -> Any:
    known = [column for column in view.columns if column.type != DOUBLE]
    return read_constraint(text, variables_of(known), in_capitals=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("i = 3", ((0,), (3,))),
        ('S = "q", I = 3', ((0, 1), (3, "q"))),
        ("b = true, i = 0", ((0, 2), (0, True))),
        ('d = date("2026-11-02")', ((3,), (dt.date(2026, 11, 2),))),
        ("m = 1.5", ((4,), (Decimal("1.50"),))),
        ("i >= 3", None),
        ("i = 3, m > 1", None),
        ('s != "q"', None),
        ("i = 99999999999", None),  # no int
        ("not (i = 3, m = 1)", None),
    ],
)
def test_which_regions_name_values(text: str, found: object) -> None:
    assert point(region(text), VIEW) == found


def test_edits_are_summed_up_and_later_ones_win() -> None:
    def said(*edits: str) -> Any:
        pairs = [one.split(" ", 1) for one in edits]
        rows = {"+": lambda text: [tuple(map(int, text.split()))], "-": lambda _: ()}
        told = ((None if kind == "+" else region(text, PAIR), rows[kind](text)) for kind, text in pairs)
        return summed(PAIR, told, {0, 1})

    found = said("+ 1 2", "- a = 1, b = 2", "+ 1 3", "+ 2 2", "- b = 2", "- a = 1, b = 2", "- a > 7", "+ 9 9")
    assert found.deleted == {(0, 1): ((1, 2),), (1,): ((2,),)}
    assert len(found.regions) == 1
    assert found.inserted == ((1, 3), (9, 9))
    assert summed(PAIR, [(region("a = 1, b = 2", PAIR), ())], {0}).deleted == {}, "a column that cannot tell"


def test_edits_renumber_no_stratum() -> None:
    """The tasks of a DAG are made from the spec alone."""
    program = load_program(COUNTED, "reach.yaml")
    edits = (
        Edit(1, "dead_end", "delete", 'node = "a"'),
        Edit(2, "closure", "insert", 'src = "x", dst = "y"'),
        Edit(3, "sizes", "delete", 'src = "a"'),
        Edit(4, "sizes", "delete", 'src = "a", n >= 2'),
    )
    plain, corrected = (in_normal_form(one)[1] for one in (program, with_edits(program, edits, frozenset())))
    before = {stratum.names: stratum.number for stratum in plain.strata}
    after = {stratum.names: stratum.number for stratum in corrected.strata}
    assert {names: after[names] for names in before} == before
    first = [stratum for stratum in corrected.strata if stratum.given is not None]
    assert [stratum.number for stratum in first] == [len(before) + 1, len(before) + 2, len(before) + 3]
    assert corrected.strata[: len(first)] == tuple(first), "whoever goes through strata in order has them in time"


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "wh").mkdir()
    found = World(str(tmp_path / "wh"), tmp_path / "specs", "nowhere", ROADS)
    found.spec(COUNTED.replace(CLOSURE, f"{CLOSURE.rstrip()}\n    strategy: incremental\n"))  # whatever a night took
    return found


@pytest.fixture
def wh(world: World) -> Warehouse:
    opened = world.open()
    opened.refresh("reach")
    return opened


def test_the_first_edit_and_the_next_are_changes_and_the_last_undo_builds_anew(wh: Warehouse) -> None:
    whole = words(wh.read("reach.closure"))
    first = wh.edit("reach.closure", delete='src = "a", dst = "c"')
    assert first.views["closure"].strategy != "recompute"
    assert "what edits take out of `closure` +1 -0" in first.views["closure"].reason
    second = wh.edit("reach.closure", delete='src = "b", dst = "e"')
    third = wh.edit("reach.closure", insert='src = "i", dst = "z"')
    for done in (second, third, wh.edit("reach.closure", undo=1)):
        assert done.views["closure"].strategy != "recompute", done.views["closure"].reason
    assert {"ac", "iz"} <= words(wh.read("reach.closure"))
    assert "be" not in words(wh.read("reach.closure"))
    wh.edit("reach.closure", undo=3)
    last = wh.edit("reach.closure", undo=2)
    assert last.views["closure"].reason.startswith("edited: "), "without edits the rules are those of the spec again"
    assert words(wh.read("reach.closure")) == whole
    assert wh.refresh("reach").status == "unchanged"


def test_edits_of_an_earlier_release_have_no_relations_yet(
    world: World, wh: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stood in rules: what they took out of the rows that are there must not be taken out again."""
    with monkeypatch.context() as patch:
        patch.setattr(edit_views, "exact_places", lambda *_: frozenset())
        for name in ("_sound", "_as_written", "_fingerprints"):  # they remember programs
            patch.setattr(context, name, getattr(context, name).__wrapped__)
        wh.edit("reach.dead_end", delete='node = "i"')
        wh.edit("reach.closure", delete='src = "a", dst = "c"')
    before = words(wh.read("reach.closure"))
    world.insert("ij", "jk")
    night = wh.refresh("reach")
    assert "edited: " in night.views["closure"].reason
    after = words(wh.read("reach.closure"))
    plus, minus = wh.changes("reach.closure")
    assert (words(plus), words(minus)) == (after - before, before - after)
    assert after >= closed("ij jk cd")
    assert "ac" not in after
    world.delete("jk")
    assert wh.refresh("reach").views["closure"].strategy != "recompute", "and from then on they are changes"


def test_a_variable_that_is_narrower_than_the_column_is_left_as_it_is(tmp_path: Path) -> None:
    """Beside a wider column it would become wider itself, and not fit the other one."""
    text = """\
group: g
sources:
  s: {table: s, columns: {x: smallint}}
views:
  v:
    columns: {a: smallint, b: bigint}
    rules:
      - v(X, X) :- s(X)
"""
    program = load_program(text, "g.yaml")
    found = with_edits(program, [Edit(1, "v", "delete", "b = 3"), Edit(2, "v", "delete", "a = 4")], frozenset())
    assert [view.name for view in found.views] == ["v~-deleted_0", "v"]
    in_normal_form(found)


def test_an_edit_as_tasks_do_it(world: World, wh: Warehouse) -> None:
    """The relation of an edit has no task of its own: `capture` sees to it."""
    edit = EditRequest("closure", "delete", 'src = "a", dst = "c"', who="eve")
    request = Request("by-tasks", edit=edit)
    job = Job(OPEN, world.root, "reach", request, spec=str(world.specs / "reach.yaml"), spark="nowhere")
    strata = in_normal_form(load_program(COUNTED, "reach.yaml"))[1].strata
    perform(job)
    told = perform(replace(job, stage=CAPTURE))
    assert isinstance(told, SourcesCaptured)
    assert told.idle is not None
    for stratum in strata:
        perform(replace(job, stage=STRATA, stratum=stratum.number))
    for stage in (VERIFY, QUALITY, COMMIT):
        perform(replace(job, stage=stage))
    names = {stratum.number: stratum.names for stratum in strata}
    assert [names[number] for number in told.idle] == [("dead_end",)]
    assert "ac" not in words(wh.read("reach.closure"))
    assert words(wh.changes("reach.closure")[1]) == {"ac"} | (closed(ROADS) - words(wh.read("reach.closure"))), (
        "with what was derived from it alone"
    )


def test_nobody_sees_the_names_of_the_relations(world: World, wh: Warehouse) -> None:
    where = ("--specs", world.specs, "--warehouse", world.root)
    wh.edit("reach.closure", delete='src = "h"')
    wh.edit("reach.closure", insert='src = "q", dst = "r"')
    told = [cli(*command, *where).out for command in (
        ("why", "reach.closure", "q, r"), ("why-not", "reach.closure", "h, i"), ("status",), ("report", "reach"),
        ("check", "--against-warehouse"))]  # fmt: skip
    assert "put into `closure` by an edit" in told[0]
    assert "taken out of `closure` by an edit" in told[1]
    assert not any("~" in text for text in told)
