"""Located relations by Spark: the rows that tests/unit/test_located.py finds by the other readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.located_places import COLUMNS, GONE, ROWS, counted, places

from foreset.backends.spark.frames import Piece
from foreset.ir.steps import Ref
from foreset.ir.versions import Version
from foreset.machine.stratum import Reads
from foreset.records.strata import StagedFile
from foreset.relations.frames import frame, pieces, spark_port
from foreset.relations.located import AtHand, Located, staged
from foreset.store.spark_values import collected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
KINDS = [column.type for column in COLUMNS]
ALL = Reads((), (), (), building=False, tallying=True)


def test_every_place(tmp_path: Path, spark: SparkSession) -> None:
    there = places(tmp_path)
    for kind, located in there.items():
        rows = collected(frame(spark, located, distinct=True), KINDS)
        assert sorted(rows, key=repr) == sorted(ROWS, key=repr), f"{kind}: each once"
        assert frame(spark, located).columns == list(located.names), kind
        port = spark_port(spark, {"r": tuple(KINDS)}, str(tmp_path / "kept"))
        port.put([located], ALL)
        assert set(port.rows(Ref("r", Version.OLD))) == ROWS, kind
    assert frame(spark, there["source"]).count() == 2 * len(ROWS), "every copy, where nobody minds"


def test_no_rows_and_counters(tmp_path: Path, spark: SparkSession) -> None:
    nothing = Located("r", Version.OLD, COLUMNS)
    assert frame(spark, nothing).columns == list(nothing.names)
    assert pieces(spark, nothing) == ()
    port = spark_port(spark, {"r": tuple(KINDS)}, str(tmp_path / "kept"))
    port.count("r", counted(tmp_path))
    (wanted,) = pieces(spark, Located("r", Version.OLD, COLUMNS, AtHand({(1, "x"), *GONE})))
    lookup = port.backend.counters["r"].stored
    assert lookup is not None
    assert [tuple(row) for row in lookup(wanted).collect()] == [(1, "x", 2, 1)]


def test_what_nobody_has_counted_is_counted_by_its_write(tmp_path: Path, spark: SparkSession) -> None:
    port, ref = spark_port(spark, {"r": tuple(KINDS)}, str(tmp_path / "kept")), Ref("r", Version.PLUS)
    (rows,) = pieces(spark, Located("r", Version.PLUS, COLUMNS, AtHand(ROWS)))
    port.frames.put(ref, Piece(rows.frame), Piece(rows.frame.where("false")))
    file = port.stage(ref, COLUMNS, str(tmp_path / "plus"))
    assert file.rows == len(ROWS)
    (back,) = pieces(spark, staged("r", Version.PLUS, COLUMNS, file))
    assert sorted(collected(back.frame, KINDS), key=repr) == sorted(ROWS, key=repr)
    port.frames.put(ref, Piece(rows.frame.where("false")))
    assert port.stage(ref, COLUMNS, str(tmp_path / "nothing")) == StagedFile()
