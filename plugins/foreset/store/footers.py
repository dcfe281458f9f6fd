"""What a Delta log says of a file, from the file's own footer: rows, bounds and how many are NULL.

Bounds let readers skip files, so one that is too narrow would lose rows. Where a writer leaves room for doubt about one
column, none has bounds: delta-rs's datasets take a bound that is missing for one that no value meets (seen with 1.6.6).
Doubt is what NaN leaves: Spark's writer says where it is, as the greatest of all; Arrow's says nothing of it, and
whoever writes by it notes that there is none.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from foreset.ir.sizes import summed

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData, FileMetaData

COLUMNS = 32  # so many from the left have bounds, as in other writers of Delta: a log is read by each reader
PREFIX = 32  # characters of a text that its bounds keep
LAST, BEFORE_GAP, AFTER_GAP = 0x10FFFF, 0xD7FF, 0xE000  # code points; between the last two is what stands in no text
MILLISECOND = datetime.timedelta(milliseconds=1)
NO_NAN = {"foreset.nan": "none"}  # metadata of a file
BY_SPARK = "parquet-mr"


class Doubt(Exception):
    """Nobody can tell the bounds of a column."""


def stats_of(footer: FileMetaData) -> str:
    """The statistics of one file as JSON."""
    leaves = [footer.schema.column(place) for place in range(footer.num_columns)]
    flat = [(place, leaf) for place, leaf in enumerate(leaves) if not leaf.max_repetition_level][:COLUMNS]
    chunks = {json.dumps(leaf.path): _chunks(footer, place) for place, leaf in flat}
    counts = ((name, _nulls(column)) for name, column in chunks.items())
    said = {"nullCount": [f"{name}:{count}" for name, count in counts if count is not None]}
    try:
        found = {name: _bounds(column, nan=_may_hide_nan(footer)) for name, column in chunks.items()}
    except Doubt:
        found = {}
    for side, place in (("minValues", 0), ("maxValues", 1)):
        said[side] = [f"{name}:{bounds[place]}" for name, bounds in found.items() if bounds is not None]
    texts = [f'"{side}":{{{",".join(values)}}}' for side, values in said.items() if values]
    return "{" + ",".join([f'"numRecords":{footer.num_rows}', *texts]) + "}"


def _chunks(footer: FileMetaData, place: int) -> list[ColumnChunkMetaData]:
    return [footer.row_group(group).column(place) for group in range(footer.num_row_groups)]


def _may_hide_nan(footer: FileMetaData) -> bool:
    noted = {key: (footer.metadata or {}).get(key.encode(), b"").decode() for key in NO_NAN}
    return noted != NO_NAN and not footer.created_by.startswith(BY_SPARK)


def _nulls(chunks: Sequence[ColumnChunkMetaData]) -> int | None:
    return summed(
        one.statistics.null_count if one.statistics and one.statistics.has_null_count else None for one in chunks
    )


def _bounds(chunks: Sequence[ColumnChunkMetaData], *, nan: bool) -> tuple[str, str] | None:
    """The least and the greatest value as JSON; None where all is NULL, and for what has no bounds in any log."""
    lows, highs = [], []
    for one in chunks:
        found = one.statistics
        if one.physical_type == "BYTE_ARRAY" and found is not None and found.logical_type.type == "NONE":
            return None  # binary
        if found is None or (not found.has_min_max and not _void(one)):
            raise Doubt
        if found.has_min_max:
            try:
                lows.append(found.min)
                highs.append(found.max)
            except (OverflowError, ValueError):  # a date beyond those of Python
                raise Doubt from None
    if any(isinstance(value, float) and (nan or math.isnan(value)) for value in (*lows, *highs)):
        raise Doubt
    return (_bound(min(lows), up=False), _bound(max(highs), up=True)) if lows else None


def _void(chunk: ColumnChunkMetaData) -> bool:
    found = chunk.statistics
    return found is not None and found.has_null_count and found.null_count == chunk.num_values


def _bound(value: object, *, up: bool) -> str:
    """A bound as JSON, not narrower than the value."""
    match value:
        case bool() | int():
            return json.dumps(value)
        case float():
            return json.dumps(value + 0.0) if math.isfinite(value) else f'"{"-" if value < 0 else ""}Infinity"'
        case Decimal():
            return f"{value:f}"
        case str():
            return json.dumps(_cut_up(value) if up else value[:PREFIX])
        case datetime.datetime():
            return _in_milliseconds(value, up=up)
        case datetime.date():
            return json.dumps(value.isoformat())
        case _:
            raise Doubt


def _cut_up(text: str) -> str:
    """A short text that is not less than `text`."""
    if len(text) <= PREFIX:
        return text
    kept = text[:PREFIX].rstrip(chr(LAST))
    if not kept:
        raise Doubt
    last = ord(kept[-1])
    return kept[:-1] + chr(AFTER_GAP if last == BEFORE_GAP else last + 1)


def _in_milliseconds(value: datetime.datetime, *, up: bool) -> str:
    whole = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if up and whole != value:
        try:
            whole += MILLISECOND
        except OverflowError:
            raise Doubt from None
    text = whole.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return json.dumps(f"{text}Z" if value.tzinfo is not None else text)
