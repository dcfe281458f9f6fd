"""The README does what it shows: its console blocks are run, in order, as a new user would. REWRITE=1 accepts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from foreset.rewrite.pipeline import prepare
from foreset.spec.load import load_text
from foreset.testing.run import run_tests

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
SECONDS = re.compile(r"\(\d+\.\d\d s\)")  # the only thing that differs from run to run
MARK = "~~~~ end of a command ~~~~"


@pytest.fixture
def bash(tmp_path: Path):
    """A shell in an empty folder, with this checkout as `foreset`."""
    home = tmp_path / "bin"
    home.mkdir()
    script = home / "foreset"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "plugins"}" exec "{sys.executable}" -m foreset.cli "$@"\n')
    script.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FORESET_")}
    environment = {**kept, "PATH": f"{home}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def run(commands: list[str]) -> list[str]:
        text = "\n".join(f"{{ {command}\n}} 2>&1; echo '{MARK}'" for command in commands)
        shown = subprocess.run(
            ["bash"], input=text, capture_output=True, text=True, env=environment, cwd=work, check=True
        )
        return shown.stdout.split(f"{MARK}\n")[:-1]

    return run


def commands_of(block: str) -> list[str]:
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def test_the_console_blocks_are_what_happens(bash) -> None:
    text = README.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    outputs = iter(bash([command for block in blocks for command in commands_of(block)]))
    shown = iter(["".join(f"$ {command}\n{next(outputs)}" for command in commands_of(block)) for block in blocks])
    actual = BLOCK.sub(lambda _: next(shown), text)
    if os.environ.get("REWRITE") and SECONDS.sub("", actual) != SECONDS.sub("", text):
        README.write_text(actual, encoding="utf-8")
        return
    assert SECONDS.sub("(s)", actual) == SECONDS.sub("(s)", text)


def test_the_page_about_the_language_works() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    loaded = load_text(text)
    assert loaded.program is not None, list(loaded.report)
    found = prepare(loaded.program)
    assert not [*loaded.report, *found.report]
    (outcome,) = run_tests(found.program, found.layering)
    assert outcome.passed, outcome


def test_links_lead_somewhere() -> None:
    for page in (README, *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
