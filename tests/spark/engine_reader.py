"""The Spark reader of refresh cases: the engine over small frames, without Delta tables between nights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from tests.refresh_cases import Night, Session

from foreset.backends.spark.backend import SparkBackend
from foreset.backends.spark.counters import CounterFrames
from foreset.backends.spark.frames import Frames, Piece
from foreset.ir.program import Program
from foreset.ir.steps import Ref
from foreset.ir.strata import Layering, Stratum
from foreset.ir.terms import Row
from foreset.ir.types import BIGINT, Type
from foreset.ir.values import canonical
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.choose import Situation, Size
from foreset.plan.translate import COUNTED, translate
from foreset.store.types import arrow_type, column_names, row_schema
from foreset.testing.replica import Chooser, Delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Counters = dict[Row, tuple[int, int]]


def local_frame(spark: SparkSession, rows: list[Row], kinds: tuple[Type, ...], names: tuple[str, ...]) -> DataFrame:
    """Rows as a frame that needs no Python worker: Arrow goes to the JVM as it is."""
    if not rows:  # Connect takes no empty table
        fields = row_schema(kinds, names).fields
        return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))
    columns = [pa.array([row[i] for row in rows], arrow_type(kind)) for i, kind in enumerate(kinds)]
    frame = spark.createDataFrame(pa.table(columns, names=list(names)))
    types = row_schema(kinds, names).fields
    return frame.select(*(frame[field.name].cast(field.dataType) for field in types))


@dataclass(slots=True)
class SparkReader:
    """Opens sessions of the engine."""

    spark: SparkSession
    name: str = "spark"

    def open(self, program: Program, layering: Layering) -> Session:
        """Begin with everything empty."""
        return EngineSession(self.spark, program, layering)


@dataclass(slots=True)
class EngineSession:
    """Contents and counters live here as Python sets; every stratum is maintained in Spark."""

    spark: SparkSession
    program: Program
    layering: Layering
    contents: dict[str, frozenset[Row]] = field(default_factory=dict)
    counters: dict[str, Counters] = field(default_factory=dict)
    loaded: bool = False

    @property
    def schemas(self) -> dict[str, tuple[Type, ...]]:
        """Column types of every relation."""
        return {name: tuple(c.type for c in columns) for name, columns in self.program.columns_of().items()}

    def refresh(self, changes: Night, chooser: Chooser) -> Mapping[str, Delta]:
        """Apply net changes of the sources; return the exact differential of each view."""
        deltas = {source.name: changes.get(source.name, Delta()) for source in self.program.sources}
        for stratum in self.layering.strata:
            choice = chooser(stratum, self._situation(stratum, deltas))
            self._maintain(stratum, choice.strategy, deltas)
        for name, delta in deltas.items():
            self.contents[name] = (self.contents.get(name, frozenset()) - delta.minus) | delta.plus
        self.loaded = True
        return {view.name: deltas[view.name] for view in self.program.views}

    def _situation(self, stratum: Stratum, deltas: Mapping[str, Delta]) -> Situation:
        sizes = {
            name: Size(len(deltas[name].plus), len(deltas[name].minus), len(self.contents.get(name, ())))
            for name in stratum.reads
        }
        counted = all(name in self.counters for name in stratum.names)
        return Situation(sizes, "" if self.loaded else "first load", counted)

    def _maintain(self, stratum: Stratum, strategy: str, deltas: dict[str, Delta]) -> None:
        procedure = translate(stratum, strategy, counted=True)
        schemas = self.schemas | procedure.helper_types
        frames = Frames(self.spark, schemas)
        for name in (*stratum.reads, *stratum.names):
            self._put(frames, Ref(name, Version.OLD), self.contents.get(name, frozenset()))
        for name in stratum.reads:
            self._put(frames, Ref(name, Version.PLUS), deltas[name].plus)
            self._put(frames, Ref(name, Version.MINUS), deltas[name].minus)
        counted = stratum.names if strategy in COUNTED else ()
        backend = SparkBackend(frames, {name: self._stored(name) for name in counted})
        Machine(backend, self.program.max_rounds).run(*procedure.phases)
        for name in stratum.names:
            sides = (self._rows(frames, Ref(name, version)) for version in (Version.PLUS, Version.MINUS))
            deltas[name] = Delta(*sides)
            if name in procedure.counted:
                self._keep(name, backend, building=strategy == "recompute")
            elif strategy != "skip":
                self.counters.pop(name, None)

    def _put(self, frames: Frames, ref: Ref, rows: frozenset[Row]) -> None:
        frames.put(ref, Piece(self._frame(sorted(rows, key=repr), frames.schemas[ref.relation]), len(rows)))

    def _frame(self, rows: list[Row], kinds: tuple[Type, ...]) -> DataFrame:
        return local_frame(self.spark, rows, kinds, column_names(len(kinds)))

    def _rows(self, frames: Frames, ref: Ref) -> frozenset[Row]:
        kinds = frames.schemas[ref.relation]
        found = [row for piece in frames.stored(ref) for row in piece.frame.collect()]
        plain = (tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in found)
        rows = [tuple(canonical(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in plain]
        assert len(rows) == len(set(rows)), f"{ref} repeats rows"
        return frozenset(rows)

    def _stored(self, view: str) -> CounterFrames:
        kinds = self.schemas[view]
        names = column_names(len(kinds))
        rows = [(*row, *pair) for row, pair in self.counters.get(view, {}).items()]
        frame = local_frame(self.spark, rows, (*kinds, BIGINT, BIGINT), (*names, "base", "recursive"))
        return CounterFrames(len(kinds), lambda _: frame)

    def _keep(self, view: str, backend: SparkBackend, *, building: bool) -> None:
        kinds = self.schemas[view]
        after: Counters = {} if building else dict(self.counters.get(view, {}))
        change = backend.counters[view].current() if view in backend.counters else None
        for found in change.collect() if change is not None else []:
            plain = (tuple(value) if isinstance(value, list) else value for value in found[:-2])
            row = tuple(canonical(value, kind) for value, kind in zip(plain, kinds, strict=True))
            base, recursive = after.get(row, (0, 0))
            after[row] = (base + found[-2], recursive + found[-1])
        self.counters[view] = {row: pair for row, pair in after.items() if any(pair)}
