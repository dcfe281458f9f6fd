"""Cuts a block of text into rules at their dots.

A dot ends a rule unless it stands between two word characters (`1.5`) or inside
a text constant or a comment. Cutting comes before parsing, so that a fault in one
rule leaves the others readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foreset.spec.source import Passage

_TEXT = r'"(?:[^"\\\r\n]|\\.|"")*"' + r"|'(?:[^'\\\r\n]|\\.|'')*'"
# An operand of the remainder operator, as rules.lark has it: such a `%` starts no comment.
_REMAINDER = (
    r"(?<=[\w)])[ \t]*%(?=[ \t]*-?[ \t]*(?:\(|[a-z][a-z0-9_]*[ \t]*\("
    r"|(?:[0-9][0-9.]*|[A-Z_][A-Za-z0-9_]*)[ \t]*(?:[-,.)=<>!+*/%;|&}]|[\r\n]|$)))"
)
_SPLIT = re.compile(
    rf"(?P<skip>{_TEXT}|{_REMAINDER}|%[^\r\n]*|(?<=\w)\.(?=\w))|(?P<dot>\.)",
    re.ASCII,
)
_BLANK = re.compile(r"(?:\s|%[^\r\n]*)*")


def split_rules(passage: Passage) -> Iterator[tuple[Passage, bool]]:
    """Each rule in `passage` without its dot, and whether it had one; blank stretches give nothing."""
    start = 0
    for match in _SPLIT.finditer(passage.text):
        if match["dot"]:
            yield from _unless_blank(passage, start, match.start(), dotted=True)
            start = match.end()
    yield from _unless_blank(passage, start, len(passage.text), dotted=False)


def _unless_blank(passage: Passage, start: int, end: int, *, dotted: bool) -> Iterator[tuple[Passage, bool]]:
    blank = _BLANK.match(passage.text, start, end)
    if dotted or blank is None or blank.end() < end:
        yield passage.part(start, end), dotted
