"""Declared keys, held to the data: no two rows of a source may agree on its key.

Strategies trust a key (analyse/derivations.py), so it is checked before they run: wherever rows
came since a refresh that has seen the same key, and else everywhere. Copies of one row are one row.
Where there are no copies either, the key is *single*: that is kept from refresh to refresh, as capture and
verification need not look for copies then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.database import session
from foreset.backends.duckdb.keys import of_several, repeated
from foreset.backends.duckdb.tables import Tables
from foreset.errors import SourceError
from foreset.ir.program import Source
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.ir.versions import Version
from foreset.records.captures import CaptureRecord, CaptureSummary
from foreset.refresh.context import Context
from foreset.relations.frames import frame
from foreset.relations.located import Folder, Located, pinned
from foreset.relations.tables import bound, parts
from foreset.store.canonical import same_row
from foreset.store.capture.source_pin import RecordedPin
from foreset.store.delta import SparkOnly
from foreset.store.layout import change_folder
from foreset.store.quoting import ticked
from foreset.store.spark_values import collected
from foreset.store.types import column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHOWN = 3
ROWS = "foreset_rows"
MOST_ROWS = 200_000_000  # whose keys are compared in process


class KeyBroken(SourceError):
    """Rows of a source agree on its declared key."""


def pins_of(context: Context, source: Source) -> tuple[RecordedPin | None, RecordedPin]:
    """Where the refresh before stopped reading a source, and whether it knew its key to be single; and where this one
    does."""
    now, seen = RecordedPin.from_manifest(context.run.sources[source.name]), _seen(context, source)
    before = context.previous.sources.get(source.name) if context.previous else None
    if before is None:
        return None, now
    return replace(RecordedPin.from_manifest(before), single=seen.rows if seen and seen.single else None), now


def check_key(context: Context, source: Source, captured: CaptureRecord) -> bool:
    """Raise `SourceError` where two rows have one key; True where it is known that no two rows have one."""
    if not source.key:
        return False
    if captured.single:
        return True
    seen = _seen(context, source)
    if seen and not captured.moved:
        return bool(seen.single)
    # Where the key was single and capture cannot say whether it still is, all rows are looked at where that is quick.
    anew = captured.taken_whole or seen is None
    single_before = seen is not None and bool(seen.single)
    came = change_folder(captured.staged, 1) if captured.inserted and not anew else None
    if not anew and came is None and not single_before:
        return False
    try:
        found, single = in_process(context, source, None if single_before else came)
    except (OutOfBounds, SparkOnly, duckdb.Error):
        found, single = in_spark(context, source, came) if anew or came else ([], False)
    if found:
        raise _agree(source, found)
    return single


def _seen(context: Context, source: Source) -> CaptureSummary | None:
    """What the refresh before has found of the source, if it has checked the same key, and for copies as well."""
    seen = context.previous.extra.captures.get(source.name) if context.previous else None
    return seen if seen and source.key and seen.key == source.key and seen.single is not None else None


def in_process(context: Context, source: Source, came: str | None) -> tuple[list[Row], bool]:
    """Some keys that several rows have, and whether no key stands twice; with `came`, a folder of rows, only keys that
    stand there.
    """
    places, labels = source.key_places, column_names(len(source.columns))
    key, kinds = [labels[place] for place in places], [column.type for column in source.columns]
    there = pinned(context.layout, source, context.run.sources[source.name])
    with session(context.memory.lent, context.spill) as connection:
        tables = Tables(connection, {source.name: tuple(kinds)})
        new = None if came is None else parts(tables, _came(source, came))[0].table
        keys = bound(tables, there, places)
        if not keys.rows:
            return [], True
        if keys.rows > MOST_ROWS:
            raise OutOfBounds(f"it has more than {MOST_ROWS:,} rows")
        twice = repeated(tables, keys, key, new)
        if not twice.rows:
            return [], came is None
        found = of_several(tables, bound(tables, there), twice, key)
        return tables.fetch(found, [kinds[place] for place in places])[:SHOWN], False


def in_spark(context: Context, source: Source, came: str | None) -> tuple[list[Row], bool]:
    """The same by Spark: keys are counted first, and whole rows compared only of those that stand more than once."""
    from pyspark.sql import functions as F

    rows = frame(context.spark, pinned(context.layout, source, context.run.sources[source.name]))
    names = [source.columns[place].name for place in source.key_places]
    key = [ticked(name) for name in names]
    if came is not None:
        rows = _of_keys(rows, frame(context.spark, _came(source, came)).select(*key).distinct(), names)
    twice = rows.groupBy(*key).agg(F.count(F.lit(1)).alias(ROWS)).where(F.col(ROWS) > 1).select(*key)
    if twice.limit(1).count() == 0:
        return [], came is None
    every = F.struct(*(ticked(column.name) for column in source.columns))
    several = _of_keys(rows, twice, names).groupBy(*key).agg(F.count_distinct(every).alias(ROWS)).where(F.col(ROWS) > 1)
    kinds = [source.columns[place].type for place in source.key_places]
    return collected(several.select(*key).limit(SHOWN), kinds), False


def _of_keys(rows: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    labels = [f"foreset_key_{i}" for i in range(len(names))]
    wanted = keys.toDF(*labels)
    return rows.join(wanted, same_row(rows, wanted, list(zip(names, labels, strict=True))), "left_semi")


def _came(source: Source, folder: str) -> Located:
    return Located(source.name, Version.PLUS, source.columns, Folder(folder))


def _agree(source: Source, found: Sequence[Row]) -> KeyBroken:
    names = [source.columns[place].name for place in source.key_places]
    pairs = (zip(names, map(print_value, row), strict=True) for row in found)
    shown = "; ".join("(" + ", ".join(f"{name} = {value}" for name, value in row) + ")" for row in pairs)
    return KeyBroken(
        f"source `{source.name}`: several rows have the key {shown}",
        "nothing was published; correct the rows, or remove `key` from the spec",
    )
