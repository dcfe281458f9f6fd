"""Typed records as JSON and back: a record is a frozen dataclass, and its fields are the keys, in their order.

A key that is missing takes the field's default: records of earlier releases lack what came later. A key that no field
knows is left aside: it is of a later release of the same format, and nobody writes over what another has noted.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from foreset.records import versioned

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
Reader = Callable[[Any], Any]
# Metadata of fields that are no null while they are None: one has no key then, one is an empty mapping.
LEFT_OUT, EMPTY = {"none": "left out"}, {"none": "empty"}


class Misread(ValueError):
    """A record does not say what it must; names the record and the field."""

    def __init__(self, fact: str, field: str = "", what: str = "the record") -> None:
        super().__init__(f"{what}: {f'`{field}` ' if field else 'it '}{fact}")
        self.fact, self.field = fact, field

    def within(self, key: str) -> Misread:
        """The same fault, seen from the record around."""
        return Misread(self.fact, f"{key}.{self.field}" if self.field else key)


def to_text(record: DataclassInstance) -> str:
    """A record as it is kept, with its format."""
    return versioned.to_text(to_plain(record))


def from_text(kind: type[R], text: str, what: str) -> R:
    """A record as it was kept; ValueError where it is none, or is damaged."""
    return from_plain(kind, versioned.from_text(text, what), what)


def to_plain(record: DataclassInstance | None) -> dict[str, Any]:
    """A record as JSON holds it; what is not there is empty."""
    found: dict[str, Any] = {}
    if record is None:
        return found
    for name, none in _keys(type(record)):
        if (value := getattr(record, name)) is not None:
            found[name] = _plain(value)
        elif none != LEFT_OUT["none"]:
            found[name] = {} if none else None
    return found


def from_plain(kind: type[R], data: object, what: str) -> R:
    """A record from what JSON holds; `what` names it in a fault."""
    try:
        return _record(kind, data)
    except Misread as fault:
        raise Misread(fault.fact, fault.field, what) from None


# ---------------------------------------------------------------- writing
def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    if value is None or type(value) in _NAMED:
        return value
    if isinstance(value, (dict, Mapping)):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    return to_plain(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


@functools.cache
def _keys(kind: type[DataclassInstance]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.metadata.get("none", "")) for field in dataclasses.fields(kind))


# ---------------------------------------------------------------- reading
def _record(kind: type[R], data: object) -> R:
    if not isinstance(data, (dict, Mapping)):
        raise Misread("is no record")
    readers, needed = _readers(kind)
    values = {}
    for key, value in data.items():
        if (reader := readers.get(key)) is not None:
            try:  # not in a function of its own: the history of a group has thousands of values
                values[key] = reader(value)
            except Misread as fault:
                raise fault.within(key) from None
    for name in needed:
        if name not in values:
            raise Misread("is missing", name)
    return kind(**values)


@functools.cache
def _readers(kind: type[DataclassInstance]) -> tuple[Mapping[str, Reader], tuple[str, ...]]:
    """The readers of a record's fields by name, and the fields without a default."""
    hints, fields = get_type_hints(kind), dataclasses.fields(kind)
    missing = dataclasses.MISSING
    needed = tuple(field.name for field in fields if field.default is missing and field.default_factory is missing)
    readers = {name: _reader(hints[name]) for name, _ in _keys(kind)}
    readers |= {name: _unless_empty(readers[name]) for name, none in _keys(kind) if none == EMPTY["none"]}
    return readers, needed


def _reader(hint: Any) -> Reader:  # noqa: ANN401 - a type as it is written
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _either([one for one in args if one is not types.NoneType])
    if origin is tuple:
        return functools.partial(_sequence, _reader(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return functools.partial(_mapping, _reader(args[1]))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return functools.partial(_record, hint)
    if hint in _NAMED:
        return functools.partial(_scalar, hint)
    assert hint in (Any, object), f"{hint} has no form in JSON"
    return _as_it_is


def _either(hints: list[Any]) -> Reader:
    (only,) = hints
    inner = _reader(only)
    return lambda value: None if value is None else inner(value)


def _unless_empty(inner: Reader) -> Reader:
    return lambda value: inner(value) if value else None


def _as_it_is(value: object) -> object:
    return value


_NAMED = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _scalar(kind: type, value: object) -> object:
    """A text, number or truth value as it is: a whole number may stand for any number, and truth is no number."""
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    raise Misread(f"is {value!r}, not {_NAMED[kind]}")


def _sequence(inner: Reader, value: object) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise Misread(f"is {value!r}, not a list")
    return tuple(_each(inner, enumerate(value)).values())


def _mapping(inner: Reader, value: object) -> dict[str, Any]:
    if not isinstance(value, (dict, Mapping)):
        raise Misread(f"is {value!r}, not a mapping")
    return _each(inner, value.items())


def _each(inner: Reader, entries: Iterable[tuple[Any, object]]) -> dict[Any, Any]:
    found = {}
    for key, value in entries:
        try:
            found[key] = inner(value)
        except Misread as fault:
            raise fault.within(str(key)) from None
    return found
