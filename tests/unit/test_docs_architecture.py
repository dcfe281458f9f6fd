"""docs/ARCHITECTURE.md names every package, only files that are there, and the way that a refresh really takes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import house
from tests import package_picture, walk_picture

from foreset.plan.translate import translate

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "plugins" / "foreset"
TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_map_has_every_package() -> None:
    there = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    there |= {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    mapped = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    assert there == mapped


@pytest.mark.parametrize("text", [TEXT, CONTRIBUTING], ids=["ARCHITECTURE", "CONTRIBUTING"])
def test_files_that_are_named_are_there(text: str) -> None:
    bare = {path.name for path in ROOT.glob("tests/*/*.py")}
    for name in re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|toml))`", text):
        found = (ROOT / name).exists() or (PACKAGE / name).exists() or name in bare
        assert found, name
    for folder in re.findall(r"`(tests/[\w/]+)`", text):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize(("name", "draw"), [("walk", walk_picture.drawn), ("packages", package_picture.drawn)])
def test_pictures_are_those_of_the_code(name: str, draw: Callable[[], str]) -> None:
    file, drawn = ROOT / f"docs/img/{name}.svg", draw()
    if os.environ.get("REWRITE"):
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn, "`REWRITE=1 pytest tests/unit/test_docs_architecture.py` draws it"


def test_a_refresh_goes_the_way_that_is_drawn() -> None:
    def in_a_new_process(root: Path) -> object:
        translate.cache_clear()  # which one that has refreshed before remembers
        return house.from_cli(root)

    seen = [(house._short(code.co_filename), code.co_qualname) for code in house.profiled(in_a_new_process).codes]
    way = [(one.file, one.function) for one in walk_picture.stations()]
    assert [one for one in seen if one in way] == way
