"""Warehouses and unfinished runs of commit 1699e4e are read, gone on with, rolled back and refreshed, with exact rows.

What made them is in `tests/data/old_warehouse/make.py`.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from tests.old_warehouse import (
    EDIT,
    LATER,
    NIGHTS,
    NOWHERE,
    PENDING,
    changed,
    difference,
    expected,
    move,
    opened,
    rows,
    state,
    unpacked,
)
from tests.store_audit import faults

from foreset.errors import Held

JOBS = Path(__file__).resolve().parents[2] / "spark_jobs"
OPEN = ("opening", "captured", "begun", "maintained", "verified", "checked", "committing")
STRATA = range(1, 8)
SEQ = len(NIGHTS) + 1  # of the refresh that was killed


def at(seq: int) -> dict:
    return expected(NIGHTS[seq - 1], edited=seq >= EDIT)


def test_what_was_committed_is_read_as_it_was(tmp_path: Path) -> None:
    wh = opened(unpacked("calm", tmp_path))
    for seq in range(1, SEQ):
        assert state(wh, seq) == at(seq)
        assert changed(wh, seq) == difference(at(seq), at(seq - 1) if seq > 1 else expected("", edited=False))
    told = wh.manifest("reach")
    assert [(row["seq"], row["refresh_id"], row["extra"]["note"]) for row in told] == [
        (1, "r1", "night 1"), (2, "r2", "night 2"), (3, "r3", ""), (4, "r4", "night 4")]  # fmt: skip
    assert [row["views"]["linked"]["strategy"] for row in told] == ["recompute", "dredc", "skip", "dredc"]
    (edit,) = wh.edits("reach")
    assert (edit["who"], edit["why"], edit["view"]) == ("eve", "seen", "closure")
    assert [one["seq"] for one in wh.status()] == [2, 4]
    assert wh.verify("reach").ok
    assert wh.report("reach").answer.startswith("Yes")
    assert all(wh.report("reach", seq=seq).page for seq in range(1, SEQ))
    assert "edge" in str(wh.why("reach.closure", ("a", "c")))


def test_answers_of_domains_and_constraints_are_gone_on_from(tmp_path: Path) -> None:
    here = unpacked("calm", tmp_path)
    wh = opened(here)
    assert rows(wh.read("people.lives", 1)) == {("ann", "Rome"), ("bob", "Oslo"), ("bob", "Rome")}
    assert rows(wh.read("people.lives")) == {("ann", "Rome"), ("bob", "Oslo"), ("eve", "Bonn")}
    assert rows(wh.read("people.grown")) == {(None, "age >= 18")}
    guests = {(name, room) for name in ("ann", "bob", "eve") for room in (1, 2, 3)}
    assert rows(wh.rows("people.invited")) == guests
    (here / "wh/raw/book.csv").write_text("name,city\nann,Bonn\nbob,Oslo\neve,Bonn\n")
    wh.refresh("people")
    assert rows(wh.read("people.lives")) == {("ann", "Bonn"), ("bob", "Oslo"), ("eve", "Bonn")}
    came, went = wh.changes("people.lives")
    assert (rows(came), rows(went)) == ({("ann", "Bonn")}, {("ann", "Rome")})
    assert wh.verify("people").ok


@pytest.mark.parametrize("name", [*OPEN, "unpublished"])
def test_a_refresh_that_was_killed_goes_on_where_it_stopped(name: str, tmp_path: Path) -> None:
    here = unpacked(name, tmp_path)
    wh = opened(here)
    marks = {file: file.read_bytes() for file in here.glob("wh/_foreset/reach/runs/night/marks/*.json")}
    assert len(state(wh)) == 5
    assert wh.refresh("reach", refresh_id="night").seq == SEQ
    assert state(wh) == expected(PENDING)
    assert changed(wh) == difference(expected(PENDING), at(SEQ - 1))
    assert {file: file.read_bytes() for file in marks} == marks, "what was done is not done again"
    assert wh.verify("reach").ok

    move(here, PENDING, LATER)
    assert wh.refresh("reach", refresh_id="later").seq == SEQ + 1
    assert state(wh) == expected(LATER)
    assert changed(wh) == difference(expected(LATER), expected(PENDING))
    assert wh.rollback("reach", SEQ - 1) == SEQ + 2
    assert state(wh) == at(SEQ - 1)
    assert faults(wh.layout("reach")) == []


@pytest.mark.parametrize("name", ["calm", "committing"])
def test_it_is_rolled_back_refreshed_and_cleared(name: str, tmp_path: Path) -> None:
    wh = opened(unpacked(name, tmp_path))
    assert wh.rollback("reach", 2) == SEQ
    assert state(wh) == at(2)
    assert wh.refresh("reach").seq == SEQ + 1
    now = expected(NIGHTS[-1] if name == "calm" else PENDING, edited=False)  # the edit came after seq 2
    assert state(wh) == now
    wh.gc("reach", keep=1)
    assert state(wh) == now
    assert wh.verify("reach").ok


def run(here: Path, job: str, *more: str) -> dict:
    """One task of Airflow, in this process."""
    common = ["--spark", NOWHERE, "--warehouse", str(here / "wh"), "--group", "reach", "--refresh-id", "night"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [job, *common, *more])
        said: list[str] = []
        patch.setattr(sys.stdout, "write", said.append)
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(JOBS / f"{job}.py"), run_name="__main__")
    assert ended.value.code == 0
    return dict(json.loads("".join(said)))


@pytest.mark.parametrize("name", OPEN[1:])
def test_its_tasks_are_cleared_and_run_again(name: str, tmp_path: Path) -> None:
    here = unpacked(name, tmp_path)
    marks = here / "wh/_foreset/reach/runs/night/marks"
    parts = [number for number in STRATA if not (marks / f"stratum-{number}.json").exists()]
    tasks = [("maintain_stratum", ("--stratum", str(number))) for number in parts]
    tasks += [(job, ()) for job in ("verify", "quality") if not (marks / f"{job}.json").exists()]
    (first, named), *others = [*tasks, ("commit", ()), ("publish", ())]
    run(here, first, *named, "--again")
    told = [run(here, job, *more) for job, more in others]
    assert told[-1]["seq"] == SEQ
    wh = opened(here)
    assert state(wh) == expected(PENDING)
    assert changed(wh) == difference(expected(PENDING), at(SEQ - 1))


@pytest.mark.parametrize("name", OPEN)
def test_another_refresh_takes_over_after_so_long(name: str, tmp_path: Path) -> None:
    here = unpacked(name, tmp_path)
    move(here, PENDING, LATER)
    wh = opened(here)
    assert wh.refresh("reach", refresh_id="rival").seq == SEQ
    assert state(wh) == expected(LATER)
    assert changed(wh) == difference(expected(LATER), at(SEQ - 1))
    assert wh.refresh("reach", refresh_id="night").status == "unchanged", "it opens anew, and there is nothing to do"


def test_a_hold_is_kept_until_it_is_released(tmp_path: Path) -> None:
    wh = opened(unpacked("held", tmp_path))
    assert state(wh) == at(2)
    with pytest.raises(Held, match="gh is wrong"):
        wh.refresh("reach")
    assert wh.release("reach")
    assert wh.refresh("reach").seq == SEQ + 1
    assert state(wh) == expected(NIGHTS[-1], edited=False), "the edit came after seq 2"
