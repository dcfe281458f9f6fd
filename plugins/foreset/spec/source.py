"""The text of one spec file, and the way from an offset in it to a line and a column.

Every node and token keeps offsets into this text and nothing else, so that the
three ways of writing a rule in YAML (plain, quoted, block) share one way to a
position. Columns count characters; the caret of a stretch over several lines
ends with its first line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from foreset.diagnostics import Span

_LINE_END = re.compile(r"\r\n|\n|\r")


def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file as the user named it."""

    file: str
    text: str
    starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", _line_starts(self.text))

    def span(self, start: int, end: int) -> Span:
        """The place of `text[start:end]`."""
        line = bisect_right(self.starts, start)
        first = self.starts[line - 1]
        if line < len(self.starts) and end >= self.starts[line]:
            end = max(start, first + len(self.line(line)))
        return Span(self.file, line, start - first + 1, max(1, end - start))

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        after = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : after].rstrip("\r\n")

    def line_of(self, offset: int) -> int:
        """The 1-based line in which `offset` lies."""
        return bisect_right(self.starts, offset)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text inside a YAML scalar, and where each of its characters stands in the file.

    `offsets` is None where the passage is a plain stretch of the file; it lists the place of
    every character (and of the end) where escapes make the two differ.
    """

    source: SourceText
    text: str
    start: int
    offsets: tuple[int, ...] | None = None

    def at(self, index: int) -> int:
        """The offset in the file of the character at `index` of the passage."""
        return self.start + index if self.offsets is None else self.offsets[index]

    def span(self, start: int, end: int) -> Span:
        """The place in the file of `text[start:end]`."""
        return self.source.span(self.at(start), self.at(end))

    def part(self, start: int, end: int) -> Passage:
        """The passage of `text[start:end]`."""
        offsets = None if self.offsets is None else self.offsets[start : end + 1]
        return Passage(self.source, self.text[start:end], self.at(start), offsets)
