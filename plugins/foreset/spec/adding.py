"""A source added to the text of a spec: comments and layout of what is there stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from foreset.diagnostics import Report
from foreset.errors import UsageError
from foreset.ir.types import Type
from foreset.spec.source import SourceText
from foreset.spec.yaml_nodes import Entries, Node, Scalar, compose

WIDTH = 100  # of a line of columns, before each gets a line of its own
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class NewSource:
    """A table as a source."""

    name: str
    table: str
    columns: Mapping[str, Type]
    key: Sequence[str] = ()
    left_out: Sequence[str] = ()  # columns that rules cannot read, in words

    def lines(self) -> list[str]:
        """Its entry below `sources:`, without indentation."""
        flow = f"columns: {{{', '.join(f'{name}: {_text(str(kind))}' for name, kind in self.columns.items())}}}"
        columns = [f"  {flow}"]
        if len(flow) > WIDTH:
            columns = ["  columns:", *(f"    {name}: {_text(str(kind))}" for name, kind in self.columns.items())]
        key = [f"  key: [{', '.join(self.key)}]"] if self.key else []
        return [f"{self.name}:", f"  table: {_text(self.table)}", *columns,
                *(f"  # left out: {one}" for one in self.left_out), *key]  # fmt: skip


def with_source(text: str, file: str, new: NewSource) -> str:
    """The text with one more source; `UsageError` where it cannot be read."""
    report = Report()
    node = compose(SourceText(file, text), report)
    if not isinstance(node, Entries):
        raise UsageError(f"{file} cannot be read", f"`foreset check {file}` says why; correct it first")
    sources = node.get("sources")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.rstrip(newline).split(newline)
    if isinstance(sources, Entries) and text.startswith("{", sources.start):
        return _in_braces(text, file, sources, new)
    key = next((key for key, _ in node.entries if key.value == "sources"), None)
    if key is None:
        at = _line_of(node, "views", text)
        block = ["sources:", *(f"  {line}" for line in new.lines()), ""]
        at = len(lines) if at is None else _above_comments(lines, at)
        lines[at:at] = block if at < len(lines) else ["", *block[:-1]]
    else:
        indent = sources.entries[0][0].span.column - 1 if isinstance(sources, Entries) and sources.entries else 2
        at = _end_of(lines, key.span.line, node, key)
        between = [""] if _spaced(lines, sources) else []
        lines[at:at] = [*between, *(f"{' ' * indent}{line}" for line in new.lines())]
    return newline.join(lines) + newline


def first_spec(group: str, new: NewSource, schema: str = "") -> str:
    """A whole spec with one source, and a first view that works as it stands."""
    shown = [*new.key, *(name for name in new.columns if name not in new.key)][:3]
    names = [_variable(name) for name in shown]
    columns = ", ".join(f"{name}: {_text(str(new.columns[name]))}" for name in shown)
    view = f"{new.name}_view"[:63]
    read = ", ".join(f"{column}={variable}" for column, variable in zip(shown, names, strict=True))
    lines = [
        *([f"# yaml-language-server: $schema={schema}"] if schema else []),
        f"group: {group}",
        "",
        "sources:",
        *(f"  {line}" for line in new.lines()),
        "",
        "views:",
        "  # A first view: it holds what its rules derive. Change it: other columns, conditions as `X > 3`, joins.",
        f"  {view}:",
        f"    columns: {{{columns}}}",
        "    rules:",
        f"      - {view}({', '.join(names)}) :- {new.name}({read})",
    ]
    return "\n".join(lines) + "\n"


def _variable(column: str) -> str:
    return "".join(part.capitalize() for part in column.split("_")) or "X"


def _text(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def _spaced(lines: Sequence[str], sources: Node | None) -> bool:
    """Whether a line is left free between the sources that are there."""
    if not isinstance(sources, Entries) or len(sources.entries) < 2:
        return False
    return not lines[sources.entries[1][0].span.line - 2].strip()


def _line_of(node: Entries, name: str, text: str) -> int | None:
    """The place in the lines of a key at the top."""
    for key, _ in node.entries:
        if key.value == name:
            return text[: key.start].count("\n")
    return None


def _above_comments(lines: Sequence[str], at: int) -> int:
    while at and lines[at - 1].startswith("#"):
        at -= 1
    return at


def _end_of(lines: Sequence[str], first: int, node: Entries, key: Scalar) -> int:
    """Behind the last line of what stands under a key at the top; comments at the margin belong to what follows."""
    following = [one.span.line - 1 for one, _ in node.entries if one.span.line > key.span.line]
    at = min(following, default=len(lines))
    while at > first and (not lines[at - 1].strip() or lines[at - 1].startswith("#")):
        at -= 1
    return at


def _in_braces(text: str, file: str, sources: Entries, new: NewSource) -> str:
    end = next(_closing(text, sources.start), None)
    if end is None:
        raise UsageError(
            f"`sources` of {file} has an opening brace but no closing one", "write each source on its own line"
        )
    columns = ", ".join(f"{name}: {_text(str(kind))}" for name, kind in new.columns.items())
    key = f", key: [{', '.join(new.key)}]" if new.key else ""
    entry = f"{new.name}: {{table: {_text(new.table)}, columns: {{{columns}}}{key}}}"
    comma = ", " if sources.entries else ""
    return f"{text[:end].rstrip()}{comma}{entry}{text[end:]}"


def _closing(text: str, start: int) -> Iterator[int]:
    """The brace that closes the one at `start`, quotes and comments aside."""
    depth, quote, comment = 0, "", False
    for place in range(start, len(text)):
        char = text[place]
        if comment:
            comment = char != "\n"
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#" and text[place - 1].isspace():
            comment = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if not depth:
                yield place
                return
