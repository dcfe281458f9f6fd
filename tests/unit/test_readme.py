"""The README does what it shows: its console blocks are run, in order, as a new user would. REWRITE=1 accepts."""

from __future__ import annotations

import re
from pathlib import Path

from tests.console import Shell, check_page

from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.testing.run import run_tests

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_the_console_blocks_are_what_happens(tmp_path: Path) -> None:
    check_page(README, Shell(tmp_path))


def test_own_data_in_ten_minutes(tmp_path: Path) -> None:
    check_page(ROOT / "docs" / "your-data.md", Shell(tmp_path))


def test_the_page_about_the_language_works() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    loaded = load_text(text)
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert not [*loaded.report, *found.report]
    (outcome,) = run_tests(loaded.program, found.program, found.layering)
    assert outcome.passed, outcome


def test_links_lead_somewhere() -> None:
    for page in (README, *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
