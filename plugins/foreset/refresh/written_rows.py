"""Rows of a view as people write them: `a, 3`, `view("a", 3)`, `vader, [palpatine, yoda]`.

Text may stand without quotes; in quotes, of either kind and with the escapes of rules, it is what it says: `"NULL"` is
a text, and so is `" padded"`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foreset.errors import UsageError
from foreset.ir.program import Column, View
from foreset.ir.terms import Row, Value
from foreset.ir.types import STRING, Type
from foreset.ir.values import Misfit, coerce

_WORDS: dict[str, Value] = {"true": True, "false": False}
_AMBIGUOUS = re.compile(r"""[,\[\]"']|^null$""", re.IGNORECASE)
_MOMENT = re.compile(r"""(?:date|timestamp|timestamp_ntz)\(["'](.*)["']\)""")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def row_of(view: View, given: str | Sequence[object] | Mapping[str, object]) -> Row:
    """A row of a view from text (`a, 3`, `view("a", 3)`), from values in order, or from values by column."""
    values: Sequence[object]
    if isinstance(given, str):
        values = _paired(view, _read(view, given))
    elif isinstance(given, Mapping):
        names = [column.name for column in view.columns]
        if set(given) != set(names):
            raise UsageError(f"`{view.name}` has the columns {', '.join(names)}", "give one value for each column")
        values = [given[name] for name in names]
    else:
        values = _paired(view, given)
    return tuple(_taken(value, column) for value, column in zip(values, view.columns, strict=True))


def _paired(view: View, values: Sequence[Any]) -> Sequence[Any]:
    """The values, one for each column."""
    if len(values) != len(view.columns):
        names = ", ".join(column.name for column in view.columns)
        hint = f"give a value for each of its columns, in their order: {names}"
        raise UsageError(f"`{view.name}` has {len(view.columns)} columns, but the row has {len(values)}", hint)
    return values


def _taken(value: object, column: Column) -> Value:
    try:
        return coerce(value, column.type)
    except Misfit as misfit:
        raise UsageError(f"column {column.name}: {misfit}", f"it holds {column.type}") from misfit


# ---------------------------------------------------------------- text
def _read(view: View, text: str) -> list[object]:
    """The values in a text; the view's name and the parentheses around them may be there or not."""
    whole = text.strip()
    inner = whole.removeprefix(view.name).lstrip()
    kinds = tuple(column.type for column in view.columns)
    if inner.startswith("(") and inner.endswith(")"):
        found = _Reader(inner[1:-1], kinds).values()
        if len(found) == len(kinds):
            return found
    return _Reader(whole, kinds).values()


@dataclass(slots=True)
class _Reader:
    """Reads values from left to right; what a bracket means depends on the type of the column."""

    text: str
    kinds: tuple[Type, ...]
    at: int = 0

    def values(self) -> list[object]:
        """All values."""
        if not self.text.strip():
            return []
        found: list[object] = []
        while True:
            found.append(self._value(self.kinds[len(found)] if len(found) < len(self.kinds) else STRING, ","))
            if not self._took(","):
                self._need_end(found)
                return found

    def _value(self, kind: Type, ends: str) -> object:
        self._skip()
        if kind.element is not None and self._took("["):
            return self._items(kind.element)
        if self._next() in ('"', "'"):
            return _as_kind(self._quoted(), kind)
        start = self.at
        while self._next() and self._next() not in ends:
            self.at += 1
        return _as_kind(self.text[start : self.at].strip(), kind, bare=True)

    def _items(self, kind: Type) -> list[object]:
        found: list[object] = []
        self._skip()
        if self._took("]"):
            return found
        while True:
            found.append(self._value(kind, ",]"))
            self._skip()
            if self._took("]"):
                return found
            if not self._took(","):
                raise self._fault("expected `,` or `]`")

    def _quoted(self) -> str:
        quote, start = self._next(), self.at
        self.at += 1
        found = ""
        while char := self._next():
            self.at += 1
            if char == quote and self._next() != quote:
                return found
            if char == quote:
                self.at += 1
            elif char == "\\" and self._next() in _ESCAPES:
                char = _ESCAPES[self._next()]
                self.at += 1
            found += char
        self.at = start
        raise self._fault(f"the {quote} is never closed")

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip(self) -> None:
        while self._next().isspace():
            self.at += 1

    def _took(self, char: str) -> bool:
        self._skip()
        there = self._next() == char
        self.at += there
        return there

    def _need_end(self, found: Sequence[object]) -> None:
        self._skip()
        if self._next():
            raise self._fault(f"expected `,` after value {len(found)}")

    def _fault(self, what: str) -> UsageError:
        hint = "write the values in order, as 'a, 3, NULL'; put quotes around text with commas, and [ ] around a set"
        return UsageError(f"`{self.text}` is not a row: {what}, at character {self.at + 1}", hint)


def _as_kind(text: str, kind: Type, *, bare: bool = False) -> object:
    """A word of the command line as YAML would have it, for a column of this type."""
    if bare and text.upper() == "NULL":
        return None
    if kind.name == "boolean":
        return _WORDS.get(text.lower(), text)
    if kind.is_integral:
        return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else text
    if kind.is_fractional:
        try:
            return float(text)
        except ValueError:
            return text
    moment = _MOMENT.fullmatch(text) if bare and kind.is_temporal else None
    return moment[1] if moment else text


# ---------------------------------------------------------------- and as they are shown
def shown(value: object) -> str:
    """A value as a table of the command line shows it; a set in brackets, so that it can be asked about."""
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_item, value))}]"
    return str(value)


def _item(value: object) -> str:
    text = shown(value)
    if not isinstance(value, str) or (text == text.strip() != "" and not _AMBIGUOUS.search(text)):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
