"""What is checked and what was found: plain values between the refresh and Great Expectations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreset.ir.expectations import Expectation, Scope
from foreset.ir.program import Column
from foreset.ir.terms import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EXAMPLES = 20
SPARK_ONLY = frozenset((
    "expect_column_min_to_be_between", "expect_column_max_to_be_between", "expect_column_sum_to_be_between",
    "expect_column_mean_to_be_between",
))  # fmt: skip
_EXACT_DIGITS = 15  # decimals of so many digits are told apart as doubles


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one view, in process or in Spark, and what is expected of them."""

    view: str
    scope: Scope
    columns: tuple[Column, ...]
    expectations: tuple[Expectation, ...]
    count: int
    rows: Sequence[Row] | None = None
    frame: DataFrame | None = None  # under the names of the columns; those of a `deny:` are only counted
    on_pages: bool = True  # or only counted


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one expectation; `error` says why it could not be evaluated."""

    success: bool
    unexpected: int = 0
    examples: tuple[Row, ...] = ()
    observed: str = ""
    error: str = ""


def fits_in_process(columns: Sequence[Column], expectations: Sequence[Expectation]) -> bool:
    """True where pandas gives the answers that Spark would.

    Not so for long decimals, which Great Expectations would compare as doubles there, and for
    sums and extremes of columns that hold Python values.
    """
    exact = all(column.type.name != "decimal" or column.type.precision <= _EXACT_DIGITS for column in columns)
    return exact and not any(expectation.type in SPARK_ONLY for expectation in expectations)
