"""The Python interface, as far as it needs no Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.cli_runner import foreset as cli

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
    first, second = done.stdout.splitlines()
    assert first == "a: never refreshed"
    assert second.startswith("there is no warehouse at ./warehouse yet: `foreset refresh a` makes one; ")


@pytest.mark.parametrize("slip", ["a(X) :- NOT e(X)", "a(X) :- e(X, X)"])
def test_status_names_a_group_whose_spec_has_errors(tmp_path: Path, slip: str) -> None:
    """The first refresh of a spec with a mistake fails, and then one asks for the status."""
    (tmp_path / "a.yaml").write_text(
        f"group: a\nsources: {{e: {{table: s/e, columns: {{x: int}}}}}}\n"
        f"views: {{a: {{columns: {{x: int}}, rules: ['{slip}']}}}}\n"
    )
    (tmp_path / "No group.yaml").write_text("group: [")
    told = cli("status", "--specs", str(tmp_path), "--warehouse", str(tmp_path / "wh")).out.splitlines()
    assert told[:2] == ["a: never refreshed", "  its spec has 1 error: `foreset check a` shows it"]


@pytest.fixture
def where(tmp_path: Path) -> tuple[str, ...]:
    """Options that name a warehouse and specs, with one row in the only source."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.yaml").write_text(GOOD)
    write_deltalake(str(tmp_path / "wh" / "t" / "e"), pa.table({"x": pa.array([1], pa.int32())}))
    return "--specs", str(tmp_path / "specs"), "--warehouse", str(tmp_path / "wh")


def test_a_group_that_two_files_define_is_refused(tmp_path: Path, where: tuple[str, ...]) -> None:
    """Not only by `check`: whoever runs, reads or explains it would have to guess which one is meant."""
    (tmp_path / "specs" / "b.yaml").write_text(GOOD)
    wh = foreset.open(str(tmp_path / "wh"), str(tmp_path / "specs"), "nowhere")
    for refused in (lambda: wh.refresh("a"), lambda: wh.forecast("a"), lambda: wh.rows("a.v")):
        with pytest.raises(foreset.SpecError, match=r"b\.yaml.*FS027.*a\.yaml"):
            refused()
    for command in (("refresh", "a"), ("explain", "a"), ("check", "a"), ("test", "a")):
        done = cli(*command, *where)
        assert (done.code, "FS027" in done.out + done.err) == (2, True), command


@pytest.mark.parametrize(
    "command",
    [("gc", "aa"), ("rollback", "aa", "1"), ("report", "aa"), ("edits", "aa"), ("status", "aa"), ("show", "aa.v"),
     ("changes", "aa.v"), ("why", "aa.v", "1"), ("edit", "aa.v", "--delete", "x = 1"), ("verify", "aa"),
     ("refresh", "aa"), ("explain", "aa"), ("gc", "../aa")],
)  # fmt: skip
def test_a_group_that_is_not_there_is_a_usage_error_with_what_is_near(
    where: tuple[str, ...], command: tuple[str, ...]
) -> None:
    done = cli(*command, *where)
    assert done.code == 2, done.err
    assert "did you mean `a`?" in done.err or "cannot be the name of a group" in done.err


@pytest.mark.parametrize("command", [("show", "a.vv"), ("changes", "a.vv"), ("why", "a.vv", "1"), ("explain", "a.vv")])
def test_so_is_a_view_that_is_not_there(
    where: tuple[str, ...], command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    assert cli("refresh", "a", "-q", *where).code == 0
    done = cli(*command, *where)
    assert (done.code, "did you mean `v`?" in done.err) == (2, True), done.err


def test_a_group_without_a_spec_is_known_by_its_refreshes(
    tmp_path: Path, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    assert cli("refresh", "a", "-q", *where).code == 0
    (tmp_path / "specs" / "a.yaml").unlink()
    assert cli("gc", "a", *where).code == 0
    assert cli("show", "a.v", *where).code == 0
    assert "did you mean `a`?" in cli("gc", "aa", *where).err


def test_a_mode_that_does_not_exist_is_refused_though_nothing_moved(
    tmp_path: Path, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    wh = foreset.open(str(tmp_path / "wh"), str(tmp_path / "specs"), "nowhere")
    wh.refresh("a")
    with pytest.raises(foreset.UsageError, match="mode `recomput` is not known\n.*did you mean `recompute`"):
        wh.refresh("a", mode="recomput")
    with pytest.raises(foreset.UsageError, match="verify `lots` is not known"):
        wh.refresh("a", verify="lots")
    assert "verify `-3` is not known" in cli("refresh", "a", "--verify", "-3", *where).err
    assert wh.refresh("a").status == "unchanged", "and nothing was opened by what was refused"


def test_status_of_one_group(tmp_path: Path, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    (tmp_path / "specs" / "b.yaml").write_text(GOOD.replace("group: a", "group: b"))
    assert cli("refresh", "a", "-q", *where).code == 0
    assert [one["group"] for one in cli("status", "--json", *where).data] == ["a", "b"]
    told = cli("status", "b", *where).out
    assert told == "b: never refreshed\n", "the warehouse is there"
