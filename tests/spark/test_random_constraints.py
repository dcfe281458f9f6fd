"""Random views of constraints and rows through Delta tables, corrected and refreshed, against windows of numbers.

10 programs in `make test`, 200 under FORESET_LONG=1. The oracle knows neither solvers nor supports: it asks every
number of a window whether the rules and the corrections made so far let it in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED

import foreset
from foreset.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SEEDS = range(200 if os.environ.get("FORESET_LONG") else 10)
NIGHTS = 3
WINDOW = range(-6, 7)
Region = tuple[str, Callable[[int], bool]]  # of one column X
Rows = set[tuple[int, int]]
SPEC = """\
group: g
sources:
  p: {{table: raw/p, columns: {{k: int, v: int}}}}
views:
  low:
    columns: {{x: int}}
    rules:
{low}
  both:
    columns: {{x: int}}
    rules:
      - both(X) :- low(X), {both}
  near:
    columns: {{x: int, y: int}}
    rules:
      - near(X, Y) :- both(X), low(Y), X - Y <= {near}, Y - X <= {near}
  picked:
    columns: {{k: int, v: int}}
    rules:
      - picked(K, V) :- p(K, V), low(V)
      - picked(K, V) :- p(K, W), both(W), V = W + 1
  chained:
    columns: {{k: int, v: int}}
    rules:
      - chained(K, V) :- picked(K, V)
      - chained(K, V) :- picked(K, W), chained(W, V)
"""


def point(rng: Random, name: str) -> Region:
    """One number."""
    a = rng.choice(WINDOW)
    return f"{name} = {a}", lambda x: x == a


def region(rng: Random, name: str = "X") -> Region:
    """A bounded or unbounded piece of the line, and the same as Python."""
    a, b = sorted((rng.choice(WINDOW), rng.choice(WINDOW)))
    return rng.choice((
        (f"{name} <= {a}", lambda x: x <= a),
        (f"{name} >= {b}", lambda x: x >= b),
        (f"{name} >= {a}, {name} <= {b}", lambda x: a <= x <= b),
        (f"{name} > {a}, {name} != {b}", lambda x: x > a and x != b),
        (f"{name} * 2 >= {a}, not ({name} >= {a}, {name} <= {b})", lambda x: 2 * x >= a and not a <= x <= b),
    ))  # fmt: skip


@dataclass(slots=True)
class Truth:
    """The views as sets of a window wider than what is asked, with the corrections of each view in their order."""

    low: list[Callable[[int], bool]]
    both: Callable[[int], bool]
    distance: int
    edits: list[tuple[str, str, Callable[[int], bool]]] = field(default_factory=list)

    def of(self, source: Rows) -> dict[str, set[tuple[int, ...]]]:
        """All views."""
        wide = range(4 * WINDOW[0], 4 * WINDOW[-1])
        low = self._corrected("low", (x for x in wide if any(test(x) for test in self.low)), wide)
        both = self._corrected("both", (x for x in low if self.both(x)), wide)
        near = {(x, y) for x in both for y in low if abs(x - y) <= self.distance}
        picked = {(k, v) for k, v in source if v in low} | {(k, v + 1) for k, v in source if v in both}
        chained = set(picked)
        while more := {(k, v) for k, w in picked for z, v in chained if w == z} - chained:
            chained |= more
        return {"low": {(x,) for x in low}, "both": {(x,) for x in both}, "near": near, "picked": picked,
                "chained": chained}  # fmt: skip

    def _corrected(self, view: str, derived: Iterable[int], wide: Iterable[int]) -> set[int]:
        found = set(derived)
        for of, kind, test in self.edits:
            if of == view:
                region = {x for x in wide if test(x)}
                found = found - region if kind == "delete" else found | region
        return found


def write(path: str, rows: Rows, *, first: bool = False) -> None:
    columns = [pa.array([row[i] for row in sorted(rows)], pa.int32()) for i in (0, 1)]
    table = pa.table(columns, names=["k", "v"])
    write_deltalake(path, table, mode="overwrite" if first else "append", configuration=FEED if first else None)


def holds(wh: Warehouse, view: str, row: tuple[int, ...]) -> bool:
    return wh.holds(f"g.{view}", ", ".join(f"{name} = {value}" for name, value in zip("xy", row, strict=False)))


def checked(wh: Warehouse, truth: Truth, source: Rows, rng: Random, place: str) -> None:
    """Every number of the window, some pairs, and all rows."""
    expected = truth.of(source)
    for view in ("low", "both"):
        found = {x for x in WINDOW if holds(wh, view, (x,))}
        assert found == {x for x in WINDOW if (x,) in expected[view]}, (place, view, wh.regions(f"g.{view}"))
    for _ in range(12):
        pair = (rng.choice(WINDOW), rng.choice(WINDOW))
        assert holds(wh, "near", pair) == (pair in expected["near"]), (place, pair)
    for view in ("picked", "chained"):
        assert {(row["k"], row["v"]) for row in wh.read(f"g.{view}").to_pylist()} == expected[view], (place, view)


@pytest.mark.parametrize("seed", SEEDS)
def test_corrections_outlast_random_nights(seed: int, warehouse: str, tmp_path: Path, spark: SparkSession) -> None:
    rng = Random(seed)
    low = [region(rng) for _ in range(rng.randint(1, 2))]
    both, distance = region(rng), rng.randint(0, 2)
    (tmp_path / "specs").mkdir()
    rules = "\n".join(f"      - low(X) :- {text}" for text, _ in low)
    spec = SPEC.format(low=rules, both=both[0], near=distance)
    (tmp_path / "specs" / "g.yaml").write_text(spec)
    truth = Truth([test for _, test in low], both[1], distance)
    source: Rows = {(rng.choice(WINDOW), rng.choice(WINDOW)) for _ in range(8)}
    write(f"{warehouse}/raw/p", source, first=True)
    wh = foreset.open(warehouse, str(tmp_path / "specs"), spark)
    wh.refresh("g", verify=60)
    checked(wh, truth, source, rng, f"seed {seed}, load, {spec}")
    for night in range(1, NIGHTS):
        view, kind = rng.choice(("low", "both")), rng.choice(("delete", "insert"))
        text, test = rng.choice((region, point))(rng, "x")
        wh.edit(f"g.{view}", **{kind: text}, who="chance", why=f"night {night}")
        truth.edits.append((view, kind, test))
        place = f"seed {seed}, {view} {kind} {text}, {spec}"
        checked(wh, truth, source, rng, place)
        gone, came = rng.choice(sorted(source)), (rng.choice(WINDOW), rng.choice(WINDOW))
        DeltaTable(f"{warehouse}/raw/p").delete(f"k = {gone[0]} and v = {gone[1]}")
        source = (source - {gone}) | {came}
        write(f"{warehouse}/raw/p", {came})
        wh.refresh("g", "incremental", verify=60)
        checked(wh, truth, source, rng, f"{place}, night {night}")
