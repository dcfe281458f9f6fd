"""What Spark stages is what tables take over: each row is written once, in canonical form and in order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.roads import FEED
from tests.unit.test_laid import SPEC, VALUES, columns_of, loaded

import foreset
from foreset.backends.spark.frames import Piece
from foreset.ir.steps import Ref
from foreset.ir.versions import Version
from foreset.relations import staged
from foreset.relations.frames import spark_port
from foreset.relations.located import staged as at
from foreset.store import arrow, signed
from foreset.store.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = pytest.mark.spark
FLAT = [kind for kind in VALUES if "array" not in kind]
KINDS = {f"v{i}": kind for i, kind in enumerate(FLAT)}


def test_no_value_is_skipped_by_what_the_log_says_of_files_of_spark(
    spark: SparkSession, warehouse: str, tmp_path: Path
) -> None:
    """A file for each row; Delta's reader in Spark goes by the bounds in the log."""
    most, schema = max(map(len, VALUES.values())), arrow.schema_of(KINDS)
    padded = {name: [*VALUES[kind], *[None] * most][:most] for name, kind in KINDS.items()}
    source = pa.table([pa.array(padded[name], schema.field(name).type) for name in KINDS], schema=schema)
    pq.write_table(source, tmp_path / "source.parquet")
    there, columns = spark.read.parquet(str(tmp_path / "source.parquet")), columns_of(KINDS)
    kinds, ref = {"v": tuple(column.type for column in columns)}, Ref("v", Version.PLUS)
    port = spark_port(spark, kinds, f"{warehouse}/kept")
    names = [f"c{i}" for i in range(len(KINDS))]
    values = there.collect()
    ones = (spark.createDataFrame([row], there.schema).toDF(*names) for row in values)
    port.frames.put(ref, *(Piece(one) for one in ones))
    layout = Layout(warehouse, "g")
    file = port.stage(ref, columns, f"{layout.runs}/r/plus", (0,))
    found = at("v", Version.PLUS, columns, file).laid
    assert found is not None
    path = loaded(layout, KINDS, found)
    rows = spark.read.format("delta").load(path)
    for name, kind in KINDS.items():
        for value in VALUES[kind]:
            assert rows.where(_equal(name, value, kind)).count() == 1, (kind, value)
    assert signed.describe(path, 1).visible == most


def _equal(name: str, value: Any, kind: str) -> Column:
    from pyspark.sql import functions as sf

    literal = sf.lit(str(value)) if kind.startswith(("decimal", "date", "time")) else sf.lit(value)
    return sf.isnan(name) if isinstance(value, float) and math.isnan(value) else sf.col(name) == literal.cast(kind)


def test_a_load_and_a_night_are_written_once(
    spark: SparkSession, warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESET_ENGINE", "spark")
    monkeypatch.setattr(staged, "MANY_ROWS", 100)
    (tmp_path / "g.yaml").write_text(SPEC)
    wh = foreset.open(warehouse, str(tmp_path), spark)
    for numbers, mode in ((range(1, 1_001), "overwrite"), (range(2_000, 2_150), "append")):
        rows = pa.table({"a": pa.array(reversed(numbers)), "b": pa.array(-n for n in reversed(numbers))})
        write_deltalake(f"{warehouse}/t/edge", rows, mode=mode, configuration=FEED if mode == "overwrite" else None)
        wh.refresh("g", verify=20)
        for view in ("step", "both"):
            files = list(Path(warehouse, "g", view).rglob("*.parquet"))
            kept = {file.stat().st_ino for file in Path(warehouse, "_foreset/g/runs").rglob("*.parquet")}
            assert {file.stat().st_ino for file in files} <= kept
            for file in files:
                values = pq.read_table(file)["a"].to_pylist()
                assert values == sorted(values)
    assert wh.read("g.step").num_rows == 1_150
    assert wh.read("g.both").num_rows == 2_300
    assert {view["engine"] for view in wh.manifest("g")[-1]["extra"]["strata"]} == {"spark"}
    assert all(uri.endswith(".parquet") for uri in DeltaTable(f"{warehouse}/g/step").file_uris())
