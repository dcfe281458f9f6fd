"""`--verify full`: every view that was maintained, computed anew by the rules as written, and compared.

In this process where it is few rows, as strata are (`recounting_here.py`); else in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb

from foreset.analyse.needs import needs_of
from foreset.analyse.strata import layering
from foreset.backends.duckdb.budget import OutOfBounds
from foreset.ir.steps import Ref
from foreset.ir.strata import Stratum
from foreset.ir.terms import Row
from foreset.ir.types import Type
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.place import DUCKDB
from foreset.plan.translate import translate
from foreset.refresh.choosing import size_of
from foreset.refresh.context import Context
from foreset.refresh.inprocess import place_of
from foreset.refresh.inputs import put_input, put_old, staged_of
from foreset.refresh.recounting_here import SHOWN, Difference, differences_here
from foreset.refresh.staging import inside, staged_frame
from foreset.store.delta import SparkOnly
from foreset.store.spark_values import collected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from foreset.backends.spark.frames import Piece


def differences(context: Context) -> Iterator[Difference]:
    """Each view with its number of rows, those missing in the staged result, and those too many there."""
    names = list(context.program.columns_of())
    where = place_of(context, "recompute", {name: size_of(context, name) for name in names})
    if where.engine == DUCKDB:
        with suppress(OutOfBounds, SparkOnly, duckdb.Error):
            return iter(list(differences_here(context)))
    return _in_spark(context)


def _in_spark(context: Context) -> Iterator[Difference]:
    """Yield each view with its number of rows, those missing in the staged result, and those too many there.

    Strata build on recomputed lower ones, not on staged ones: an error below shows where it is.
    """
    from foreset.backends.spark.cutting import cut
    from foreset.backends.spark.frames import anti

    program, written = context.judge()
    schemas = {name: tuple(c.type for c in columns) for name, columns in program.columns_of().items()}
    kept = {view.name for view in context.program.views}
    built: dict[str, Piece] = {}
    for stratum in written.strata:
        if stratum.own_way:  # what was answered is the truth of this refresh, and constraints are no rows
            built |= {name: cut(_staged_state(context, name, schemas)) for name in stratum.names}
            continue
        for name, full in _derived(context, stratum, built, schemas).items():
            built[name] = full
            if name not in kept:
                continue
            staged = _staged_state(context, name, schemas)
            missing, extra = cut(anti(full.frame, staged)), cut(anti(staged, full.frame))
            yield name, full.rows or 0, _some(missing, schemas[name]), _some(extra, schemas[name])
    for need in needs_of(program.views):  # by the rules that use the answers
        whole = {**schemas, need.view.name: tuple(column.type for column in need.view.columns)}
        (stratum,) = layering((need.view,), program.columns_of()).strata
        (full,) = _derived(context, stratum, built, whole).values()
        width = len(need.seeds)
        asked = full.frame.columns[width:]
        staged = _staged_state(context, need.asks, schemas)
        missing = cut(anti(full.frame.select(*asked).distinct().toDF(*staged.columns), staged))
        yield need.asks, full.rows or 0, _some(missing, schemas[need.asks]), []


def _derived(
    context: Context, stratum: Stratum, built: Mapping[str, Piece], schemas: Mapping[str, tuple[Type, ...]]
) -> dict[str, Piece]:
    """The views of a stratum, all of it derived from what is below."""
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Frames

    procedure = translate(stratum, "recompute")
    frames = Frames(context.spark, {**schemas, **procedure.helper_types})
    for name in stratum.reads:
        if name in built:
            frames.put(Ref(name, Version.NEW), built[name])
        else:
            put_input(context, frames, name, new_only=True, distinct=False)
    Machine(SparkBackend(frames), context.program.max_rounds, context.listen).run(*procedure.phases)
    return {name: frames.read(Ref(name, Version.FULL)) for name in stratum.names}


def _staged_state(context: Context, view: str, schemas: dict[str, tuple[Type, ...]]) -> DataFrame:
    from foreset.backends.spark.frames import Frames, Piece

    frames = Frames(context.spark, dict(schemas))
    put_old(context, frames, view)
    columns, staged = context.view(view).columns, staged_of(context, view)
    for version, file in ((Version.PLUS, staged.plus), (Version.MINUS, staged.minus)):
        frame = staged_frame(context, file, columns)
        if frame is not None:
            frames.put(Ref(view, version), Piece(inside(frame, columns), file.rows))
    return frames.read(Ref(view, Version.NEW)).frame


def _some(piece: Piece, kinds: tuple[Type, ...]) -> list[Row]:
    return collected(piece.frame.limit(SHOWN), kinds) if piece.rows else []
