"""Accumulators as Spark columns: over all members of a group, as `values/aggregates.py` has them.

What depends on order goes through a sorted array and a fold from its start, step by step
what values/aggregates.py does, so that doubles agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from foreset.backends.spark.functions import compile_call
from foreset.backends.spark.terms import literal_column
from foreset.ir.aggregates import STATE, Accumulator, Aggregation, Fold, InPython, Kind, Part
from foreset.ir.terms import Call, Const, Term, Var
from foreset.ir.types import BIGINT, DOUBLE, Type
from foreset.store.spark_values import literal, without_zone
from foreset.store.types import column_names, spark_type
from foreset.values.terms import known_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ZERO = 0.0


def grouped(members: DataFrame, aggregation: Aggregation, fragile: AbstractSet[int] = frozenset()) -> DataFrame:
    """One row for each group of `members`, under the names of steps.

    `fragile`: columns of members whose computation may fail. Spark leaves out what nobody reads, so they are all read.
    """
    groups, held = names_of(aggregation)
    members = told_apart(members, aggregation)
    inputs = elements(aggregation)
    columns = [
        whole(each, inputs).cast(spark_type(each.type)).alias(name)
        for name, each in zip(held, aggregation.accumulators, strict=True)
    ]
    unread = sorted({place - len(groups) for place in fragile if place >= len(groups)} - _evaluated(aggregation))
    seen = [F.max(F.hash(inputs[i][0])).alias(f"seen{i}") for i in unread]
    found = members.groupBy(*groups).agg(*columns, *seen)
    if not groups:  # then Spark has a row for nothing too
        found = found.where(F.col(held[0]) > 0)
    for i in unread:
        found = found.where(F.col(f"seen{i}").isNotNull())
    return found.select(*groups, *held) if seen else found


def _evaluated(aggregation: Aggregation) -> AbstractSet[int]:
    """The columns of the element without which some accumulator cannot be computed."""
    counted = (Kind.MEMBERS, Kind.FILLED)
    return {i for each in aggregation.accumulators if each.kind not in counted for i in each.inputs}


def names_of(aggregation: Aggregation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a view of groups: those of the group, those of its accumulators."""
    names = column_names(aggregation.groups + len(aggregation.accumulators))
    return names[: aggregation.groups], names[aggregation.groups :]


def told_apart(members: DataFrame, aggregation: Aggregation) -> DataFrame:
    """The members with names of their own for the element: those of accumulators would hide them from Spark."""
    names = column_names(aggregation.groups + len(aggregation.element))
    own = [F.col(name).alias(f"e{i}") for i, name in enumerate(names[aggregation.groups :])]
    return members.select(*names[: aggregation.groups], *own)


def elements(aggregation: Aggregation) -> tuple[tuple[Column, Type], ...]:
    """The element's columns, told apart, with their types."""
    return tuple((F.col(f"e{i}"), kind) for i, kind in enumerate(aggregation.element))


Inputs = Sequence[tuple["Column", Type]]


def filled(accumulator: Accumulator, inputs: Inputs) -> Column:
    """No input is NULL."""
    tests = [inputs[i][0].isNotNull() for i in accumulator.inputs]
    return reduce(lambda a, b: a & b, tests) if tests else F.lit(True)


def whole(accumulator: Accumulator, inputs: Inputs) -> Column:  # noqa: C901, PLR0911 - one case for each kind
    """The accumulator over all members of a group."""
    there = filled(accumulator, inputs)
    values = [inputs[i][0] for i in accumulator.inputs]
    match accumulator.kind:
        case Kind.MEMBERS:
            return F.count(F.lit(1))
        case Kind.FILLED:
            return F.count(F.when(there, F.lit(1)))
        case Kind.TOTAL:
            return F.sum(summand(inputs[accumulator.inputs[0]], accumulator))
        case Kind.TRUES | Kind.FALSES:
            return F.sum(truth(values[0], accumulator))
        case Kind.SET | Kind.LIST:
            value = values[0] if values else inputs[0][0]
            ordered = F.sort_array(F.collect_list(F.struct(value.alias("v"))))
            return F.transform(ordered, lambda each: each["v"])
        case Kind.LEAST | Kind.AT_LEAST:
            return best(F.min, accumulator, F.when(there, pair(accumulator, values)))
        case Kind.GREATEST | Kind.AT_GREATEST:
            return best(F.max, accumulator, F.when(there, pair(accumulator, values)))
        case Kind.FLOAT_TOTAL:
            return _of_doubles(values[0], neumaier)
        case Kind.DEVIATION:
            return _of_doubles(values[0], _deviation)
        case Kind.PERCENTILE:
            share = accumulator.parameter
            assert isinstance(share, float)
            return _of_doubles(values[0], lambda found: _percentile(found, share))
        case Kind.TEXT:
            found = F.sort_array(F.collect_list(values[0]))
            return F.when(F.size(found) > 0, F.array_join(found, str(accumulator.parameter)))
        case Kind.FOLD:
            assert accumulator.fold is not None
            return _fold(accumulator.fold, there, [(inputs[i][0], inputs[i][1]) for i in accumulator.inputs])


def summand(given: tuple[Column, Type], accumulator: Accumulator) -> Column:
    """A value in a type whose sum is exact: a whole one in bigint where no number of rows overflows it."""
    value, kind = given
    if kind.is_integral and kind.name != "bigint":
        return value.cast("bigint")
    return value.cast("decimal(20,0)" if kind.is_integral else spark_type(accumulator.type))


def truth(value: Column, accumulator: Accumulator) -> Column:
    """1 for what is counted, 0 for the other truth, NULL for none."""
    wanted, other = (1, 0) if accumulator.kind is Kind.TRUES else (0, 1)
    return F.when(value, F.lit(wanted)).when(~value, F.lit(other)).cast(spark_type(BIGINT))


def pair(accumulator: Accumulator, values: Sequence[Column]) -> Column:
    """Key and value: a struct is ordered by its first field, then by its second."""
    if len(values) == 1:
        return F.struct(values[0].alias("k"), values[0].alias("v"))
    beside = accumulator.kind in (Kind.AT_LEAST, Kind.AT_GREATEST)
    value, key = values if beside else values[::-1]
    return F.struct(key.alias("k"), value.alias("v"))


def best(choose: Callable[[Column], Column], accumulator: Accumulator, pairs: Column) -> Column:
    """The field of the best pair that the accumulator holds."""
    return choose(pairs)["v" if accumulator.kind in (Kind.AT_LEAST, Kind.AT_GREATEST) else "k"]


# ---------------------------------------------------------------- doubles in canonical order
def _of_doubles(value: Column, compute: Callable[[Column], Column]) -> Column:
    found = F.sort_array(F.collect_list(value.cast(spark_type(DOUBLE))))
    return F.when(F.size(found) > 0, compute(found))


def neumaier(values: Column) -> Column:
    """A compensated sum of an array, from its start."""
    start = F.struct(F.lit(_ZERO).alias("t"), F.lit(_ZERO).alias("l"))

    def step(state: Column, value: Column) -> Column:
        more = state["t"] + value
        larger = F.abs(state["t"]) >= F.abs(value)
        lost = F.when(larger, (state["t"] - more) + value).otherwise((value - more) + state["t"])
        return F.struct(more.alias("t"), (state["l"] + lost).alias("l"))

    def finish(state: Column) -> Column:
        total = state["t"] + state["l"]
        return F.when(F.isnan(total), state["t"]).otherwise(total) + F.lit(_ZERO)

    return F.aggregate(values, start, step, finish)


def _deviation(values: Column) -> Column:
    count = F.size(values).cast("double")
    mean = neumaier(values) / count
    spread = neumaier(F.transform(values, lambda value: (value - mean) * (value - mean)))
    return F.when(F.size(values) > 1, F.sqrt(spread / (count - F.lit(1.0))))


def _percentile(values: Column, share: float) -> Column:
    place = F.lit(share) * (F.size(values) - 1).cast("double")
    low = place.cast("int")
    part = place - low.cast("double")
    here = F.element_at(values, low + 1)
    there = F.element_at(values, F.least(low + 2, F.size(values)))
    return F.when(part == 0, here).otherwise(here + part * (there - here)) + F.lit(_ZERO)


# ---------------------------------------------------------------- user-defined
def _fold(fold: Fold, there: Column, given: Inputs) -> Column:
    row = F.struct(
        *(value.cast(spark_type(kind)).alias(name) for (value, _), (name, kind) in zip(given, fold.takes, strict=True))
    )
    found = F.sort_array(F.collect_list(F.when(there, row)))
    return refold(fold, "add", fold.add, fold_term(fold, "zero", fold.zero, {}), found)


def refold(fold: Fold, part: str, term: Part, start: Column, members: Column) -> Column:
    """A part of a fold over an array of members, from `start`; in Python, workers run the whole array in one call."""
    if isinstance(term, InPython):
        function = term.function

        def gathered(state: object, rows: list[tuple[object, ...]]) -> object:
            for row in rows:
                state = function(state, *row)
            return state

        state = spark_type(without_zone(fold.state))
        found = F.udf(gathered, state)(start.cast(state), F.transform(members, lambda member: _passed(fold, member)))
        return _never_null(fold, part, found.cast(spark_type(fold.state)))

    def step(state: Column, member: Column) -> Column:
        return fold_term(fold, part, term, {STATE: state, **{name: member[name] for name, _ in fold.takes}})

    return F.aggregate(members, start, step)


def _passed(fold: Fold, member: Column) -> Column:
    """A member as Python takes it."""
    return F.struct(*(member[name].cast(spark_type(without_zone(kind))).alias(name) for name, kind in fold.takes))


def fold_term(fold: Fold, part: str, term: Part, values: Mapping[str, Column]) -> Column:
    """An expression of a fold as a column of the accumulator's type; NULL stops the refresh."""
    if isinstance(term, InPython):  # only `zero`, which takes nothing
        return literal(term.function(), fold.state)
    return _never_null(fold, part, _term(term, values, fold.types).cast(spark_type(fold.state)))


def _never_null(fold: Fold, part: str, found: Column) -> Column:
    reason = F.raise_error(F.lit(f"`{part}` of aggregate {fold.name} gives NULL"))
    return F.when(found.isNull(), reason.cast(spark_type(fold.state))).otherwise(found)


def _term(term: Term, values: Mapping[str, Column], types: Mapping[str, Type]) -> Column:
    match term:
        case Var(name=name):
            return values[name]
        case Const():
            return literal_column(term)
        case Call(function=function, args=args):
            columns = [_term(arg, values, types) for arg in args]
            return compile_call(function, columns, tuple(known_type(a, types) for a in args), known_type(term, types))
