"""YAML to nodes that know where they stand.

Only the plain part of YAML is taken: one document, mappings, lists and scalars.
Tags, anchors and aliases are refused (they are how YAML runs code and grows
bombs), and so are depth beyond 20, duplicate keys and files beyond 1 MB. The
nodes are built here from parser events, not by PyYAML's composer, so that the
limits hold before anything grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import yaml

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.spec import faults
from foreset.spec.source import SourceText

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
Style = Literal["plain", "single", "double", "literal", "folded"]

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STYLES: dict[str | None, Style] = {"'": "single", '"': "double", "|": "literal", ">": "folded"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, flag or nothing: YAML does not say which before `style` is seen."""

    value: str
    style: Style
    start: int
    end: int
    source: SourceText

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.source.span(self.start, self.end)

    @property
    def empty(self) -> bool:
        """True where nothing is written, or a null."""
        return self.style == "plain" and self.value in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `flow` where it is written in brackets."""

    items: tuple[Node, ...]
    flow: bool
    start: int
    source: SourceText

    @property
    def span(self) -> Span:
        """Where it begins."""
        return self.source.span(self.start, self.start + 1)


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping in the order of the file; keys are texts and differ from each other."""

    entries: tuple[tuple[Scalar, Node], ...]
    start: int
    source: SourceText

    @property
    def span(self) -> Span:
        """Where it begins: its first key, if it has one."""
        return self.entries[0][0].span if self.entries else self.source.span(self.start, self.start + 1)

    def get(self, key: str) -> Node | None:
        """The value of `key`."""
        return next((value for name, value in self.entries if name.value == key), None)


Node = Scalar | Items | Entries


class _RefusedError(Exception):
    """Reading cannot go on; the fault is in the report."""


def compose(source: SourceText, report: Report) -> Node | None:
    """The only document of `source`; None, with the faults in `report`, where there is none to read."""
    try:
        return _document(_Reader(source, report))
    except _RefusedError:
        return None
    except yaml.MarkedYAMLError as error:
        report.add(_syntax_fault(error, source))
    except yaml.reader.ReaderError as error:
        report.add(faults.bad_character(source.span(_reader_offset(error, source), 0)))
    except UnicodeEncodeError as error:
        report.add(faults.bad_character(source.span(error.start, error.end)))
    return None


def _syntax_fault(error: yaml.MarkedYAMLError, source: SourceText) -> Diagnostic:
    problem = error.problem or ""
    began = "unexpected end of stream" in problem or "could not find expected ':'" in problem
    mark = error.context_mark if began and error.context_mark else error.problem_mark or error.context_mark
    index = min(mark.index if mark else 0, len(source.text))
    while index and index >= len(source.text) - 1 and source.text[index - 1 : index].isspace():
        index -= 1  # a fault at the end of the file belongs to its last line with text
    line = source.line(source.line_of(index))
    return faults.yaml_syntax(source.span(index, index + 1), problem, error.context or "", line)


def _reader_offset(error: yaml.reader.ReaderError, source: SourceText) -> int:
    wanted = error.character if isinstance(error.character, str) else chr(int(error.character))
    found = source.text.find(wanted)
    return max(0, found)


class _Reader:
    """The events of a text, one at a time, with the limits checked on the way."""

    def __init__(self, source: SourceText, report: Report) -> None:
        self.source = source
        self.report = report
        self.depth = 0
        self._events: Iterator[yaml.Event] = yaml.parse(source.text, Loader=_LOADER)

    def next(self) -> yaml.Event:
        """The next event, without tag, anchor or alias."""
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent):
            raise self.refuse(faults.alias(self.span(event), event.anchor or ""))
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            raise self.refuse(faults.alias(self.span(event), event.anchor))
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            start, _ = _marks(event)
            raise self.refuse(faults.tag(self.span(event), self.source.text[start : start + 100].split()[0]))
        return event

    def span(self, event: yaml.Event) -> Span:
        """Where `event` is written."""
        start, end = _marks(event)
        return self.source.span(start, max(end, start + 1))

    def refuse(self, fault: Diagnostic) -> _RefusedError:
        """Note the fault that ends the reading."""
        self.report.add(fault)
        return _RefusedError()


def _marks(event: yaml.Event) -> tuple[int, int]:
    start, end = event.start_mark, event.end_mark
    assert start is not None
    assert end is not None
    return start.index, end.index


def _document(reader: _Reader) -> Node | None:
    reader.next()  # the stream starts
    event = reader.next()
    if isinstance(event, yaml.StreamEndEvent):
        raise reader.refuse(faults.empty_file(Span(reader.source.file, 1, 1)))
    node = _node(reader, reader.next())
    reader.next()  # the document ends
    event = reader.next()
    if isinstance(event, yaml.DocumentStartEvent):
        raise reader.refuse(faults.several_documents(reader.span(event)))
    if isinstance(node, Scalar) and node.empty:
        raise reader.refuse(faults.empty_file(Span(reader.source.file, 1, 1)))
    return node


def _node(reader: _Reader, event: yaml.Event) -> Node:
    (start, end), source = _marks(event), reader.source
    if isinstance(event, yaml.ScalarEvent):
        return Scalar(event.value, _STYLES.get(event.style, "plain"), start, end, source)
    if reader.depth == MAX_DEPTH:
        raise reader.refuse(faults.too_deep(reader.span(event), MAX_DEPTH))
    reader.depth += 1
    node: Node
    if isinstance(event, yaml.SequenceStartEvent):
        node = Items(tuple(_items(reader)), bool(event.flow_style), start, source)
    else:
        node = Entries(tuple(_entries(reader)), start, source)
    reader.depth -= 1
    return node


def _items(reader: _Reader) -> Iterator[Node]:
    while not isinstance(event := reader.next(), yaml.SequenceEndEvent):
        yield _node(reader, event)


def _entries(reader: _Reader) -> Iterator[tuple[Scalar, Node]]:
    seen: dict[str, Scalar] = {}
    while not isinstance(event := reader.next(), yaml.MappingEndEvent):
        key = _node(reader, event)
        value = _node(reader, reader.next())
        if not isinstance(key, Scalar):
            reader.report.add(faults.key_is_not_text(key.span))
        elif key.value in seen:
            reader.report.add(faults.duplicate_key(key.value, key.span, seen[key.value].span.line))
        else:
            seen[key.value] = key
            yield key, value
