"""One chain understands specs, and a crash in one spec is that spec's fault alone, whatever crashes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import foreset as run

import foreset
from foreset.errors import SpecError
from foreset.orchestrate.specs import load_group, load_groups
from foreset.refresh.context import read_spec

SPEC = """group: {name}
sources:
  edge: {{table: raw/edge, columns: {{src: string, dst: string}}}}
views:
  {name}_hop:
    columns: {{src: string, dst: string}}
    rules:
      - {name}_hop(X, Y) :- edge(X, Y)
"""
FALSE_REMOVE = """group: falsely
sources:
  n: {table: s/n, columns: {k: string, x: int}}
aggregates:
  f: {takes: int, state: int, zero: 0, add: A + X, remove: A - 2 * X}
views:
  v:
    columns: {k: string, r: int}
    rules: ["v(K, R) :- setof(X, n(K, X), S), f(S, R)"]
"""
PASSES = (
    "foreset.spec.load.compose",
    "foreset.spec.load._rules_of",
    "foreset.understand.prepare",
    "foreset.rewrite.pipeline.normalise_rule",
    "foreset.rewrite.pipeline.split_supports",
    "foreset.understand.proven",
    "foreset.analyse.across._source",
)


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    for name in ("one", "two", "zoo"):
        (tmp_path / f"{name}.yaml").write_text(SPEC.format(name=name))
    reads_one = "  one_hop: {view: one.one_hop, columns: {src: string, dst: string}}\n"
    text = (tmp_path / "two.yaml").read_text().replace("views:", f"{reads_one}views:")
    (tmp_path / "two.yaml").write_text(text.replace(":- edge(X, Y)", ":- edge(X, Y), one_hop(X, Y)"))
    return tmp_path


def crash_on_two(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let the function crash when anything that it is given speaks of group `two`."""
    module, _, name = target.rpartition(".")
    found = __import__(module, fromlist=[name])
    real: Callable[..., Any] = getattr(found, name)

    def crashing(*args: Any, **more: Any) -> Any:
        if any("two" in repr(arg) for arg in args) or any("two.yaml" in str(getattr(arg, "file", "")) for arg in args):
            raise RuntimeError("planted\nsecond line")
        return real(*args, **more)

    monkeypatch.setattr(target, crashing)


@pytest.mark.parametrize("target", PASSES)
def test_a_crash_is_the_fault_of_its_file_alone(specs: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    crash_on_two(monkeypatch, target)
    shown = run("check", "--specs", str(specs))
    assert shown.code == 2, shown.err
    assert shown.out.count("error[FS640]: internal error: RuntimeError: planted: this is a bug in Foreset") == 1
    assert f"{specs / 'two.yaml'}:1:1: error[FS640]" in shown.out
    assert run("check", "--specs", str(specs), "one", "zoo").code == 0
    found = load_groups(specs)
    assert [group.program.group for group in found.groups] == ["one", "zoo"]
    assert [(fault.code, fault.file) for fault in found.faults] == [("FS640", str(specs / "two.yaml"))]
    told = [fault for fault in foreset.open(str(specs), specs=str(specs)).check() if fault.severity == "error"]
    assert [fault.code for fault in told] == ["FS640"]


def test_the_trace_is_shown_when_asked_for(
    specs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crash_on_two(monkeypatch, "foreset.understand.prepare")
    with caplog.at_level("INFO", "foreset"):  # restores what `--debug` sets
        caplog.handler.setLevel(0)
        run("check", "--specs", str(specs))
        assert not caplog.records
        run("--debug", "check", "--specs", str(specs))
    # How a trace is written is the business of the handler, and Airflow has one of its own.
    (crash,) = {record.exc_info[1] for record in caplog.records if record.exc_info}
    assert isinstance(crash, RuntimeError)
    assert str(crash).startswith("planted")
    assert crash.__traceback__ is not None


def test_a_refresh_names_the_crash_and_the_file(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_on_two(monkeypatch, "foreset.understand.prepare")
    with pytest.raises(SpecError, match=r"two.yaml:1:1: error\[FS640\]: internal error: RuntimeError: planted"):
        read_spec((specs / "two.yaml").read_text(), str(specs / "two.yaml"))


def test_a_spec_that_a_refresh_refuses_has_no_dag(tmp_path: Path) -> None:
    (tmp_path / "falsely.yaml").write_text(FALSE_REMOVE)
    with pytest.raises(SpecError, match="`remove` does not undo `add`"):
        read_spec(FALSE_REMOVE, "falsely.yaml")
    assert load_groups(tmp_path).groups == ()
    assert load_group(tmp_path, "falsely") is None
    assert [fault.code for fault in load_groups(tmp_path).faults] == ["FS310"]
    assert run("check", "--specs", str(tmp_path)).code == 2


def test_a_crash_in_one_test_takes_down_no_other(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = "tests:\n  - {name: it, given: {edge: [[a, b]]}, state: {NAME_hop: [[a, b]]}}\n"
    for name in ("one", "zoo"):
        file = specs / f"{name}.yaml"
        file.write_text(file.read_text() + tests.replace("NAME", name))
    monkeypatch.setattr(
        "foreset.testing.run.as_written",
        lambda written, program: {}["planted"] if program.group == "one" else real(written, program),
    )
    real = __import__("foreset.rewrite.pipeline", fromlist=["as_written"]).as_written
    shown = run("test", "--specs", str(specs))
    assert shown.code == 3
    assert "FAIL  one: it" in shown.out
    assert "internal error: KeyError: 'planted'" in shown.out
    assert "pass  zoo: it" in shown.out


def test_nothing_goes_around_the_chain() -> None:
    """Nobody else makes a normal form, or tries what aggregates promise; edits are a part of the chain."""
    steps = {"prepare": {"understand.py", "rewrite/edit_views.py"}, "proven": {"understand.py"}}
    package = Path(foreset.__file__).parent
    trees = {file.relative_to(package).as_posix(): ast.parse(file.read_text()) for file in package.rglob("*.py")}
    for step, chain in steps.items():
        imported = {
            name
            for name, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and step in {alias.name for alias in node.names}
        }
        assert imported == chain
