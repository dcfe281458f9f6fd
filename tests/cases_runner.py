"""Runs `.case` files: what goes in and what must come out, as text.

A block is: lines of intent that begin with `# `, a line with the directive and its
arguments (`check`, `load file=x.yaml`), the input, a line `----`, the output. A line
`====` divides blocks. REWRITE=1 accepts whatever comes out: read the diff before
the commit.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent / "cases"
Run = Callable[[str, Mapping[str, str]], str]  # the input and the arguments to the output


@dataclass(frozen=True)
class Block:
    """One case of a file."""

    intent: tuple[str, ...]
    directive: str
    arguments: Mapping[str, str]
    input: str
    output: str
    head: str  # intent and directive as written


def parse_blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a case file."""
    return tuple(_block(part) for part in text.split("\n====\n"))


def _block(text: str) -> Block:
    lines = text.rstrip("\n").split("\n")
    count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    intent, directive = lines[:count], lines[count]
    assert intent, f"a case begins with a line of intent, not {directive!r}"
    body = lines[count + 1 :]
    cut = len(body) - 1 - body[::-1].index("----") if "----" in body else len(body)
    word, *arguments = shlex.split(directive)
    given = dict(argument.split("=", 1) for argument in arguments)
    source = "".join(f"{line}\n" for line in body[:cut])
    output = "".join(f"{line}\n" for line in body[cut + 1 :])
    return Block(tuple(intent), word, given, source, output, "\n".join([*intent, directive]))


def run_blocks(text: str, directives: Mapping[str, Run]) -> str:
    """The text of the file as it would be if all outputs were right."""
    return "====\n".join(
        f"{block.head}\n{block.input}----\n{directives[block.directive](block.input, block.arguments)}"
        for block in parse_blocks(text)
    )


def check_file(path: Path, directives: Mapping[str, Run]) -> None:
    """Fail where an output is not what the file says; with REWRITE=1 write it there instead."""
    text = path.read_text(encoding="utf-8")
    actual = run_blocks(text, directives)
    if os.environ.get("REWRITE"):
        path.write_text(actual, encoding="utf-8")
        return
    assert actual == text


def case_files(folder: str) -> list[Path]:
    """The case files below `tests/cases/<folder>`, in order."""
    return sorted((CASES / folder).rglob("*.case"))


def case_id(path: Path) -> str:
    """How pytest names a case file."""
    return str(path.relative_to(CASES).with_suffix(""))
