"""Python and Spark give the same value, or fail both, on every argument of the grid.

Cases on the same types of arguments share a query, which is what makes the grid affordable.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from tests.function_grid import Case, cases

from foreset.backends.spark.functions import compile_call
from foreset.ir.terms import Row, Value
from foreset.ir.types import STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from foreset.ir.values import canonical
from foreset.store.types import row_schema, spark_type
from foreset.values.functions import Failure, call

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.spark
FAILED = object()
FAILURES_TRIED, TEXTS_TRIED = 2, 8  # each costs a query of its own; text is where Spark would guess


def expected(case: Case, row: Row) -> object:
    kinds = tuple(argument.type for argument in case.arguments)
    try:
        return call(case.function, (*row, *case.constants), kinds, case.result)
    except Failure:
        return FAILED


def column(case: Case) -> Column:
    args = [F.col(f"c{i}").cast(spark_type(kind)) for i, kind in enumerate(case.kinds)] + [
        F.lit(number) for number in case.constants
    ]
    kinds = tuple(argument.type for argument in case.arguments)
    return compile_call(case.function, args, kinds, case.result)


@dataclass(frozen=True)
class Group:
    """All cases on arguments of the same types."""

    kinds: tuple[Type, ...]
    cases: tuple[Case, ...]

    def frame(self, spark: SparkSession, rows: list[Row], flags: list[list[bool]]) -> DataFrame:
        """The rows, each with a flag per case: this one is for you."""
        kinds = tuple(TIMESTAMP_NTZ if kind == TIMESTAMP else kind for kind in self.kinds)
        schema = row_schema(kinds, tuple(f"c{i}" for i in range(len(kinds))))
        schema.add("flags", spark_types.ArrayType(spark_types.BooleanType()))
        return spark.createDataFrame([(*row, flag) for row, flag in zip(rows, flags, strict=True)], schema)

    def column(self, position: int) -> Column:
        """The value of one case where its flag is set."""
        return F.when(F.col("flags")[position], column(self.cases[position])).alias(f"v{position}")


def groups() -> list[Group]:
    found: dict[tuple[Type, ...], list[Case]] = defaultdict(list)
    for case in cases():
        found[case.kinds].append(case)
    return [Group(kinds, tuple(some)) for kinds, some in found.items()]


def titled(group: Group) -> str:
    return ",".join(map(str, group.kinds))


def same(a: object, b: object) -> bool:
    return repr(a) == repr(b)


@pytest.mark.parametrize("group", groups(), ids=titled)
def test_python_and_spark_agree(spark: SparkSession, group: Group) -> None:
    rows = list(dict.fromkeys(row for case in group.cases for row in case.rows))
    wanted = [{row: expected(case, row) for row in case.rows} for case in group.cases]
    flags = [[values.get(row, FAILED) is not FAILED for values in wanted] for row in rows]
    frame = group.frame(spark, rows, flags)
    result = frame.select(*(group.column(i) for i in range(len(group.cases))))
    assert [field.dataType for field in result.schema.fields] == [spark_type(case.result) for case in group.cases]
    found = [tuple(row) for row in without_zones(result).collect()]
    wrong = [
        (case.title, row, value, wanted[i][row])
        for row, values, asked in zip(rows, found, flags, strict=True)
        for i, (case, value) in enumerate(zip(group.cases, values, strict=True))
        if asked[i] and not agree(value, wanted[i][row], case.result)
    ]
    assert not wrong


def without_zones(frame: DataFrame) -> DataFrame:
    """Python cannot read the first day of a calendar as a point in time."""
    stamp = spark_types.TimestampType()
    ntz = spark_types.TimestampNTZType()
    return frame.select(*(F.col(f.name).cast(ntz) if f.dataType == stamp else F.col(f.name) for f in frame.schema))


def agree(found: Value, wanted: object, kind: Type) -> bool:
    """The same value; and Spark gives no -0.0."""
    return same(canonical(found, kind), wanted) and not same(found, -0.0)


@pytest.mark.parametrize("case", [case for case in cases() if case.failing], ids=lambda case: case.title)
def test_what_fails_in_python_fails_in_spark(spark: SparkSession, case: Case) -> None:
    bad = [row for row in case.rows if expected(case, row) is FAILED]
    most = TEXTS_TRIED if case.kinds == (STRING,) else FAILURES_TRIED
    bad = Random(0).sample(bad, min(len(bad), most))
    group = Group(case.kinds, (case,))
    assert not [row for row in bad if not fails(group.frame(spark, [row], [[True]]).select(group.column(0)))]


def fails(frame: DataFrame) -> bool:
    try:
        frame.collect()
    except PySparkException:
        return True
    return False
