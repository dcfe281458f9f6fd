"""What the builder of rules has at hand: the text, the places in it, and the faults found so far."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from foreset.diagnostics import Diagnostic, Span
from foreset.ir.rules import DomainCall, Literal, SetOf
from foreset.ir.terms import Const, Term
from foreset.ir.types import BOOLEAN
from foreset.spec.lalr import Token
from foreset.spec.source import Passage

RIGHT_OPERATORS = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">=", ":=": "=", "=~": "="}
NOTHING = Const(0, BOOLEAN)  # stands in for a term that has a fault


@dataclass(slots=True)
class Work:
    """The text at hand, and the faults found in it."""

    passage: Passage
    faults: list[Diagnostic]
    file: str
    line: int  # of a passage on one line without escapes, else 0
    shift: int
    gathered: dict[str, SetOf] = field(default_factory=dict)  # short forms, by the variable that stands for each
    named: int = 0

    def fresh(self, word: str) -> str:
        """A name for a variable that the text does not have."""
        while True:
            self.named += 1
            if (name := f"{word}{self.named}") not in self.passage.text:
                return name

    def span(self, start: int, end: int) -> Span:
        """The place of `text[start:end]`."""
        if self.line:
            return Span(self.file, self.line, self.shift + start, end - start)
        return self.passage.span(start, end)


def work_on(passage: Passage) -> Work:
    first = passage.span(0, 0)
    one_line = passage.offsets is None and "\n" not in passage.text and "\r" not in passage.text
    return Work(passage, [], first.file, first.line if one_line else 0, first.column)


WORK: ContextVar[Work] = ContextVar("work")


class Argument(NamedTuple):
    """`name=term` among arguments."""

    name: str
    term: Term
    span: Span


class Called(NamedTuple):
    """`name(arguments)`: a relation or a function, as its place will tell."""

    name: str
    args: tuple[Term, ...]
    columns: tuple[str, ...] | None
    span: Span
    token: Token


def through(first: Span, last: Span) -> Span:
    """From the start of `first` to the end of `last`, as far as its line goes."""
    if first.line != last.line:
        return first
    return Span(first.file, first.line, first.column, last.column + last.width - first.column)


def place(token: Token) -> Span:
    return WORK.get().span(token.start, token.end)


def fault(diagnostic: Diagnostic) -> Const:
    WORK.get().faults.append(diagnostic)
    return replace(NOTHING, span=diagnostic.span)


def constant(found: Const | Diagnostic) -> Const:
    return found if isinstance(found, Const) else fault(found)


def at(node: Term | Literal | SetOf | DomainCall) -> Span:
    assert node.span is not None
    return node.span


def begun(_: object, parts: list[Any]) -> list[Any]:
    """The first of a list, as a method of the builder."""
    return parts


def more(_: object, parts: list[Any]) -> list[Any]:
    """One more of it: the list so far and what follows; it grows in place, since rules can be long."""
    before: list[Any] = parts[0]
    before.append(parts[1])
    return before
