"""What needs no Spark starts none: each command runs where the Spark that is named does not exist."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli_runner import Result
from tests.cli_runner import foreset as cli
from tests.roads import CLOSURE, DEAD_END, GROUP, World

SIZES = """\
  size:
    columns: {src: string, ways: bigint}
    rules:
      - size(X, N) :- closure(X, _), N = count{Y | closure(X, Y)}
"""
COMMANDS = [
    ("check", "--against-warehouse"), ("explain", "reach"), ("test",), ("status",), ("status", "reach"),
    ("show", "reach.closure"), ("show", "reach.closure", "--at", "1"),
    ("show", "reach.closure", "--where", 'src = "a"'),
    ("show", "reach.size"), ("changes", "reach.closure"), ("changes", "reach.closure", "--seq", "1"),
    ("why", "reach.closure", "a, c"), ("why", "reach.size", "b, 4"), ("why-not", "reach.closure", "g, a"),
    ("edits",), ("edits", "reach"), ("edit", "reach.closure", "--delete", 'src = "a"', "--who", "ann", "--why", "test"),
    ("report", "reach"), ("report", "reach", "--history"), ("verify", "reach"), ("gc", "reach", "--dry-run"),
    ("gc", "reach", "--keep", "1"), ("rollback", "reach", "1"), ("rollback", "reach", "1", "--hold"),
    ("rollback", "reach", "--release"), ("refresh", "reach"),
    ("refresh", "reach", "--mode", "recompute"),
]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with three refreshes, and changes to come."""
    folder = tmp_path_factory.mktemp("no-jvm")
    made = World(str(folder / "wh"), folder / "specs", "nowhere")
    made.spec(f"{GROUP}{CLOSURE}{DEAD_END}{SIZES}")
    for road in ("gh", "hd", "dk"):
        made.open().refresh("reach")
        made.insert(road)
    return folder


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORESET_SPARK", "nowhere")
    monkeypatch.setenv("FORESET_STATE", str(tmp_path / "state"))
    for name in ("wh", "specs"):
        shutil.copytree(prepared / name, tmp_path / name)
    return tmp_path


def run(here: Path, *command: str) -> Result:
    return cli(*command, "--specs", str(here / "specs"), "--warehouse", str(here / "wh"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_jvm_is_started(here: Path, command: tuple[str, ...]) -> None:
    done = run(here, *command)
    assert done.code == 0, done.err
    assert done.out
    assert not (here / "state").exists(), "and nothing of a Spark server is kept"


def test_what_needs_spark_would_be_noticed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    done = run(here, "refresh", "reach")
    assert done.code == 2
    assert "nowhere" in done.err
