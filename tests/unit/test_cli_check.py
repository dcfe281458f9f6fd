"""`foreset check`: what it reads, what it says in each format, how fast, and never a traceback."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.big_spec import big_spec
from tests.cli_runner import foreset

GOOD = """group: good
sources:
  edge: {table: raw/edge, columns: {src: string, dst: string}}
views:
  hop:
    columns: {src: string, dst: string}
    rules:
      - hop(X, Y) :- edge(X, Y)
"""
BAD = GOOD.replace("group: good", "group: bad").replace("- hop(X, Y) :- edge(X, Y)", "- hop(X Y)")


@pytest.fixture(autouse=True)
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "view_specs"
    folder.mkdir()
    (folder / "good.yaml").write_text(GOOD)
    return folder


def test_a_good_folder_is_one_line() -> None:
    shown = foreset("check")
    assert (shown.code, shown.out, shown.err) == (0, "1 group, 1 view, 1 rule: ok\n", "")


def test_a_bad_spec_is_shown_with_its_place_and_counted(specs: Path) -> None:
    (specs / "bad.yaml").write_text(BAD)
    shown = foreset("check")
    assert shown.code == 2
    assert shown.out.startswith("view_specs/bad.yaml:8:15: error[FS")
    assert "  |       - hop(X Y)\n" in shown.out
    assert shown.out.endswith("2 groups, 1 view, 1 rule: 1 error\n")


def test_a_warning_does_not_refuse(specs: Path) -> None:
    (specs / "good.yaml").rename(specs / "other.yaml")
    shown = foreset("check")
    assert shown.code == 0
    assert shown.out.endswith("1 group, 1 view, 1 rule: ok, 1 warning\n")


@pytest.mark.parametrize("as_json", [["--json"], ["--format", "json"]])
def test_json_is_a_list_of_faults(specs: Path, as_json: list[str]) -> None:
    assert json.loads(foreset("check", *as_json).out) == []
    (specs / "bad.yaml").write_text(BAD)
    shown = foreset("check", *as_json)
    (fault,) = json.loads(shown.out)
    assert shown.code == 2
    assert list(fault) == ["severity", "code", "file", "line", "column", "message", "hint"]
    assert (fault["severity"], fault["file"], fault["line"]) == ("error", "view_specs/bad.yaml", 8)


def test_github_gets_annotations(specs: Path) -> None:
    (specs / "bad.yaml").write_text(BAD)
    shown = foreset("check", "--format", "github")
    assert shown.out.startswith("::error file=view_specs/bad.yaml,line=8,")


def test_targets_are_groups_files_or_folders(specs: Path, tmp_path: Path) -> None:
    (specs / "bad.yaml").write_text(BAD)
    assert foreset("check", "good").code == 0
    assert foreset("check", "view_specs/good.yaml").code == 0
    assert foreset("check", "bad").code == 2
    assert foreset("check", str(specs) + "/").code == 2
    assert foreset("check", "good", "view_specs/bad.yaml").code == 2
    (tmp_path / "empty").mkdir()
    assert "there are no specs in empty" in foreset("check", "--specs", "empty").err


def test_unknown_groups_and_missing_files() -> None:
    shown = foreset("check", "goood")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == "error: there is no group `goood` in view_specs\n  = hint: did you mean `good`?\n"
    assert "groups here: good" in foreset("check", "zzz").err
    missing = foreset("check", "nowhere.yaml")
    assert missing.code == 2
    assert missing.out.startswith("nowhere.yaml:1:1: error[FS001]")


def test_a_wrong_format_is_an_error_of_use() -> None:
    shown = foreset("check", "--format", "xml")
    assert (shown.code, shown.out) == (2, "")
    assert "github" in shown.err


def test_two_hundred_views_and_a_thousand_rules_are_quick(specs: Path) -> None:
    """The aim is one second of CPU on a quiet machine; the bound leaves room for a busy one."""
    (specs / "good.yaml").unlink()
    (specs / "big.yaml").write_text(big_spec(views=200, rules=5))
    assert foreset("check").out == "1 group, 200 views, 1,000 rules: ok\n"
    started = time.process_time()
    foreset("check")
    spent = time.process_time() - started
    print(f"check of 200 views, 1,000 rules: {spent:.2f} s of CPU")
    assert spent < 3


# ---------------------------------------------------------------- never a traceback
@settings(max_examples=60)
@given(text=st.binary(max_size=200))
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    fuzzed(tmp_path_factory, text)


PIECES = ["closure", "edge", "(", ")", ",", ":-", "X", "_", "not ", "1/0", "'a'", '"', ".", "%", "= ", "<", "{", "}",
          "[", ": ",
          " #", "\n", "\n  ", "- ", "|", ">", "&a ", "*a", "!!python/object ", "group: ", "views:", "rules:", "é",
          "9" * 30, 'date("2026-02-30")', "\t", "null", "~", "true"]  # fmt: skip


@settings(max_examples=120)
@given(cut=st.integers(0, len(GOOD)), drop=st.integers(0, 40), put=st.lists(st.sampled_from(PIECES), max_size=8))
def test_specs_with_something_wrong(
    tmp_path_factory: pytest.TempPathFactory, cut: int, drop: int, put: list[str]
) -> None:
    fuzzed(tmp_path_factory, (GOOD[:cut] + "".join(put) + GOOD[cut + drop :]).encode())


def fuzzed(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzz"
    folder.mkdir(exist_ok=True)
    (folder / "good.yaml").write_bytes(text)
    for command in (["check"], ["explain", "good"], ["test"]):
        shown = foreset(*command, "--specs", str(folder))
        assert "internal error" not in shown.err, shown.err
        assert shown.code in (0, 2, 3), shown


def test_what_does_not_fit_the_tables_is_json_too() -> None:
    shown = foreset("check", "--against-warehouse", "--json")
    assert shown.code == 2
    (fault,) = shown.data["diagnostics"]
    assert (fault["code"], fault["file"], fault["line"], fault["column"]) == ("FS680", "view_specs/good.yaml", 3, 17)
    assert shown.data["warehouse"] == []
