"""Timestamps pass between Python and Spark in UTC, whatever the time zone of this process is."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foreset.domains.asking import Calls
from foreset.domains.provider import Access
from foreset.ir.domains import Domain, DomainFunction
from foreset.ir.program import Column
from foreset.ir.types import STRING, TIMESTAMP, TIMESTAMP_NTZ, array
from foreset.session.connect import make_active
from foreset.store.spark_values import collected, literal

pytestmark = pytest.mark.spark
KINDS = (TIMESTAMP, TIMESTAMP_NTZ, array(TIMESTAMP))
# The last two are one hour apart in UTC and the same in New York, where clocks go back between them.
TIMES = [
    dt.datetime(1925, 5, 6, 7, 8, 9, 10),
    dt.datetime(2024, 1, 2, 3, 4, 5),
    dt.datetime(2024, 11, 3, 5, 30),
    dt.datetime(2024, 11, 3, 6, 30),
]


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"], autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_constants_go_and_rows_come_back_in_utc(spark) -> None:
    make_active(spark)  # a constant asks the active session of the thread, which may be a closed one of another test
    for at in TIMES:
        row = (at, at, (at, at))
        sent = spark.range(1).select(*(literal(value, kind) for value, kind in zip(row, KINDS, strict=True)))
        assert collected(sent, KINDS) == [row]
        text = sent.toDF("a", "b", "c").selectExpr("string(a)", "string(b)", "string(c[1])").collect()
        assert {dt.datetime.fromisoformat(value) for value in text[0]} == {at}, "Spark itself has it so"


def test_what_the_spark_provider_reads_is_in_utc(spark, tmp_path: Path) -> None:
    zoned = pa.array([at.replace(tzinfo=dt.UTC) for at in TIMES], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"k": list("abcd"), "t": zoned}), tmp_path / "rows")
    key, when = Column("k", STRING), Column("t", TIMESTAMP)
    got, by = DomainFunction("got", (key,), (when,)), DomainFunction("by", (when,), (key,))
    domain = Domain("d", "spark", (got, by), options={"format": "parquet", "path": "rows"})
    calls = Calls(str(tmp_path / "run"), None, Access(str(tmp_path), spark=lambda: spark))
    assert calls.answers(domain, got, [(k,) for k in "abcd"]) == {
        (k,): ((at,),) for k, at in zip("abcd", TIMES, strict=True)
    }
    assert calls.answers(domain, by, [(at,) for at in TIMES]) == {
        (at,): ((k,),) for k, at in zip("abcd", TIMES, strict=True)
    }
