"""Scalars as rules and as test values.

A rule is read from the characters of the file, not from YAML's value: so line
ends stay line ends in every style (a `%` comment ends where the eye sees it end),
and an offset in the rule is an offset in the file, except where a quoted scalar
has escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from foreset.spec.source import Passage
from foreset.spec.yaml_nodes import Items, Node, Scalar

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}
_JOINT = re.compile(r"(\r\n|\r|\n)[ \t]*")  # an escaped line end joins two lines, without the indent
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}


def passage_of(node: Scalar) -> Passage:
    """The text of `node` with the place of each of its characters."""
    text = node.source.text
    match node.style:
        case "plain":
            return Passage(node.source, text[node.start : node.end], node.start)
        case "single" | "double":
            return _quoted(node)
        case "literal" | "folded":
            return _block(node)


def _quoted(node: Scalar) -> Passage:
    start, end = node.start + 1, node.end - 1
    raw = node.source.text[start:end]
    if ("\\" if node.style == "double" else "''") not in raw:
        return Passage(node.source, raw, start)
    pairs = list(_doubled(raw) if node.style == "single" else _escaped(raw))
    offsets = (*(start + index for index, _ in pairs), end)
    return Passage(node.source, "".join(char for _, char in pairs), start, offsets)


def _doubled(raw: str) -> Iterator[tuple[int, str]]:
    """The characters of a single-quoted scalar: two quotes are one."""
    index = 0
    while index < len(raw):
        yield index, raw[index]
        index += 2 if raw[index] == "'" else 1


def _escaped(raw: str) -> Iterator[tuple[int, str]]:
    """The characters of a double-quoted scalar; YAML has checked its escapes already."""
    index = 0
    while index < len(raw):
        char = raw[index]
        if char != "\\":
            yield index, char
            index += 1
            continue
        kind = raw[index + 1]
        if digits := _CODES.get(kind):
            yield index, chr(int(raw[index + 2 : index + 2 + digits], 16))
            index += 2 + digits
        elif joint := _JOINT.match(raw, index + 1):
            index = joint.end()
        else:
            yield index, _ESCAPES[kind]
            index += 2


def _block(node: Scalar) -> Passage:
    """The lines below the bar: the value says how many, the file what is in them."""
    source = node.source
    first = source.line_of(node.start)  # the line after the bar, counted from 0
    lines = node.value.rstrip("\n").count("\n") + 1
    if not node.value.strip("\n") or first >= len(source.starts):
        return Passage(source, "", node.end)
    start = source.starts[first]
    last = first + lines
    end = source.starts[last] if last < len(source.starts) else len(source.text)
    return Passage(source, source.text[start:end].rstrip("\r\n"), start)


def plain_values(node: Node) -> object:
    """A scalar as `plain_value` reads it, a list as a tuple of such values, a mapping as it is."""
    match node:
        case Scalar():
            return plain_value(node)
        case Items(items=items):
            return tuple(plain_values(item) for item in items)
        case _:
            return node


def plain_value(node: Scalar) -> object:
    """The value of a cell: YAML 1.2's few plain forms, and text for all else.

    `no` and `on` are text (in YAML 1.1 they are flags, and Norway is false), and so are
    dates; fractions keep every digit.
    """
    text = node.value
    if node.style != "plain":
        return text
    if node.empty:
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text) and len(text) <= 100:
        return int(text)
    if text in _SPECIAL:
        return float(_SPECIAL[text])
    return Decimal(text) if len(text) <= 100 and _NUMBER.fullmatch(text) else text
