"""What a domain said, brought into the types that its declaration names, and as text that reads back."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from foreset.domains.provider import DomainFailed
from foreset.ir.domains import DomainFunction
from foreset.ir.program import Column
from foreset.ir.terms import Row, Value
from foreset.ir.types import Type
from foreset.ir.values import Misfit, coerce, sort_key

_ANY_BYTES = ("utf-8", "surrogateescape")  # bytes that are no text go into JSON and come back too


def typed(function: DomainFunction, answer: Iterable[object]) -> tuple[Row, ...]:
    """The rows of one answer, each once, in order; DomainFailed where one is not what was declared."""
    found: set[Row] = set()
    try:
        for number, item in enumerate(answer):
            if number >= function.max_rows:
                raise DomainFailed(
                    f"`{function.name}` answered more than {function.max_rows:,} rows", "raise `max_rows:`"
                )
            found.add(_row(function, item))
    except TypeError:
        raise DomainFailed(f"`{function.name}` did not answer with rows", "it has to return a list") from None
    return tuple(sorted(found, key=sort_key))


def _row(function: DomainFunction, item: object) -> Row:
    columns = function.results
    if not columns:
        return ()
    if isinstance(item, Mapping):
        missing = [column.name for column in columns if column.name not in item]
        if missing:
            raise DomainFailed(f"`{function.name}` answered a record without `{missing[0]}`", "declare what it answers")
        values: Sequence[object] = [item[column.name] for column in columns]
    elif isinstance(item, Sequence) and not isinstance(item, str | bytes):
        values = item
    else:
        values = (item,)
    if len(values) != len(columns):
        raise DomainFailed(
            f"`{function.name}` answered {len(values)} values for {len(columns)} columns", "declare each column"
        )
    return tuple(_value(function, column, value) for column, value in zip(columns, values, strict=True))


def _value(function: DomainFunction, column: Column, value: object) -> Value:
    try:
        return coerce(_written(value, column.type), column.type)
    except (Misfit, OverflowError) as misfit:
        raise DomainFailed(
            f"`{function.name}` answered, as `{column.name}`: {str(misfit)[:200]}", "declare its type"
        ) from None


def _written(value: object, kind: Type) -> object:
    """Sources without types (CSV) give numbers and truth values as text."""
    if not isinstance(value, str) or kind.name == "string":
        return value
    if kind.is_integral and value.strip().lstrip("+-").isdecimal() and len(value) < 40:
        return int(value)
    return {"true": True, "false": False}.get(value.strip().lower(), value) if kind.name == "boolean" else value


# ---------------------------------------------------------------- text
def to_json(row: Row) -> list[object]:
    """A row for a JSON file."""
    return [_plain(value) for value in row]


def _plain(value: Value) -> object:
    match value:
        case Decimal():
            return str(value)
        case dt.datetime() | dt.date():
            return value.isoformat()
        case bytes():
            return value.decode(*_ANY_BYTES)
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def from_json(values: Sequence[object], columns: Sequence[Column]) -> Row:
    """The row that `to_json` wrote."""
    return tuple(coerce(_read(value, column.type), column.type) for value, column in zip(values, columns, strict=True))


def _read(value: object, kind: Type) -> object:
    if kind.name == "binary" and isinstance(value, str):
        return value.encode(*_ANY_BYTES)
    if kind.element is not None and isinstance(value, list):
        return [_read(item, kind.element) for item in value]
    return value


def digest(rows: Iterable[Row]) -> str:
    """Equal answers have equal digests."""
    told = json.dumps([to_json(row) for row in rows], separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(told.encode()).hexdigest()
