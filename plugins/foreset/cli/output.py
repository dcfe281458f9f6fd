"""Where text goes: results to stdout, complaints to stderr, colours to terminals only."""

from __future__ import annotations

import datetime
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TextIO

import typer

from foreset.cli.exits import Exit
from foreset.diagnostics import Diagnostic
from foreset.render import visible


def say(lines: str | Iterable[str]) -> None:
    """Print to stdout; a reader that has gone away ends the command quietly."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Print an error to stderr."""
    label = styled("error", "red", sys.stderr)
    _write(sys.stderr, f"{label}: {visible(text)}")


def complain_of_spec(faults: Sequence[Diagnostic]) -> None:
    """Print the faults of a spec to stderr, each with its line."""
    from foreset.render import render_text, summary

    sources: dict[str, str] = {}
    for file in {fault.file for fault in faults}:
        with suppress(OSError, ValueError):
            sources[file] = Path(file).read_text(encoding="utf-8")
    _write(sys.stderr, render_text(faults, sources) + summary(faults))


def say_json(data: object) -> None:
    """Print one JSON document to stdout."""
    _write(sys.stdout, json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def coloured(stream: TextIO) -> bool:
    """Colours only where a person looks, and never where NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def styled(text: str, colour: str = "", stream: TextIO | None = None) -> str:
    """`text` in bold and in `colour`, where the stream shows it."""
    if not coloured(stream or sys.stdout):
        return text
    return typer.style(text, fg=colour or None, bold=True)


def plain(value: object) -> object:
    """A value as JSON has it: rows as lists, decimals and times as text, no NaN."""
    match value:
        case Enum():
            return value.value
        case float() if not math.isfinite(value):
            return str(value)
        case Decimal() | Path() | datetime.date():
            return str(value)
        case bytes():
            return value.hex()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            return value


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text.rstrip("\n") + "\n")
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the flush at exit must not complain again
        raise typer.Exit(Exit.BROKEN_PIPE) from None
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding) + "\n")
