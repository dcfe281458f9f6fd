"""How many rule instances fire when pairs of cliques and edges of long paths go: `dred` against `dredc`.

Counted by the in-process reader, which runs the steps of the strata alone; both must take the same rows away.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from bench.graphs import RULES as CLOSURE
from bench.graphs import Edge, edge_table, path
from bench.strata import Line, Shape, measure, world
from bench.symmetric import RULES as SAME
from bench.symmetric import clique

STRATEGIES = ("dred", "dredc")
CLIQUE, PATH = "clique", "path"
DELETED = (1, 10, 1000)
SIZES = {
    "small": {CLIQUE: (8,), PATH: (30,)},
    "medium": {CLIQUE: (50, 100), PATH: (300,)},
    "full": {CLIQUE: (50, 100, 200, 500), PATH: (2_000,)},
}


@dataclass(slots=True)
class Failed:
    """A size that did not come to an end."""

    shape: str
    size: int
    deleted: int
    reason: str


def _columns(edges: set[Edge]) -> pa.Table:
    return edge_table(sorted(edges), ("c0", "c1"))


SHAPES = {
    CLIQUE: Shape(
        CLIQUE,
        lambda strategy: SAME.format(group="cliques", strategy=strategy),
        lambda size: {"link": _columns(clique(size))},
    ),
    PATH: Shape(
        PATH,
        lambda strategy: CLOSURE.format(group="paths", strategy=strategy),
        lambda size: {"edge": _columns(path(size, ()).edges)},
    ),
}


def measured(scale: str) -> Iterator[Line | Failed]:
    """Every size, every deletion, both strategies."""
    for name, sizes in SIZES[scale].items():
        for size in sizes:
            with tempfile.TemporaryDirectory(prefix="foreset-bench-") as folder:
                yield from _measured(SHAPES[name], size, Path(folder))


def _measured(shape: Shape, size: int, folder: Path) -> Iterator[Line | Failed]:
    try:
        made = world(shape, size, folder)
    except duckdb.Error as error:
        yield Failed(shape.name, size, 0, _first(error))
        return
    [source] = [one.name for one in made.plain[0].sources]
    for deleted in (count for count in DELETED if count < made.rows[source]):
        try:
            yield from measure(made, STRATEGIES, str(size), deleted, 1)
        except duckdb.Error as error:
            yield Failed(shape.name, size, deleted, _first(error))


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]


def ratios(lines: list[Line], shape: str) -> dict[tuple[str, int], float]:
    """By size and deletion: how many instances of `dred` there are for one of `dredc`."""
    found = {(one.size, one.deleted, one.strategy): one.instances for one in lines if one.shape == shape}
    return {
        (size, deleted): count / max(1, found[size, deleted, "dredc"])
        for (size, deleted, strategy), count in found.items()
        if strategy == "dred" and (size, deleted, "dredc") in found
    }
