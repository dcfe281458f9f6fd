"""Pages whose blocks are run: files that they show are written, commands are run in order, outputs are compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs_blocks import EXCERPT

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)
VARYING = re.compile(r"\b\d+\.\d+ s\b|\b[\d.]+ (?:bytes|[KMGT]B)\b")  # seconds, sizes of files and of this machine
MARK = "~~~~ end of a command ~~~~"


class Shell:
    """A bash in a folder of its own, with this checkout as `foreset`."""

    def __init__(self, folder: Path) -> None:
        home, self.work = folder / "bin", folder / "work"
        home.mkdir()
        self.work.mkdir()
        script = home / "foreset"
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "plugins"}" exec "{sys.executable}" -m foreset.cli "$@"\n')
        script.chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FORESET_")}
        self.environment = {**kept, "PATH": f"{home}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        self.folder = self.work

    def run(self, command: str) -> str:
        """What a command prints; `cd` holds for those after it."""
        text = f"{{ {command}\n}} 2>&1; echo '{MARK}'; pwd"
        shown = subprocess.run(
            ["bash", "-c", text], capture_output=True, text=True, env=self.environment, cwd=self.folder, check=True
        ).stdout  # fmt: skip
        output, _, folder = shown.rpartition(f"{MARK}\n")
        self.folder = Path(folder.strip())
        return output


def as_run(page: str, shell: Shell) -> str:
    """The page with what its commands print now. A block such as ```csv people.csv is a file."""

    def block(found: re.Match[str]) -> str:
        kind, file, body = found.groups()
        if file and file != EXCERPT:
            path = shell.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        if kind != "console":
            return found[0]
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"$ {command}\n{shell.run(command)}" for command in commands) + "```"

    return BLOCK.sub(block, page)


def steady(page: str) -> str:
    """The page without what differs from run to run."""
    return VARYING.sub("...", page)


def check_page(path: Path, shell: Shell) -> None:
    """Fail where the page shows something else than what happens; REWRITE=1 accepts."""
    text = path.read_text(encoding="utf-8")
    actual = as_run(text, shell)
    if os.environ.get("REWRITE") and steady(actual) != steady(text):
        path.write_text(actual, encoding="utf-8")
        return
    assert steady(actual) == steady(text)
