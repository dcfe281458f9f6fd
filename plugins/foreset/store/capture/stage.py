"""Differentials on disk: computed once, read by every stratum and by every retry.

Counts come with the write itself (`observe`), not from a second job. Writing replaces what
an earlier try of the same range left behind, so that a retry gives the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from foreset.ir.program import Column
from foreset.ir.types import BIGINT
from foreset.store.capture.by_key import Alone
from foreset.store.capture.feed import NET, SIGN, crossings, netted
from foreset.store.capture.rows import schema_of
from foreset.store.counted import write_seeing
from foreset.store.layout import change_folder, join
from foreset.store.quoting import ticked

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame, SparkSession

FEW = 500_000  # so many touched rows are sent to every worker
_BOUNDED = ("tinyint", "smallint", "int", "bigint", "date", "decimal", "string")
_MOST_BOUNDS = 8


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows of a differential."""

    inserted: int = 0
    deleted: int = 0
    single: bool = False  # it is known that no two rows of the new version agree on the source's key, copies included


class Inconsistent(Exception):
    """The feed and the table disagree in so many rows: no error for users, the next way is tried."""

    def __init__(self, rows: int) -> None:
        super().__init__(f"feed and table disagree in {rows} rows")


def stage_net(
    spark: SparkSession,
    signed: DataFrame,
    now: DataFrame,
    columns: tuple[Column, ...],
    directory: str,
    key: Alone | None = None,
) -> Counts:
    """From signed copies and the new version to the staged differential.

    Two small jobs rather than one: when nothing is left after netting, the table is not
    touched at all; and the extent of what is left lets Delta skip files of the table.
    """
    from pyspark.sql import functions as f

    path = join(directory, "touched")
    limits: dict[str, Expression] = {}
    bounded = [c for c in columns if c.type.name in _BOUNDED][:_MOST_BOUNDS]
    for i, column in enumerate(bounded):
        value = f.col(ticked(column.name))
        limits |= {f"low_{i}": f.min(value), f"high_{i}": f.max(value), f"nulls_{i}": f.count_if(value.isNull())}
    counts = {"rows": f.count(f.lit(1)), "net": f.sum(NET)}
    seen = write_seeing(netted(signed, columns), path, {**counts, **limits})
    if not seen["rows"]:
        return Counts()
    within = {
        c: _within(f.col(ticked(c.name)), seen[f"low_{i}"], seen[f"high_{i}"], nulls=bool(seen[f"nulls_{i}"]))
        for i, c in enumerate(bounded)
    }
    touched = spark.read.schema(schema_of((*columns, Column(NET, BIGINT)))).parquet(path)
    if key is not None:
        by_key = _where(now, [within[c] for c in key.key if c in within])
        if (told := key.told(touched, by_key, int(seen["net"]))) is not None:
            return replace(stage(told, directory), single=True)
    table = _where(now, list(within.values()))
    return stage(crossings(touched, table, columns, few=int(seen["rows"]) <= FEW), directory)


def _where(rows: DataFrame, tests: list[Expression]) -> DataFrame:
    return rows.where(reduce(and_, tests)) if tests else rows


def _within(value: Expression, low: Any, high: Any, *, nulls: bool) -> Expression:  # noqa: ANN401 - a value of any type
    if low is None:
        return value.isNull()
    between = value.between(low, high)
    return between | value.isNull() if nulls else between


def stage(signed: DataFrame, directory: str) -> Counts:
    """Write rows with a sign in `SIGN` below `directory`, and say how many came and went."""
    from pyspark.sql import functions as f

    def number(sign: int) -> Expression:
        return f.count_if(f.col(SIGN) == sign)

    metrics = {"inserted": number(1), "deleted": number(-1), "impossible": number(0)}
    seen = write_seeing(signed, change_folder(directory), metrics, (SIGN,))
    if seen["impossible"]:
        raise Inconsistent(int(seen["impossible"]))
    return Counts(int(seen["inserted"]), int(seen["deleted"]))
