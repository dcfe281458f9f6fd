"""Large relations that stay with Spark, while this process works on a change.

What joins with the change is asked for by its keys, in one job that goes through the relation once, and only the rows
that meet them come here. What is asked is bounded, and so is what comes: beyond that, all steps run in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from foreset.backends.duckdb.budget import OutOfBounds
from foreset.backends.duckdb.tables import FEW_FAR_VALUES, Table, Tables
from foreset.ir.terms import Value
from foreset.ir.types import DATE
from foreset.relations.bind_files import Stored, bind_arrow, known_ranges
from foreset.relations.frames import frame
from foreset.relations.located import CountersAt, Located, SignedAt, SourceAt
from foreset.session.lazy import opened
from foreset.store.delta import SparkOnly
from foreset.store.layout import table_path
from foreset.store.quoting import ticked
from foreset.store.types import arrow_type, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_KEYS, MOST_ROWS = 1_000_000, 2_000_000  # of one question, and of its answer
MOST_SPANS = 16  # of keys: a filter with more of them takes longer than what it spares
UNKNOWN = 1_000_000_000  # rows of what nobody has counted


@dataclass(frozen=True, slots=True)
class SparkRows:
    """A relation as Spark reads it, for who has some keys of it."""

    spark: SparkSession
    located: Located
    columns: Sequence[Stored]

    @property
    def rows(self) -> int | None:
        """Those of the relation, whatever Spark passes over."""
        return self.located.rows

    @property
    def width(self) -> int:
        """Columns of which somebody asks."""
        return sum(not column.hidden for column in self.columns)

    def can_ask(self, place: int) -> bool:
        """Not where values become others when they are read: Spark would compare them as they were."""
        column = self.columns[place]
        return column.kind == column.read_as and column.kind.element is None and not column.hidden

    def meeting(self, tables: Tables, keys: pa.Table, places: Sequence[tuple[int, bool]]) -> Table:
        """By a semi-join with the keys, which go there as they are."""
        from pyspark.sql import functions as F

        from foreset.backends.spark.frames import from_arrow, sent

        if not keys.num_rows:
            return self._bound(tables, self._none())
        if keys.num_rows > MOST_KEYS:
            raise OutOfBounds(f"it asks for {keys.num_rows:,} keys of {self.located.relation} at once")
        names = [f"k{i}" for i in range(len(places))]
        kinds = [self.columns[place].read_as for place, _ in places]
        named = keys.rename_columns([f"c{i}" for i in range(len(places))])
        wanted = from_arrow(opened(self.spark), named, kinds).frame.toDF(*names)
        rows = self._rows()
        same: list[Column] = []
        for name, values, (place, safe) in zip(names, keys.columns, places, strict=True):
            own, key = F.col(f"c{place}"), F.col(name)
            same.append(own.eqNullSafe(key) if safe else own == key)
            for near in self._near(place, values):
                rows = rows.where(near)
        few = F.broadcast(wanted) if sent(keys.num_rows, kinds) else wanted
        found = rows.join(few, reduce(lambda a, b: a & b, same), "left_semi")
        return self._taken(tables, found, MOST_ROWS)

    def whole(self, tables: Tables) -> Table:
        """All rows, where they are few."""
        return self._taken(tables, self._rows(), FEW_FAR_VALUES // max(self.width, 1))

    def _rows(self) -> DataFrame:
        """The columns that anybody asks for, under our names."""
        from pyspark.sql import functions as F

        rows = frame(opened(self.spark), self.located)
        named = enumerate(zip(self.located.names, self.columns, strict=True))
        return rows.select(*(F.col(ticked(name)).alias(f"c{i}") for i, (name, one) in named if not one.hidden))

    def _near(self, place: int, values: pa.ChunkedArray) -> list[Column]:
        """What lets Spark pass over files and row groups that have none of these values."""
        from pyspark.sql import functions as F

        kind, own = self.columns[place].read_as, F.col(f"c{place}")
        if values.null_count or not len(values) or not (kind.is_integral or kind == DATE):
            return []
        sides = ([F.lit(end).cast(spark_type(kind)) for end in span] for span in spans(values))
        return [reduce(lambda a, b: a | b, ((own >= least) & (own <= greatest) for least, greatest in sides))]

    def _taken(self, tables: Tables, rows: DataFrame, most: int) -> Table:
        found = rows.limit(most + 1).toArrow()
        if found.num_rows > most:
            raise OutOfBounds(f"more than {most:,} rows of {self.located.relation} would come from Spark")
        return self._bound(tables, found)

    def _none(self) -> pa.Table:
        kinds = ((f"c{i}", arrow_type(one.kind)) for i, one in enumerate(self.columns) if not one.hidden)
        return pa.schema(list(kinds)).empty_table()

    def _bound(self, tables: Tables, rows: pa.Table) -> Table:
        named = [Stored(f"c{i}", one.kind, one.read_as, one.label, one.hidden) for i, one in enumerate(self.columns)]
        return bind_arrow(tables, "", rows, named)


def spans(values: pa.ChunkedArray) -> list[tuple[Value, Value]]:
    """Whole numbers or days as a few spans in which they lie, with the largest gaps between them."""
    import numpy as np

    ordered = pc.sort_indices(distinct := values.unique())
    numbers = distinct.take(ordered).to_numpy(zero_copy_only=False)
    gaps = np.argsort(np.diff(numbers), kind="stable")[-(MOST_SPANS - 1) :]
    starts = [0, *sorted(int(gap) + 1 for gap in gaps)]
    ends = [*(start - 1 for start in starts[1:]), len(numbers) - 1]
    at = [distinct[int(place)].as_py() for place in ordered.take(starts + ends)]
    return list(zip(at[: len(starts)], at[len(starts) :], strict=True))


@dataclass(frozen=True, slots=True)
class FarRelations:
    """Which relations stay with Spark: those with so many rows, and what only Spark can read."""

    spark: SparkSession
    large: int

    def table(
        self, tables: Tables, located: Located, columns: Sequence[Stored], here: Callable[[], Table] | None = None
    ) -> Table:
        """A table that Spark is asked for, or what `here` makes of it: what is small is read by this process."""
        if here is not None and (isinstance(located.place, CountersAt) or not self.keeps(located)):
            with suppress(SparkOnly, OutOfBounds):
                table = here()
                if table.rows < self.large:
                    return table
        rows = UNKNOWN if located.rows is None else located.rows
        far = SparkRows(self.spark, located, columns)
        return Table(tables.fresh("f"), rows, located.relation, outside=True, values=self._values(tables, far), far=far)

    def keeps(self, located: Located) -> bool:
        """Whether it is large, or may be."""
        return located.rows is None or located.rows >= self.large

    @staticmethod
    def _values(tables: Tables, far: SparkRows) -> Callable[[], dict[int, int]]:
        match far.located.place:
            case SourceAt(source, root, pin) if source.view is None:
                return known_ranges(tables, table_path(root, str(source.table)), pin.version, far.columns)
            case SignedAt(path, version):
                return known_ranges(tables, path, version, far.columns)
        return dict
