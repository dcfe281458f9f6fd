"""The fenced blocks of the pages: which there are, in which language, and whether they are marked as excerpts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
FENCE = re.compile(r"^( *)```([\w-]*)([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
EXCERPT = "excerpt"  # ```yaml excerpt: a part, or something that is not to be run here


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is that of its first line of text."""

    page: Path
    line: int
    language: str
    excerpt: bool
    text: str

    @property
    def name(self) -> str:
        """Where it stands, for the names of tests and for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> tuple[Block, ...]:
    """All fenced blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return tuple(
        Block(page, text.count("\n", 0, found.start()) + 2, found[2], EXCERPT in found[3].split(), _flush(found))
        for found in FENCE.finditer(text)
    )


def unprinted(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page with their numbers, without those that a command prints."""
    printed = {
        block.line + offset
        for block in blocks_of(page)
        if block.language in {"console", "text"}
        for offset in range(len(block.text.splitlines()))
    }
    lines = page.read_text(encoding="utf-8").splitlines()
    yield from ((number, line) for number, line in enumerate(lines, start=1) if number not in printed)


def _flush(found: re.Match[str]) -> str:
    """The text of a block without the indent of its fence."""
    return re.sub(f"^{found[1]}", "", found[4], flags=re.MULTILINE)


BLOCKS = tuple(block for page in DOCUMENTS for block in blocks_of(page))
