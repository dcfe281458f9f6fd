"""Diagnostics as people and programs read them: text, JSON, and annotations of GitHub.

Pure functions: whoever prints decides on colour. `sources` gives the text of a
file by its name; a file that is not in it is shown without its line.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from foreset.diagnostics import Diagnostic, Severity, Span

MAX_WIDTH = 110
TAB = 4


def render_text(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Each fault with its place, the line with a caret, and the hint; empty where there is none."""
    lines = {file: _lines_of(text) for file, text in sources.items()}
    return "".join(_as_text(diagnostic, lines.get(diagnostic.file, ())) for diagnostic in diagnostics)


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A list of objects, one for each fault, in the order given."""
    return json.dumps([as_mapping(diagnostic) for diagnostic in diagnostics], indent=2, ensure_ascii=False)


def as_mapping(diagnostic: Diagnostic) -> dict[str, str | int]:
    """The public form of a fault."""
    return {
        "severity": str(diagnostic.severity),
        "code": diagnostic.code,
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, which GitHub shows beside the changed lines."""
    return "".join(_as_command(diagnostic) for diagnostic in diagnostics)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    found = [diagnostic.severity for diagnostic in diagnostics]
    counts = ((found.count(severity), str(severity)) for severity in Severity)
    return ", ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word in counts if n) or "no faults"


# ---------------------------------------------------------------- text
def _lines_of(text: str) -> tuple[str, ...]:
    return tuple(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _as_text(diagnostic: Diagnostic, lines: tuple[str, ...]) -> str:
    span = diagnostic.span
    place = f"{_clean(span.file)}:{span.line}:{span.column}"
    text = f"{place}: {diagnostic.severity}[{diagnostic.code}]: {_clean(diagnostic.message)}\n"
    if 0 < span.line <= len(lines) and lines[span.line - 1].strip():
        text += _excerpt(lines[span.line - 1], span)
    text += "".join(f"  = note: {_clean(note)}\n" for note in diagnostic.notes)
    return text + (f"  = hint: {_clean(diagnostic.hint)}\n" if diagnostic.hint else "")


def _excerpt(line: str, span: Span) -> str:
    """The line and its caret, cut around the caret where the line is long."""
    start = min(span.column - 1, len(line))
    end = min(start + max(1, span.width), max(len(line), start + 1))
    near = 2 * MAX_WIDTH  # of a line as long as a file only what can be seen is looked at
    parts = line[max(0, start - near) : start], line[start : min(end, start + near)], line[end : end + near]
    before, marked, after = (_shown(part) for part in parts)
    room = MAX_WIDTH - min(_width(marked), MAX_WIDTH // 2)
    if _width(before) + _width(marked) + _width(after) > MAX_WIDTH:
        keep = min(_width(before), max(room // 2, room - _width(after)))
        before = _last(before, keep)
        marked = _first(marked, MAX_WIDTH // 2)
        after = _first(after, max(0, room - _width(before)))
    caret = " " * _width(before) + "^" * max(1, _width(marked))
    return f"  | {(before + marked + after).rstrip()}\n  | {caret}\n"


def _shown(text: str) -> str:
    """`text` without tabs, and with control characters as boxes, one for each."""
    return "".join(" " * TAB if char == "\t" else _clean_char(char) for char in text)


def _clean(text: str) -> str:
    """`text` on one line and without control characters: a terminal obeys them."""
    return "".join(_clean_char(char) for char in text)


def _clean_char(char: str) -> str:
    return "\ufffd" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char


def _width(text: str) -> int:
    """The number of cells of a terminal: two for a wide character, none for one that joins."""
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _first(text: str, cells: int) -> str:
    """The beginning of `text`, with dots where it is cut."""
    if _width(text) <= cells:
        return text
    taken, used = [], 3
    for char in text:
        used += _cells(char)
        if used > cells:
            break
        taken.append(char)
    return "".join(taken) + "..."


def _last(text: str, cells: int) -> str:
    """The end of `text`, with dots where it is cut."""
    return text if _width(text) <= cells else _first(text[::-1], cells)[::-1]


# ---------------------------------------------------------------- GitHub
def _as_command(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    properties = {
        "file": span.file,
        "line": span.line,
        "col": span.column,
        "endColumn": span.column + max(1, span.width),
        "title": diagnostic.code,
    }
    listed = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items())
    hint = f"\nhint: {diagnostic.hint}" if diagnostic.hint else ""
    return f"::{diagnostic.severity} {listed}::{_escaped(diagnostic.message + hint)}\n"


def _escaped(text: str, more: str = "") -> str:
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def visible(text: str) -> str:
    """`text` without the control characters that a terminal would obey."""
    return "".join(char if char in "\n\t" or char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A small table for notebooks; nothing in it is markup."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><b>{escape(title)}</b><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>"


class Shown(str):
    """A text of several lines that shells and notebooks show as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"
