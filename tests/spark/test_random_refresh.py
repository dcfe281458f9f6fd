"""Random programs and nights through real Delta tables, against full evaluation and clingo.

30 in `make test`, of which two run their steps in Spark and the others in process, over the same tables; `make
fuzz-spark N=500` runs as many as asked, each fifth in Spark, or all of them with FORESET_ENGINE=spark. Every other one
has aggregates. The tables are bags: rows come in several copies, and copies come and go without changing a view.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.property.aggregate_programs import random_aggregates
from tests.property.checks import truth
from tests.property.programs import random_case
from tests.refresh_cases import Case, in_normal_form, load_program, spec_text
from tests.roads import FEED

import foreset
from foreset.backends.spark import cutting
from foreset.ir.program import Source, View
from foreset.ir.terms import Row
from foreset.ir.values import canonical
from foreset.plan.frozen import Request
from foreset.refresh.capturing import capture_sources
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.context import Context
from foreset.refresh.maintaining import maintain
from foreset.refresh.opening import open_refresh, reopen
from foreset.store.types import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from foreset.store.layout import Layout

pytestmark = pytest.mark.spark

SEED = 77_000
ASKED, ENGINE = os.environ.get("FORESET_FUZZ_SPARK"), os.environ.get("FORESET_ENGINE")
PROGRAMS, IN_SPARK = (int(ASKED), 5) if ASKED else (30, 15)  # one in so many
NIGHTS = 5 if ASKED else 3
MODES = ("auto", "incremental", "recompute")


def case_of(seed: int) -> Case:
    """The program of a seed: every other one has aggregates, and no constant of which the text leaves the type open."""
    if seed % 2:
        return random_case(seed)
    made = (random_aggregates(100 * seed + n) for n in range(100))
    return next(case for case in made if load_program(spec_text(case.program, "found"), "").rules == case.program.rules)


def bag(rows: frozenset[Row], rng: Random) -> list[Row]:
    """Every row once, some twice."""
    copies = [row for row in sorted(rows, key=repr) for _ in range(rng.choice((1, 1, 2)))]
    rng.shuffle(copies)
    return copies


def write(path: str, source: Source, rows: list[Row], *, first: bool) -> None:
    columns = [pa.array([row[i] for row in rows], arrow_type(c.type)) for i, c in enumerate(source.columns)]
    table = pa.table(columns, names=[column.name for column in source.columns])
    feed = FEED if first else None
    write_deltalake(path, table, mode="overwrite", configuration=feed)


def canonical_rows(table: pa.Table, view: View) -> frozenset[Row]:
    kinds = [column.type for column in view.columns]
    rows = (tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in table.to_pylist())
    return frozenset(tuple(canonical(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in rows)


def in_parts(spark: SparkSession, layout: Layout, spec: tuple[str, str], refresh_id: str) -> None:
    """A refresh as Airflow's tasks do it: each stratum in a context of its own, deletions kept for a retry."""
    opened = open_refresh(spark, layout, spec, Request(refresh_id, "incremental"))
    assert isinstance(opened, Context)
    capture_sources(opened)
    for stratum in opened.layering.strata:
        maintain(reopen(spark, layout, refresh_id), stratum.number, in_parts=True)
    verify(reopen(spark, layout, refresh_id))
    commit(reopen(spark, layout, refresh_id))


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS))
def test_random_program(
    seed: int, warehouse: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (seed - SEED) % IN_SPARK and ENGINE is None:
        monkeypatch.setenv("FORESET_ENGINE", "auto")
    if seed // 2 % 2:
        monkeypatch.setattr(cutting, "AT_HAND", -1)  # what is computed on the way is written, and read from its files
    case, rng = case_of(seed), Random(seed)
    program = in_normal_form(case.program)[0]
    states = truth(case).states  # by full evaluation, and by clingo where it can say the program
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "found.yaml").write_text(spec_text(case.program, "found"))
    wh = foreset.open(warehouse, str(tmp_path / "specs"), spark)
    sources: dict[str, frozenset[Row]] = {source.name: frozenset() for source in program.sources}
    before = {view.name: frozenset[Row]() for view in program.views}
    for number, night in enumerate(case.nights[:NIGHTS]):
        for source in program.sources:
            delta = night.get(source.name)
            if number == 0 or delta:
                sources[source.name] = (
                    (sources[source.name] - delta.minus) | delta.plus if delta else sources[source.name]
                )
                path = f"{warehouse}/{source.table}"
                write(path, source, bag(sources[source.name], rng), first=number == 0)
        if number == NIGHTS - 1:  # as Airflow's tasks do it, each part of a stratum in a context of its own
            in_parts(spark, wh.layout("found"), wh.spec("found"), f"in-parts-{number}")
        else:
            wh.refresh("found", MODES[number % 2], verify=60)
        now = states[number]
        for view in program.views:
            plus, minus = (canonical_rows(t, view) for t in wh.changes(f"found.{view.name}"))
            place = f"seed {seed}, night {number + 1}, view {view.name}"
            if wh.manifest("found")[-1]["seq"] == number + 1:
                assert plus == now[view.name] - before[view.name], place
                assert minus == before[view.name] - now[view.name], place
            assert canonical_rows(wh.read(f"found.{view.name}"), view) == now[view.name], place
            before[view.name] = now[view.name]
