"""Files stay small enough to be read in one sitting."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "plugins" / "foreset"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
LIMIT = 400
USUAL = 200  # the aim is a median near 150


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_is_too_long(path: Path) -> None:
    assert lines(path) <= LIMIT, "split it"


def test_the_usual_file_is_short() -> None:
    assert median(map(lines, FILES)) <= USUAL
