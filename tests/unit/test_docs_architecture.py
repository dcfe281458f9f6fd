"""docs/ARCHITECTURE.md names every package, and only files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "plugins" / "foreset"
TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_map_has_every_package() -> None:
    there = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    there |= {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    mapped = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    assert there == mapped


def test_files_that_are_named_are_there() -> None:
    bare = {path.name for path in ROOT.glob("tests/*/*.py")}
    for name in re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|toml))`", TEXT):
        found = (ROOT / name).exists() or (PACKAGE / name).exists() or name in bare
        assert found, name
    for folder in re.findall(r"`(tests/[\w/]+)`", TEXT):
        assert (ROOT / folder).is_dir(), folder
