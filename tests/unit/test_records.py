"""Records say their format: those of earlier releases are read, those of later ones are refused in clear words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.roads import CLOSURE, GROUP, World

from foreset.errors import EnvironmentFault
from foreset.plan.stages import COMMIT
from foreset.records import codec, versioned
from foreset.refresh import runner
from foreset.reports.reading import read_history
from foreset.store import rows
from foreset.store.manifest import newest

NOWHERE = "nowhere"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(str(tmp_path / "wh"), tmp_path / "specs", NOWHERE)
    found.spec(f"{GROUP}{CLOSURE}")
    return found


def test_a_record_comes_back_without_its_format() -> None:
    text = versioned.to_text({"a": 1})
    assert json.loads(text) == {"format": versioned.FORMAT, "a": 1}
    assert versioned.from_text(text, "x") == {"a": 1}


def test_a_record_of_an_earlier_release_has_no_format() -> None:
    assert versioned.from_text('{"a": 1}', "x") == {"a": 1}


@pytest.mark.parametrize("written", [versioned.FORMAT + 1, "2b", None, 1.5e9])
def test_what_a_newer_release_wrote_is_refused(written: object) -> None:
    with pytest.raises(EnvironmentFault, match="the plan was written by a newer Foreset") as refused:
        versioned.from_text(json.dumps({"format": written, "a": 1}), "the plan")
    assert not refused.value.worth_retrying


def newer(path: Path) -> None:
    record = json.loads(path.read_text())
    assert record["format"] == versioned.FORMAT, "every record says its format"
    path.write_text(json.dumps({**record, "format": versioned.FORMAT + 1}))


def test_everything_in_a_run_folder_says_its_format(world: World) -> None:
    world.open().refresh("reach", refresh_id="r1")
    run = Path(world.root, "_foreset", "reach", "runs", "r1")
    found = list(run.rglob("*.json"))
    assert {"run.json", "plan.json", "verify.json", "commit.json"} <= {path.name for path in found}
    for path in found:
        newer(path)


@pytest.mark.parametrize("name", ["run.json", "plan.json", "marks/capture-edge.json"])
def test_a_run_of_a_newer_release_is_not_gone_on_with(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(runner.DOES, COMMIT, killed)
    with pytest.raises(KeyboardInterrupt):
        world.open().refresh("reach", refresh_id="r1")
    monkeypatch.undo()
    newer(Path(world.root, "_foreset", "reach", "runs", "r1", name))
    with pytest.raises(EnvironmentFault, match="newer Foreset"):
        world.open().refresh("reach", refresh_id="r1")


def test_a_manifest_of_a_newer_release_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.open().refresh("reach")
    row = newest(world.root, "reach")
    assert row is not None
    kept = rows.encode(row)
    assert json.loads(kept["extra"])["format"] == versioned.FORMAT
    assert rows.decode(kept) == row, "the format is not part of what a row says"
    old = {**kept, "extra": json.dumps(codec.to_plain(row.extra))}
    assert rows.decode(old) == row, "rows of earlier releases have none"
    monkeypatch.setattr(rows, "FORMAT", versioned.FORMAT + 1)
    world.insert("xy")
    with pytest.raises(EnvironmentFault, match="newer Foreset"):  # it looks for its own row, and cannot read it
        world.open().refresh("reach")
    for read in (lambda: newest(world.root, "reach"), lambda: read_history(world.open().layout("reach"))):
        with pytest.raises(EnvironmentFault, match="refresh 2 in the manifest was written by a newer Foreset"):
            read()
    with pytest.raises(EnvironmentFault, match="newer Foreset"):
        world.open().refresh("reach")
