"""Accumulators in SQL: over all members of a group, where DuckDB gives what `reference/aggregates.py` gives.

Counts, exact totals and extrema, which do not depend on the order of members. Sums of
doubles, texts, percentiles, sets and what users define are left to the reference.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreset.ir.aggregates import Accumulator, Aggregation, Kind
from foreset.ir.types import Type
from foreset.store.types import column_names, duck_type

_EXTREMA = {Kind.LEAST: "min", Kind.AT_LEAST: "min", Kind.GREATEST: "max", Kind.AT_GREATEST: "max"}


def grouped(aggregation: Aggregation, kinds: Sequence[Type], members: str) -> str | None:
    """One row for each group of `members` (under `c0`, `c1` ...), under the same names; None where it takes Python.

    `kinds` are the types of the group's own columns.
    """
    if any(map(_odd, kinds)):
        return None
    names = column_names(aggregation.groups + len(aggregation.accumulators))
    groups, held = names[: aggregation.groups], names[aggregation.groups :]
    inputs = column_names(aggregation.groups + len(aggregation.element))[aggregation.groups :]
    columns = [_whole(each, inputs, aggregation) for each in aggregation.accumulators]
    known = [text for text in columns if text is not None]
    if len(known) < len(columns):
        return None
    made = [f"{text} AS {name}" for text, name in zip(known, held, strict=True)]
    by = f"GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join([*groups, *made])} FROM ({members}) {by} HAVING count(*) > 0"


def _whole(each: Accumulator, inputs: Sequence[str], aggregation: Aggregation) -> str | None:
    values = [inputs[i] for i in each.inputs]
    kinds = [aggregation.element[i] for i in each.inputs]
    if any(map(_odd, kinds)):
        return None
    filled = f"FILTER (WHERE {' AND '.join(f'{value} IS NOT NULL' for value in values)})" if values else ""
    kind = duck_type(each.type)
    match each.kind:
        case Kind.MEMBERS | Kind.FILLED:
            return f"count(*) {filled}"
        case Kind.TOTAL:
            return f"CAST(sum({values[0]}) AS {kind})"
        case Kind.TRUES | Kind.FALSES:
            wanted = "" if each.kind is Kind.TRUES else "NOT "
            return f"CAST(sum(CAST({wanted}{values[0]} AS INTEGER)) AS {kind})"
        case Kind.LEAST | Kind.GREATEST:
            return f"{_EXTREMA[each.kind]}({values[0]}) {filled}"
        case Kind.AT_LEAST | Kind.AT_GREATEST:
            pair = f"struct_pack(k := {values[1]}, v := {values[0]})"
            return f"({_EXTREMA[each.kind]}({pair}) {filled}).v"
    return None


def _odd(kind: Type) -> bool:
    """Zeros of doubles have signs in DuckDB, and their sums an order; arrays hold what may be such."""
    return kind.is_fractional or kind.element is not None
