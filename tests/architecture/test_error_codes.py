"""Codes of diagnostics: each one in the sources is documented, each documented one exists and has a case."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "plugins" / "foreset"
_ROW = re.compile(r"^\| (FS\d{3}) \|", re.MULTILINE)
_SECTIONS = re.compile(r"^## FS(\d)xx(?: to FS(\d)xx)?$", re.MULTILINE)
_SHOWN = re.compile(r"(?:error|warning)\[(FS\d{3})\]")


@cache
def used() -> dict[str, list[str]]:
    """Each code with the files that can say it."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for code in re.findall(r'"(FS\d{3})"', path.read_text(encoding="utf-8")):
            found.setdefault(code, []).append(str(path.relative_to(PACKAGE)))
    return found


@cache
def documented() -> tuple[str, ...]:
    return tuple(_ROW.findall((ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))


@cache
def in_cases() -> frozenset[str]:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "cases").rglob("*.case"))
    return frozenset(code for text in texts for code in _SHOWN.findall(text))


@pytest.mark.parametrize("code", sorted(used()))
def test_code_is_documented(code: str) -> None:
    assert code in documented(), f"add {code} to docs/errors.md; it is said by {used()[code]}"


@pytest.mark.parametrize("code", sorted(set(documented())))
def test_documented_code_exists_and_has_a_case(code: str) -> None:
    assert code in used(), f"{code} is in docs/errors.md, but nothing says it"
    assert code in in_cases(), f"no .case shows {code}"


def test_codes_stand_once_and_in_their_section() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert len(documented()) == len(set(documented()))
    parts = list(_SECTIONS.finditer(text))
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        codes = _ROW.findall(text[part.end() : after.start() if after else len(text)])
        low, high = int(part[1]), int(part[2] or part[1])
        assert codes == sorted(codes), part[0]
        assert all(low <= int(code[2]) <= high for code in codes), part[0]


def test_spec_codes_stay_in_their_files() -> None:
    """Two packages never share a code: whoever reads one finds its only meaning."""
    for code, files in used().items():
        packages = {file.split("/")[0] for file in files}
        assert len(packages) == 1, f"{code} is said by {sorted(packages)}"
