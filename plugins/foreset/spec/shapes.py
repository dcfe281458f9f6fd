"""Shapes: what may stand where in a spec, as data.

One declaration (model.py) has two readers: `read` below takes YAML nodes apart
and reports what does not fit, at its place; schema.py writes the JSON Schema
that editors use. We read nodes with this rather than feed plain values to
pydantic: positions stay at hand, every message is ours, and `foreset check`
saves the import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from foreset.diagnostics import Diagnostic, Report, Span
from foreset.spec import faults
from foreset.spec.yaml_nodes import Entries, Items, Node, Scalar

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
ASKED = re.compile(f"{NAME.pattern}(:{NAME.pattern})?")  # a relation, or a function of a domain
RESERVED = ("not", "setof", "true", "false", "null")
OPENING = ("in",)  # words that begin a literal: relations cannot have these names
Check = Callable[[Scalar, str], Diagnostic | None]  # a scalar and what it is called


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, or a number or flag taken as text."""

    pattern: str = ""  # for the JSON Schema; `check` is what decides
    choices: tuple[str, ...] = ()
    check: Check | None = None
    nullable: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Flag:
    """`true` or `false`."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value at all, checked by someone else; the schema has its words."""

    json_schema: tuple[tuple[str, object], ...] = ()
    check: Callable[[Node, str], Diagnostic | None] | None = None


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; `item` says what one of them is called."""

    item: Shape
    noun: str


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping from names to values, `noun` being what a name names."""

    value: Shape
    noun: str
    filled: str = ""  # the hint for an empty one, where it may not be empty


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a record."""

    name: str
    shape: Shape
    doc: str
    required: str = ""  # an example of it, where it must be there
    default: object = None


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with fixed keys."""

    noun: str
    keys: tuple[Key, ...]
    doc: str = ""
    one_of: tuple[str, ...] = ()  # exactly one of these; load.py refuses in words of its own
    any_of: tuple[str, ...] = ()  # at least one of these; likewise


@dataclass(frozen=True, slots=True)
class Brief:
    """A record, or no more than the value of its first key: `string` for `{type: string}`."""

    record: Record

    @property
    def first(self) -> Key:
        """The key whose value may stand alone."""
        return self.record.keys[0]


Shape = Text | Whole | Flag | Anything | ListOf | MapOf | Record | Brief


@dataclass(frozen=True, slots=True)
class Fields:
    """What a record or mapping gave, without the parts that do not fit."""

    span: Span
    values: dict[str, Read] = field(default_factory=dict)
    keys: dict[str, Scalar] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """The text under `name`."""
        found = self.values.get(name)
        return found.value if isinstance(found, Scalar) and not found.empty else default

    def span_of(self, name: str) -> Span:
        """Where the value of `name` stands; the record itself where there is none."""
        found = self.values.get(name)
        return found.span if isinstance(found, Scalar | Fields) else self.span

    def fields(self, name: str) -> Fields:
        """The mapping under `name`, empty where it is missing."""
        found = self.values.get(name)
        return found if isinstance(found, Fields) else Fields(self.span)

    def list(self, name: str) -> tuple[Read, ...]:
        """The list under `name`."""
        found = self.values.get(name)
        return found if isinstance(found, tuple) else ()

    def records(self) -> Iterator[tuple[Scalar, Fields]]:
        """Its entries that are records themselves."""
        for name, value in self.values.items():
            if isinstance(value, Fields):
                yield self.keys[name], value


Read = Scalar | Fields | Items | Entries | tuple["Read", ...]


def kind_of(node: Node) -> str:
    """What a node is, in a message."""
    match node:
        case Items():
            return "a list"
        case Entries():
            return "a mapping"
        case Scalar():
            return "empty" if node.empty else f"`{faults.shown(node.value)}`"


def names_of(noun: str) -> re.Pattern[str]:
    """What names of that kind are made of: unit tests speak of `domain:function` too."""
    return ASKED if noun == "relation" else NAME


def check_name(node: Scalar, what: str) -> Diagnostic | None:
    """Names have one alphabet."""
    if not names_of(what).fullmatch(node.value):
        return faults.bad_name(node.value, node.span, what)
    if node.value in RESERVED or (node.value in OPENING and what in ("source", "view")):
        return faults.reserved_name(node.value, node.span, what)
    return None


def read(node: Node, shape: Shape, where: str, report: Report, name: Scalar | None = None) -> Read | None:
    """What `node` gives under `shape`; None, with the fault in `report`, where it does not fit.

    `name` is its key, where it has one: what is missing is missing there.
    """
    match shape:
        case Text() | Whole() | Flag():
            return _read_scalar(node, shape, where, report)
        case Anything(check=check):
            fault = check(node, where) if check else None
            _noted(fault, report)
            return None if fault else node
        case ListOf():
            return _read_list(node, shape, where, report)
        case MapOf():
            return _read_map(node, shape, where, report)
        case Record():
            return _read_record(node, shape, where, report, name)
        case Brief():
            return _read_brief(node, shape, where, report, name)
        case _:
            assert_never(shape)


def _noted(fault: Diagnostic | None, report: Report) -> None:
    if fault:
        report.add(fault)


def _read_scalar(node: Node, shape: Text | Whole | Flag, where: str, report: Report) -> Scalar | None:
    fault = (
        _text_fault(node, shape, where)
        if isinstance(shape, Text)
        else _whole_fault(node, shape, where)
        if isinstance(shape, Whole)
        else _flag_fault(node, where)
    )
    _noted(fault, report)
    return None if fault or not isinstance(node, Scalar) else node


def _text_fault(node: Node, shape: Text, where: str) -> Diagnostic | None:
    if not isinstance(node, Scalar):
        hint = "quote a text that begins with `[` or `{`" if getattr(node, "flow", False) else ""
        return faults.wrong_kind(node.span, where, "text", kind_of(node), hint)
    if node.empty:
        return None if shape.nullable else faults.nothing_there(node.span, where, "write its value after the colon")
    if shape.choices and node.value not in shape.choices:
        return faults.bad_choice(node.value, node.span, where, shape.choices)
    return shape.check(node, where) if shape.check else None


def _whole_fault(node: Node, shape: Whole, where: str) -> Diagnostic | None:
    if not isinstance(node, Scalar) or node.style != "plain" or not re.fullmatch(r"[-+]?\d+", node.value):
        return faults.wrong_kind(node.span, where, "a whole number", kind_of(node))
    if len(node.value) > 20 or not shape.low <= int(node.value) <= shape.high:
        return faults.out_of_range(node.value, node.span, where, shape.low, shape.high)
    return None


def _flag_fault(node: Node, where: str) -> Diagnostic | None:
    if not isinstance(node, Scalar) or node.style != "plain" or node.value not in ("true", "false"):
        return faults.wrong_kind(node.span, where, "`true` or `false`", kind_of(node))
    return None


def _read_list(node: Node, shape: ListOf, where: str, report: Report) -> tuple[Read, ...] | None:
    if isinstance(node, Scalar) and node.empty:
        return ()
    if not isinstance(node, Items):
        hint = (
            "begin each item with `- `" if isinstance(node, Entries) else "write [a, b], or one item a line after `- `"
        )
        report.add(faults.wrong_kind(node.span, where, "a list", kind_of(node), hint))
        return None
    found = (read(item, shape.item, shape.noun, report) for item in node.items)
    return tuple(item for item in found if item is not None)


def _read_map(node: Node, shape: MapOf, where: str, report: Report) -> Fields | None:
    if isinstance(node, Scalar) and node.empty:
        node = Entries((), node.start, node.source)
    if not isinstance(node, Entries):
        report.add(faults.wrong_kind(node.span, where, "a mapping", kind_of(node), "write `name: ...`, one a line"))
        return None
    if shape.filled and not node.entries:
        report.add(faults.nothing_there(node.span, where, shape.filled))
    fields = Fields(node.span)
    for key, value in _whole_entries(node):
        fault = check_name(key, shape.noun)
        _noted(fault, report)
        if fault:
            continue
        found = read(value, shape.value, f"{shape.noun} `{key.value}`", report, key)
        fields.keys[key.value] = key
        if found is not None:
            fields.values[key.value] = found
    return fields


def _whole_entries(node: Entries) -> Iterator[tuple[Scalar, Node]]:
    """The entries without the second half of a type with a comma, which braces cut in two: it is no name."""
    cut = False
    for key, value in node.entries:
        half = cut and key.value.rstrip().endswith(")")
        cut = isinstance(value, Scalar) and "(" in value.value and ")" not in value.value
        if not half:
            yield key, value


def _read_brief(node: Node, shape: Brief, where: str, report: Report, at: Scalar | None) -> Fields | None:
    if isinstance(node, Entries):
        return _read_record(node, shape.record, where, report, at)
    found = read(node, shape.first.shape, where, report)
    if found is None or not isinstance(node, Scalar):
        return None
    return Fields(node.span, {shape.first.name: found}, {shape.first.name: at or node})


def _read_record(node: Node, shape: Record, where: str, report: Report, at: Scalar | None) -> Fields | None:
    if isinstance(node, Scalar) and node.empty:
        node = Entries((), node.start, node.source)
    if not isinstance(node, Entries):
        hint = f"write `{shape.keys[0].name}: ...`, one key a line"
        report.add(faults.wrong_kind(node.span, where, "a mapping", kind_of(node), hint))
        return None
    known = {key.name: key for key in shape.keys}
    fields = Fields(node.span)
    for name, value in _whole_entries(node):
        key = known.get(name.value)
        if key is None:
            report.add(faults.unknown_key(name.value, name.span, where, tuple(known)))
            continue
        fields.keys[name.value] = name
        found = read(value, key.shape, f"`{key.name}` of {where}" if shape.noun else f"`{key.name}`", report)
        if found is not None:
            fields.values[name.value] = found
    for key in shape.keys:
        if key.required and key.name not in fields.keys:
            report.add(faults.missing_key(key.name, (at or node).span, where, key.required))
    return fields
