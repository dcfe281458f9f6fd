"""Accumulators in SQL, of all members of a group and after a change: what `values/aggregates.py` gives.

Counts, exact totals and extrema, which do not depend on the order of members. Sums of
doubles, texts, percentiles, sets and what users define are left to Python.
"""

from __future__ import annotations

from collections.abc import Sequence

from foreset.ir.aggregates import SUMS, Accumulator, Aggregation, Kind
from foreset.ir.types import Type
from foreset.store.types import column_names, duck_type

_EXTREMA = {Kind.LEAST: "min", Kind.AT_LEAST: "min", Kind.GREATEST: "max", Kind.AT_GREATEST: "max"}
_KEYS = {Kind.AT_LEAST: Kind.LEAST, Kind.AT_GREATEST: Kind.GREATEST}  # what tells the extreme key of such a value


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
            return f"count({values[0]})" if len(values) == 1 else f"count(*) {filled}"
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


# ---------------------------------------------------------------- after a change
def folded(aggregation: Aggregation, touched: str, old: str, came: str, went: str) -> str:
    """One row for each group of `touched`: its accumulators after the change, and whether they `must_be_read`.

    `came` and `went` are what `grouped` makes of the members that came and that went.
    """
    names = column_names(aggregation.groups + len(aggregation.accumulators))
    groups, held = names[: aggregation.groups], names[aggregation.groups :]
    columns = [f"t.{name}" for name in groups]
    columns += [f"{_after(aggregation, place)} AS {name}" for place, name in enumerate(held)]
    gone = [_gone(aggregation, place) for place, each in enumerate(aggregation.accumulators) if each.kind in _EXTREMA]
    left = " OR ".join(gone) or "false"
    columns.append(f"{_sum_of(held[0], 'BIGINT')} > 0 AND coalesce({left}, false) AS must_be_read")

    def beside(table: str, alias: str) -> str:
        met = " AND ".join(f"t.{name} IS NOT DISTINCT FROM {alias}.{name}" for name in groups)
        return f"LEFT JOIN {table} {alias} ON {met or 'true'}"

    joined = " ".join(beside(table, alias) for table, alias in ((old, "o"), (came, "p"), (went, "m")))
    return f"SELECT {', '.join(columns)} FROM {touched} t {joined}"


def _after(aggregation: Aggregation, place: int) -> str:
    each = aggregation.accumulators[place]
    name = _column(aggregation, place)
    if each.kind not in _EXTREMA:
        total = _sum_of(name, duck_type(each.type))
        if each.kind not in SUMS:
            return total
        filled = _column(aggregation, aggregation.place(Kind.FILLED, each.inputs))
        return f"CASE WHEN {_sum_of(filled, 'BIGINT')} <> 0 THEN {total} END"
    least = _EXTREMA[each.kind] == "min"
    key = _key(aggregation, place)
    both = f"{'least' if least else 'greatest'}(o.{name}, p.{name})"
    return f"CASE WHEN {_better(aggregation, place)} THEN p.{name} WHEN p.{key} = o.{key} THEN {both} ELSE o.{name} END"


def _gone(aggregation: Aggregation, place: int) -> str:
    """The extremum went, and nothing better came."""
    key = _key(aggregation, place)
    return f"(m.{key} = o.{key} AND NOT {_better(aggregation, place)})"


def _better(aggregation: Aggregation, place: int) -> str:
    """Of the members that came one goes beyond the old extremum, or there was none."""
    key, sign = _key(aggregation, place), "<" if _EXTREMA[aggregation.accumulators[place].kind] == "min" else ">"
    return f"coalesce(p.{key} {sign} o.{key}, p.{key} IS NOT NULL)"


def _key(aggregation: Aggregation, place: int) -> str:
    """The column that tells which member is the extreme one."""
    each = aggregation.accumulators[place]
    kind = _KEYS.get(each.kind)
    return _column(aggregation, place if kind is None else aggregation.place(kind, each.inputs[::-1]))


def _sum_of(name: str, kind: str) -> str:
    old, came, went = (f"coalesce({alias}.{name}, CAST(0 AS {kind}))" for alias in "opm")
    return f"CAST({old} + {came} - {went} AS {kind})"


def _column(aggregation: Aggregation, place: int) -> str:
    return column_names(aggregation.groups + place + 1)[-1]


def _odd(kind: Type) -> bool:
    """Zeros of doubles have signs in DuckDB, and their sums an order; arrays hold what may be such."""
    return kind.is_fractional or kind.element is not None
