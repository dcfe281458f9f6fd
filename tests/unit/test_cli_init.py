"""`foreset init`: a project that works at once, and nothing overwritten."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.cli_runner import foreset

from foreset.spec.schema import schema_text


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("example", [[], ["--example"]])
def test_what_is_written_works_at_once(example: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = foreset("init", "proj", *example)
    assert shown.code == 0
    assert "  cd proj\n  foreset check\n  foreset test\n" in shown.out
    monkeypatch.chdir("proj")
    assert foreset("check").out.endswith(": ok\n")
    assert foreset("test").code == 0
    for line in tour(shown.out):
        assert foreset(*shlex.split(line)[1:]).code == 0, line
    assert "+ rome, venice\n" in foreset("changes", "reach.closure").out
    for name in ("reach", "shop") if example else ("reach",):
        assert foreset("refresh", name, "-q").code == 0
        assert foreset("explain", name, "--rules", "--steps").code == 0
    assert Path("view_specs/schema.json").read_text() == schema_text()
    assert Path(".gitignore").read_text() == "/warehouse/\n"
    assert "view_specs/" in Path("README.md").read_text()


def tour(out: str) -> list[str]:
    """The commands that are printed at the end, but for `cd`."""
    return [line.strip() for line in out.partition("Next:")[2].splitlines() if line.startswith("  foreset ")]


def test_without_sample_data(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = foreset("init", "proj", "--no-data")
    assert not (Path("proj/data").exists() or Path("proj/warehouse").exists())
    assert "import" not in shown.out
    monkeypatch.chdir("proj")
    assert all(foreset(*shlex.split(line)[1:]).code == 0 for line in tour(shown.out))


def test_a_bare_install_gets_files_and_is_told_what_makes_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as bare:
        bare.setattr("foreset.cli.init.find_spec", {}.get)
        shown = foreset("init", "proj")
    assert shown.code == 0
    assert 'no tables were made: deltalake and duckdb are not installed; pip install "foreset[refresh]"' in shown.out
    assert Path("proj/data/edge.csv").exists()
    assert not Path("proj/warehouse").exists()
    assert "foreset refresh" not in shown.out
    assert "made   table sales/edge" in foreset("init", "proj").out


def test_another_warehouse_gets_the_tables_and_the_tour_names_it() -> None:
    shown = foreset("init", "--warehouse", "wh")
    assert "made   table sales/edge in wh: 5 rows\n" in shown.out
    assert all(line.endswith("--warehouse wh") for line in tour(shown.out))
    assert foreset("refresh", "reach", "--warehouse", "wh", "-q").code == 0


def test_tables_that_are_there_stay() -> None:
    Path("e.csv").write_text("src,dst\na,b\n")
    foreset("import", "e.csv", "sales/edge", "--no-key")
    shown = foreset("init")
    assert "kept   table sales/edge, which exists already\n" in shown.out
    foreset("refresh", "reach", "-q")
    assert foreset("show", "reach.closure", "--json").data == [{"src": "a", "dst": "b"}]


def test_nothing_is_overwritten() -> None:
    Path("README.md").write_text("mine")
    Path("view_specs").mkdir()
    Path("view_specs/reach.yaml").write_text("mine too")
    shown = foreset("init", "--json")
    assert shown.code == 0
    assert shown.data == {
        "directory": ".",
        "written": [".gitignore", "data/edge.csv", "data/edge_tomorrow.csv", "view_specs/schema.json"],
        "kept": ["README.md", "view_specs/reach.yaml"],
        "tables": {"sales/edge": 5},
        "tables_kept": [],
    }
    assert (Path("README.md").read_text(), Path("view_specs/reach.yaml").read_text()) == ("mine", "mine too")
    assert "kept   README.md, which exists already\n" in foreset("init").out


def test_another_folder_for_specs() -> None:
    foreset("init", "--specs", "views")
    assert foreset("check", "--specs", "views").code == 0
    assert json.loads(Path("views/schema.json").read_text())


@pytest.mark.parametrize(("arguments", "code"), [(("file",), 2), (("file/below",), 2), (("--specs", "../out"), 2)])
def test_places_that_cannot_be(arguments: tuple[str, ...], code: int) -> None:
    Path("file").write_text("")
    shown = foreset("init", *arguments)
    assert (shown.code, shown.out) == (code, "")
    assert shown.err.startswith("error: ")
    assert not Path("../out").exists()
