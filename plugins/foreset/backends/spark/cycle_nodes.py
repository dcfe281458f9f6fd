"""Circles of a small graph: its edges come to the driver, the nodes that lie on one go back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from foreset.backends.spark.frames import Piece
from foreset.ir.types import Type
from foreset.ir.values import canonical
from foreset.machine.cycle_nodes import on_circles
from foreset.store.types import row_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_EDGES = 200_000


def circling(edges: DataFrame, nodes: DataFrame, kinds: tuple[Type, ...]) -> Piece:
    """The rows of `nodes`, which are the first halves of `edges`, that lie on a circle."""
    import pyarrow as pa

    arrow = edges.toArrow()
    both = (*kinds, *kinds)
    columns = [[canonical(_plain(value), kind) for value in arrow.column(i).to_pylist()] for i, kind in enumerate(both)]
    rows = list(zip(*columns, strict=True))
    found = on_circles(rows)
    if not found:
        return Piece(nodes.limit(0), 0)
    where = {row[: len(kinds)]: i for i, row in enumerate(rows)}  # a node on a circle begins an edge
    few = arrow.select(range(len(kinds))).take(pa.array([where[node] for node in found]))
    frame = edges.sparkSession.createDataFrame(few)
    fields = row_schema(kinds).fields
    return Piece(frame.select(*(F.col(field.name).cast(field.dataType) for field in fields)), len(found))


def _plain(value: Any) -> Any:  # noqa: ANN401 - Arrow's Python values
    return tuple(map(_plain, value)) if isinstance(value, list) else value
