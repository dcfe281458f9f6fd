"""Declared keys, held to the data: no two rows of a source may agree on its key.

Strategies trust a key (analyse/derivations.py), so it is checked before they run: wherever rows
came since a refresh that has seen the same key, and else everywhere. Copies of one row are one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from foreset.errors import SourceError
from foreset.inproc import delta as inputs
from foreset.inproc.budget import OutOfBounds
from foreset.inproc.keys import of_several
from foreset.inproc.tables import Tables, session
from foreset.ir.program import Source
from foreset.ir.terms import Row
from foreset.ir.text import print_value
from foreset.refresh.bound import as_declared, bind_source
from foreset.refresh.context import Context
from foreset.store.canonical import same_row
from foreset.store.capture.origins import open_origin
from foreset.store.capture.pins import RecordedPin
from foreset.store.capture.stage import folder
from foreset.store.delta import SparkOnly
from foreset.store.layout import is_local
from foreset.store.quoting import ticked
from foreset.store.types import column_names

SHOWN = 3


def check_key(context: Context, source: Source, facts: Mapping[str, Any]) -> None:
    """Raise `SourceError` when rows of a captured source agree on its key."""
    if not source.key:
        return
    anew = facts["taken_whole"] or _checked(context, source.name) != list(source.key)
    if not anew and not facts["inserted"]:
        return
    came = None if anew else folder(facts["staged"], 1)
    try:
        found = in_process(context, source, came)
    except (OutOfBounds, SparkOnly, duckdb.Error):
        found = in_spark(context, source, came)
    if found:
        raise _agree(source, found)


def _checked(context: Context, name: str) -> list[str] | None:
    """The key that the refresh before has checked."""
    seen = context.previous.extra.get("captures", {}) if context.previous else {}
    key: list[str] | None = seen.get(name, {}).get("key")
    return key


def in_process(context: Context, source: Source, came: str | None) -> list[Row]:
    """Some keys that several rows have; with `came`, a folder of rows, only keys that stand there."""
    places, labels = source.key_places, column_names(len(source.columns))
    key, kinds = [labels[place] for place in places], [column.type for column in source.columns]
    pin, root = RecordedPin.from_manifest(context.run.sources[source.name]), context.layout.root
    with session(spill=context.path("spill") if is_local(root) else None) as connection:
        tables = Tables(connection, {source.name: tuple(kinds)})
        new = None if came is None else inputs.bind_folder(tables, came, as_declared(source.columns))
        keys = bind_source(tables, root, source, pin, places)
        found = of_several(tables, keys, lambda: bind_source(tables, root, source, pin), key, new)
        return [] if found is None else tables.fetch(found, [kinds[place] for place in places])[:SHOWN]


def in_spark(context: Context, source: Source, came: str | None) -> list[Row]:
    """The same in Spark."""
    from pyspark.sql import functions as F

    version = RecordedPin.from_manifest(context.run.sources[source.name]).version
    rows = open_origin(context.spark, source, context.layout.root, version).at(version)
    names = [source.columns[place].name for place in source.key_places]
    key = [ticked(name) for name in names]
    if came is not None:
        labels = [f"foreset_key_{i}" for i in range(len(key))]
        wanted = context.spark.read.schema(rows.schema).parquet(came).select(*key).toDF(*labels).distinct()
        rows = rows.join(wanted, same_row(rows, wanted, list(zip(names, labels, strict=True))), "left_semi")
    every = F.struct(*(ticked(column.name) for column in source.columns))
    several = rows.groupBy(*key).agg(F.count_distinct(every).alias("foreset_rows")).where("foreset_rows > 1")
    return [tuple(row) for row in several.select(*key).limit(SHOWN).collect()]


def _agree(source: Source, found: Sequence[Row]) -> SourceError:
    names = [source.columns[place].name for place in source.key_places]
    pairs = (zip(names, map(print_value, row), strict=True) for row in found)
    shown = "; ".join("(" + ", ".join(f"{name} = {value}" for name, value in row) + ")" for row in pairs)
    return SourceError(
        f"source `{source.name}`: several rows have the key {shown}",
        "nothing was published; mend the rows, or take `key` out of the spec",
    )
