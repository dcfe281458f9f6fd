"""docs/python.md runs as written; results show themselves; what is misspelt is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli_runner import foreset as command
from tests.docs_blocks import blocks_of

import foreset
from foreset.questions.proofs import Proof
from foreset.refresh.whole import RefreshResult, ViewResult

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORESET_SPARK", "nowhere")
    assert command("init").code == 0
    return tmp_path


@pytest.mark.usefixtures("project")
def test_the_blocks_of_the_page_run_one_after_the_other() -> None:
    names: dict[str, object] = {}
    blocks = [block.text for block in blocks_of(PAGE) if block.language == "python"]
    assert len(blocks) >= 4
    for block in blocks:
        for line in block.splitlines():
            shown, _, said = line.partition("  # ")
            if said.strip() == "True" or said.startswith("True:"):
                assert eval(shown, names) is True, line
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "<html" in Path("reach.html").read_text()


@pytest.mark.usefixtures("project")
def test_results_show_themselves() -> None:
    wh = foreset.open()
    assert repr(wh) == "<Warehouse warehouse, specs in view_specs>\n  reach: never refreshed"
    result = wh.refresh("reach")
    assert re.fullmatch(r"<RefreshResult reach: seq 1 committed in [\d.]+ s>\n  closure \+9 -0 recompute", repr(result))
    assert "<td>+9</td>" in result._repr_html_()
    assert "<td>reach</td><td>1</td><td>closure</td>" in wh._repr_html_()
    assert repr(wh.why("reach.closure", "bologna, milan")).splitlines() == [
        'closure("bologna", "milan")',
        "  by closure#1, line 14: closure(X, Y) :- edge(X, Y)",
        '    edge("bologna", "milan")   source edge',
    ]
    assert "lacks only edge" in repr(wh.why_not("reach.closure", "milan, rome"))
    assert repr(wh.explain("reach")).startswith("reach: 1 view in 1 stratum\n")
    assert wh.report("reach").answer == "Yes"
    with foreset.open_snapshot("warehouse", "reach") as snapshot:
        assert repr(snapshot) == "<Snapshot reach at seq 1: closure>"


def test_nothing_that_data_or_specs_hold_is_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    view = ViewResult(1, 0, "insert", evil)
    shown = [
        RefreshResult(evil, 1, "committed", 0.1, None, {evil: view})._repr_html_(),
        Proof("v", (evil,), "view")._repr_html_(),
        foreset.open(str(tmp_path / evil), evil)._repr_html_(),
    ]
    assert "\x1b" not in repr(Proof("v", ("\x1b[2J",), "view")) + repr(foreset.open("\x1b[2J", "\x1b[2J"))
    assert all("<script>" not in text and "&lt;script&gt;" in text for text in shown)


@pytest.mark.usefixtures("project")
def test_commands_and_methods_say_the_same() -> None:
    wh = foreset.open()
    wh.refresh("reach")
    assert wh.status() == wh.status("reach")
    assert command("status", "--json").data[0]["seq"] == wh.status("reach")[0]["seq"] == 1
    assert command("explain", "reach").out.rstrip() == wh.explain("reach").rstrip()
    assert command("report", "reach", "--json").data["sentence"] == wh.report("reach").sentence
    assert command("import", "data/edge_tomorrow.csv", "sales/edge", "--replace").code == 0
    assert wh.refresh("reach").seq == 2
    assert wh.rollback("reach", 1, hold=True, why="wrong prices") == 3
    assert wh.status("reach")[0]["hold"]["why"] == "wrong prices"
    assert (wh.release("reach"), wh.release("reach")) == (True, False)
    assert wh.verify("reach").ok
    assert not wh.gc("reach", dry_run=True).deleted


def test_the_public_names_are_listed() -> None:
    assert set(foreset.__all__) <= set(dir(foreset))
    assert not {"import_module", "TYPE_CHECKING", "annotations"} & set(dir(foreset))


def test_methods_have_words_of_their_own() -> None:
    public = {name: found for name, found in vars(foreset.Warehouse).items() if not name.startswith("_")}
    assert {"status", "report", "verify", "rollback", "explain", "gc"} <= set(public)
    assert all(found.__doc__ for found in public.values())


def test_a_wrong_keyword_is_named(tmp_path: Path) -> None:
    wh = foreset.open(str(tmp_path), str(tmp_path))
    with pytest.raises(foreset.UsageError, match=r"(?s)refresh\(\) has no `vrify`.*did you mean `verify`\?"):
        wh.refresh("reach", vrify=10)
    with pytest.raises(foreset.UsageError, match=r"did you mean `dry_run`\?"):
        wh.refresh("reach", dryrun=True)
    with pytest.raises(foreset.UsageError, match=r"(?s)read\(\) has no `seq`.*it has `view`, `at`"):
        wh.read("reach.closure", seq=1)
    with pytest.raises(foreset.UsageError, match=r"open\(\) has no `spec`.*\n.*did you mean `specs`\?"):
        foreset.open(spec="x")
    with pytest.raises(foreset.UsageError, match=r"open_snapshot\(\) has no `leese`"):
        foreset.open_snapshot("w", "g", leese=False)


@pytest.mark.usefixtures("project")
def test_a_wrong_value_is_named() -> None:
    wh = foreset.open()
    with pytest.raises(foreset.UsageError, match=r"(?s)mode `fast` is not known.*one of: auto"):
        wh.refresh("reach", mode="fast")
    with pytest.raises(foreset.UsageError, match="verify `lots` is not known"):
        wh.refresh("reach", verify="lots")
    with pytest.raises(foreset.UsageError, match="there is no view `closre` in group reach"):
        wh.explain("reach.closre")


def test_messages_speak_of_what_the_caller_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(foreset.UsageError, match=r"if you have one, give it with `specs=`"):
        foreset.open().groups()
    for arguments in (("status",), ("refresh", "reach"), ("why", "reach.closure", "a, b"), ("edits",)):
        said = command(*arguments).err
        assert "give it with `--specs DIR` or FORESET_SPECS" in said, said
        assert "specs=" not in said
