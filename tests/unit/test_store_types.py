"""Column types elsewhere: each is the type of that name, and engines know its name."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from foreset.ir.types import Type, parse_type
from foreset.store.quoting import quoted, ticked
from foreset.store.types import arrow_type, duck_type, row_schema, spark_type

PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp",
         "timestamp_ntz", "decimal(10,2)", "decimal(38,0)")  # fmt: skip
KINDS = [*PLAIN, *(f"array<{name}>" for name in PLAIN), "array<array<int>>"]


def kind_of(text: str) -> Type:
    kind = parse_type(text)
    assert kind is not None
    return kind


@pytest.mark.parametrize("text", KINDS)
def test_every_type_has_its_like(text: str) -> None:
    kind = kind_of(text)
    assert spark_type(kind).simpleString() == text
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT CAST(NULL AS {duck_type(kind)}) AS c").to_arrow_table().schema.field("c")
    assert found.type.equals(arrow_type(kind))


def test_a_schema_has_names_by_position_where_none_are_given() -> None:
    kinds = (kind_of("int"), kind_of("string"))
    assert row_schema(kinds).simpleString() == "struct<c0:int,c1:string>"
    assert row_schema(kinds, ("a b", "c")).fieldNames() == ["a b", "c"]


@pytest.mark.parametrize("name", ["plain", 'a"b', "a`b", "a.b c"])
def test_any_name_can_be_quoted(name: str) -> None:
    with duckdb.connect() as connection:
        connection.register("t", pa.table({name: [1]}))
        assert connection.execute(f"SELECT {quoted(name)} FROM t").fetchall() == [(1,)]
    assert ticked(name)[1:-1].replace("``", "`") == name
