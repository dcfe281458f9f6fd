"""Domains that Spark reads: arguments pushed to the source, options that no spec may set."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.test_domains import AGE, PEOPLE, function, write_csv, write_parquet

from foreset.domains.asking import Calls
from foreset.domains.builtin import SparkReader
from foreset.domains.connections import Connection
from foreset.domains.provider import Access, DomainFailed
from foreset.ir.domains import Domain

WHOLE = function("all", "", "name string, age int")


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_spark_reads_answers_by_its_columns(spark, tmp_path: Path, kind: str) -> None:
    {"csv": write_csv, "parquet": write_parquet}[kind](tmp_path / "people")
    options = {"format": kind, "path": "people", **({"header": "true"} if kind == "csv" else {})}
    domain = Domain("people", "spark", (AGE, WHOLE), options=options)
    asking = Calls(str(tmp_path / "run"), None, Access(str(tmp_path), spark=lambda: spark))
    found = asking.answers(domain, AGE, [("ann",), ("it's",)])
    assert found == {("ann",): ((30,), (31,)), ("it's",): ()}
    assert asking.answers(domain, WHOLE, [()])[()] == tuple(sorted(PEOPLE))


@pytest.mark.parametrize(
    ("options", "connection", "says"),
    [
        ({"format": "text", "path": "x"}, None, "format `text` is not known"),
        ({"format": "jdbc", "query": "select 1", "table": "t"}, "db", "option `query` is not known"),
        ({"format": "jdbc", "url": "jdbc:x", "table": "t"}, "db", "option `url` is not known"),
        ({"format": "parquet", "path": "../x"}, None, "not below the warehouse"),
        ({"format": "jdbc", "table": "(select 1) t"}, "db", "a plain name"),
        ({"format": "jdbc", "table": "t; drop table t"}, "db", "a plain name"),
        ({"format": "jdbc", "table": "public.people"}, None, "needs `connection:`"),
    ],
)
def test_options_are_few(tmp_path: Path, options: dict[str, str], connection: str | None, says: str) -> None:
    class Reader:
        def format(self, _: str) -> Reader:
            return self

        def options(self, **_: str) -> Reader:
            return self

        def load(self, *_: str) -> object:
            raise AssertionError("Spark was asked")

    domain = Domain("people", "spark", (AGE,), connection=connection, options=options)
    access = Access(
        str(tmp_path),
        connection=lambda name: Connection(name, "jdbc"),
        spark=type("Session", (), {"read": Reader()}),
    )
    with pytest.raises(DomainFailed, match="domain|format|option|warehouse") as refused:
        SparkReader().answer(domain, AGE, [("ann",)], access)
    assert says in str(refused.value)
