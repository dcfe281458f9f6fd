"""The Python interface, as far as it needs no Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import foreset

GOOD = """\
group: a
sources:
  e: {table: t/e, columns: {x: int}}
views:
  v:
    columns: {x: int}
    rules:
      - v(X) :- e(X)
"""


def test_check_gives_every_fault_of_every_spec(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD.replace("group: a", "group: b").replace("table: t/e", "view: a.w"))
    (tmp_path / "c.yaml").write_text(GOOD.replace("group: a", "group: c").replace("e(X)", "f(X)"))
    found = foreset.open(specs=str(tmp_path)).check()
    assert {(Path(d.file).name, d.code) for d in found if d.severity == "error"} == {
        ("b.yaml", "FS802"),
        ("c.yaml", "FS103"),
    }


def test_unknown_things_are_named_with_what_is_near(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.replace("group: a", "group: alpha"))
    wh = foreset.open(str(tmp_path / "wh"), str(tmp_path))
    with pytest.raises(foreset.UsageError, match="did you mean `alpha`"):
        wh.refresh("alpah")
    with pytest.raises(foreset.UsageError, match="write group.view"):
        wh.read("closure")
    with pytest.raises(foreset.UsageError, match="no committed refresh"):
        wh.read("alpha.v")
    assert wh.manifest("alpha") == []


def test_the_public_names_are_there() -> None:
    assert all(hasattr(foreset, name) for name in foreset.__all__)


def test_status_of_a_warehouse_that_was_never_refreshed(tmp_path: Path) -> None:
    (tmp_path / "view_specs").mkdir()
    (tmp_path / "view_specs" / "a.yaml").write_text(GOOD)
    command = [sys.executable, "-m", "foreset.cli", "status"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "a: never refreshed\n"
