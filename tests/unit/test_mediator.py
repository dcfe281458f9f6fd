"""The law-enforcement mediator by the spec in view_specs/: what docs/mediated.md prints is what happens."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.cli_runner import foreset as cli

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def mediator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("FORESET_ENGINE", "inproc")
    spec = importlib.util.spec_from_file_location("mediator", ROOT / "examples/law_enforcement/mediator.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mediator", module)
    spec.loader.exec_module(module)
    return module


def test_the_tutorial_prints_what_happens(mediator: ModuleType, tmp_path: Path) -> None:
    printed = re.search(r"```text\n(.*?)```", (ROOT / "docs/mediated.md").read_text(encoding="utf-8"), re.DOTALL)
    assert printed is not None
    came = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", "\n".join(mediator.run(tmp_path)))
    assert came.splitlines() == printed[1].splitlines()


def test_its_rules_on_the_page_are_those_of_the_spec() -> None:
    page = (ROOT / "docs/mediated.md").read_text(encoding="utf-8")
    spec = re.sub(r" +", " ", (ROOT / "view_specs/law_enforcement.yaml").read_text(encoding="utf-8"))
    for line in re.search(r"```datalog excerpt\nseen\(.*?```", page, re.DOTALL)[0].splitlines()[1:-1]:
        assert re.sub(r" +", " ", line) in spec


def test_its_unit_test_passes() -> None:
    found = cli("test", "law_enforcement", "--specs", ROOT / "view_specs")
    assert found.code == 0, found.out
