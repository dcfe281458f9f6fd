"""What commit 1699e4e left in warehouses and printed with `--json`: read, and written back byte for byte.

The files were made by that commit: `tests/data/records/make.py` and `tests/data/old_warehouse/make.py` say how.
"""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Collection, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.old_warehouse import unpacked

import foreset
from foreset.cli.app import run
from foreset.plan import marks
from foreset.plan.frozen import RefreshPlan
from foreset.records import codec
from foreset.records.checks import QualityRecord
from foreset.store import rows
from foreset.store.attempts import FailedAttempt
from foreset.store.epochs import Opened, RunRecord
from foreset.store.holds import Hold

PRINTED = Path(__file__).parents[1] / "data" / "records" / "printed"
VARYING = ("seconds", "writing_seconds", "at", "committed_at", "attempt", "attempt_id", "table_id", "token", "staged",
           "commit", "path", "plus_ref", "minus_ref", "reason", "engine_reason")  # fmt: skip
ADDED = {"status": {"engine_reason"}, "refresh": {"stored"}, "unchanged": {"stored"}, "events": {"stored"},
         "manifest": {"below"}}  # since  # fmt: skip
NOWHERE = "sc://127.0.0.1:9"
NAMED = {"run": RunRecord, "plan": RefreshPlan, "quality": QualityRecord, "hold": Hold, "failed": FailedAttempt,
         **{mark.name: mark.kind for mark in (marks.VERIFY, marks.QUALITY, marks.COMMIT, marks.PUBLISH)}}  # fmt: skip
NUMBERED = (
    (re.compile(r"stratum-\d+"), marks.stratum(1).kind),
    (re.compile(r"stratum-\d+-delete"), marks.deletion(1).kind),
    (re.compile(r"stratum-\d+-choice"), marks.choice(1).kind),
    (re.compile(r"capture-.*"), marks.capture("").kind),
    (re.compile(r"\d+-run"), Opened),
)


def kind_of(file: Path) -> type[Any]:
    return next((kind for shape, kind in NUMBERED if shape.fullmatch(file.stem)), None) or NAMED[file.stem]


def kept(folder: Path) -> list[Path]:
    """Every record of runs, epochs and groups below a folder: not the answers of domains, nor signs of life."""
    found = [*folder.glob("**/runs/*/*.json"), *folder.glob("**/marks/*.json"), *folder.glob("**/epochs/*-run.json"),
             *folder.glob("**/hold.json"), *folder.glob("**/failed.json")]  # fmt: skip
    return sorted(found)


@pytest.fixture(scope="module")
def warehouses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("old")
    for name in ("calm", "begun_in_spark", "unpublished", "held"):
        unpacked(name, root)
    return root


def held(file: Path) -> None:
    text, kind = file.read_text(), kind_of(file)
    assert codec.to_text(codec.from_text(kind, text, file.name)) == text, file


def test_run_directories_are_written_back_as_they_were(warehouses: Path) -> None:
    files = kept(warehouses)
    for file in files:
        held(file)
    kinds = {kind_of(file).__name__ for file in files}
    assert kinds >= {"StratumRecord", "ChoiceRecord", "CaptureRecord", "Verification", "QualityRecord", "CommitRecord",
                     "PublishRecord", "RunRecord", "RefreshPlan", "Opened"}  # fmt: skip


def test_what_a_deletion_hands_over_is_among_them(warehouses: Path) -> None:
    mark = marks.deletion(1)
    files = [file for file in kept(warehouses) if kind_of(file) is mark.kind]
    saved = [record.saved for file in files if (record := codec.from_text(mark.kind, file.read_text(), "x")).saved]
    assert any(one and one.versions for one in saved)


def of_manifest(folder: Path) -> Iterator[dict[str, Any]]:
    for table in sorted(folder.rglob("manifest")):
        if (table / "_delta_log").is_dir():
            yield from DeltaTable(str(table)).to_pyarrow_table().to_pylist()


def test_manifests_are_written_back_as_they_were(warehouses: Path) -> None:
    found = [row for row in of_manifest(warehouses) if row["refresh_id"]]
    assert len(found) > 6
    for row in found:
        again = rows.encode(rows.decode(row))
        assert {name: again[name] for name in rows.COLUMNS} == {name: row[name] for name in rows.COLUMNS}


# ---------------------------------------------------------------- what is printed
def steady(value: Any, key: str = "", less: Collection[str] = ()) -> Any:
    """The same of every run: no times, no names made at random and no words, but whether they are there."""
    if isinstance(value, dict):
        return {name: steady(inner, name, less) for name, inner in value.items() if name not in less}
    if isinstance(value, list):
        return [steady(inner, less=less) for inner in value]
    return type(value).__name__ if key in VARYING else value


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is printed now, where `data/records/make.py` has printed the rest: two nights, and one without a change."""
    folder = tmp_path_factory.mktemp("now")
    make = runpy.run_path(str(PRINTED.parent / "make.py"))
    root, specs = make["place"](str(folder))
    places = ("--warehouse", root, "--specs", specs, "--json")

    def told(*words: str) -> Any:
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
            patch.setenv("FORESET_SPARK", NOWHERE)
            assert run([*words, *places]) == 0
        return json.loads(out.getvalue().replace(str(folder), "@ROOT@"))

    told("refresh", "reach", "--refresh-id", "r1")
    make["write"](root, "hd", "append")
    found = {
        "refresh": told("refresh", "reach", "--refresh-id", "r2", "--note", "night"),
        "unchanged": told("refresh", "reach", "--refresh-id", "r3"),
        "status": told("status", "reach"),
        "verify": told("verify", "reach"),
    }
    manifest = json.dumps(foreset.open(root, specs).manifest("reach")).replace(str(folder), "@ROOT@")
    events = Path(root, "_foreset", "reach", "runs", "r2", "events.jsonl").read_text().replace(str(folder), "@ROOT@")
    return {**found, "manifest": json.loads(manifest), "events": [json.loads(line) for line in events.splitlines()]}


@pytest.mark.parametrize("name", ["refresh", "unchanged", "status", "verify", "manifest"])
def test_what_is_printed_has_the_same_keys_in_the_same_order(said: dict[str, Any], name: str) -> None:
    before = json.loads((PRINTED / f"{name}.json").read_text())
    assert json.dumps(steady(said[name], less=ADDED.get(name, ())), indent=1) == json.dumps(steady(before), indent=1)


def test_events_say_the_same(said: dict[str, Any]) -> None:
    """Strata that work side by side speak in any order; the parts of a stratum are no tasks of their own any more."""
    before = [json.loads(line) for line in (PRINTED / "events.json").read_text().splitlines()]
    gone = [{key: value for key, value in event.items() if key != "part"} for event in before]
    told = [steady(one, less=ADDED["events"]) for one in said["events"]]
    now, then = (sorted(json.dumps(one, sort_keys=True) for one in found) for found in (told, map(steady, gone)))
    assert now == then
