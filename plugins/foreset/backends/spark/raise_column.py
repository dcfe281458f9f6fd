"""Columns that stop the refresh for rows that a function does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column


def null_or(value: Column, result: Column) -> Column:
    """NULL where `value` is NULL."""
    return F.when(value.isNotNull(), result)


def fail_unless(condition: Column, value: Column, result: Column, reason: str) -> Column:
    """`result` where `condition` holds, NULL where `value` is NULL, and a failure elsewhere."""
    return F.when(value.isNull(), F.lit(None)).when(condition, result).otherwise(F.raise_error(F.lit(reason)))
