"""Views of groups in Spark: built from members, and folded by a change.

The change is first summed up by group, then meets the old rows of just these groups, which
are looked up by a broadcast; members are looked up for the groups alone that need it. So a
large group costs as much as a small one where its accumulators are invertible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from foreset.backends.spark.frames import Frames, Piece
from foreset.backends.spark.gathering import (
    Inputs,
    elements,
    filled,
    fold_term,
    grouped,
    names_of,
    pair,
    refold,
    summand,
    told_apart,
    truth,
)
from foreset.errors import EvaluationError, ForesetError
from foreset.ir.aggregates import SUMS, Accumulator, Aggregation, Kind, Upkeep
from foreset.ir.rules import Rule
from foreset.ir.steps import Aggregate, Group, Ref
from foreset.ir.terms import Row
from foreset.ir.versions import Version
from foreset.machine.folding import fold_all
from foreset.store.spark_values import collected
from foreset.store.types import column_names, spark_type
from foreset.values.groups import gather_all, where

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LOOKED_AT = 100_000  # rows that are searched for the group to blame
_EXTREMA = (Kind.LEAST, Kind.GREATEST, Kind.AT_LEAST, Kind.AT_GREATEST)
_LEASTS = (Kind.LEAST, Kind.AT_LEAST)


def groups_of(step: Group, frames: Frames) -> DataFrame:
    """One row for each group of the source."""
    members = frames.read(step.source)
    return grouped(members.frame, step.aggregation, members.fragile)


def failing(step: Group, frames: Frames) -> EvaluationError | None:
    """Why and for which group gathering fails; None when it does not for what is looked at."""
    try:
        rows = _collected(frames, frames.read(step.source).frame, step.source.relation)
        gather_all(rows, step.aggregation, step.rule)
    except EvaluationError as found:
        return found
    except PySparkException:  # the members themselves cannot be had
        return None
    return None


def aggregate(step: Aggregate, frames: Frames) -> tuple[tuple[Piece], tuple[Piece]]:
    """PLUS and MINUS of the view from those of its members."""
    aggregation = step.aggregation
    plus, minus = (frames.read(Ref(aggregation.members, v)) for v in (Version.PLUS, Version.MINUS))
    try:
        state = _state(step, frames, plus, minus)
        came, went = _differences(state.frame, aggregation)
        return (frames.kept.keep(came, state.rows),), (frames.kept.keep(went, state.rows),)
    except PySparkException as error:
        raise _explained(error, lambda: _replayed(step, frames, plus, minus), step.rule) from error


# ---------------------------------------------------------------- folding
def _state(step: Aggregate, frames: Frames, plus: Piece, minus: Piece) -> Piece:
    """A row for each touched group: the group, `o...` its old accumulators, `n...` the new ones."""
    aggregation = step.aggregation
    groups, _ = names_of(aggregation)
    came, went = (told_apart(side.frame, aggregation) for side in (plus, minus))
    changes = came.withColumn("s", F.lit(1)).unionAll(went.withColumn("s", F.lit(-1)))
    members = None if plus.rows is None or minus.rows is None else plus.rows + minus.rows
    touched = frames.kept.keep(_by_group(changes, groups, _changes(aggregation)), members)
    met = _with_old(step, frames, touched)
    if aggregation.upkeep is Upkeep.ANEW:
        return _with_new(step, frames, met, Piece(touched.frame.select(*_or_one(groups)), touched.rows))
    news = [each.alias(f"n{i}") for i, each in enumerate(_folded(aggregation))]
    olds = [F.col(f"o{i}") for i in range(len(aggregation.accumulators))]
    state = frames.kept.keep(met.select(*groups, *olds, *news, _gone(aggregation).alias("gone")), touched.rows)
    if aggregation.upkeep is Upkeep.INVERTIBLE:
        return state
    lost = state.frame.where("gone").select(*groups, *(f"o{i}" for i in range(len(olds))), F.lit(1).alias("one"))
    gone = frames.kept.keep(lost, state.rows)
    if not gone.rows:
        return state
    anew = _with_new(step, frames, gone.frame, Piece(gone.frame.select(*_or_one(groups)), gone.rows))
    return Piece(state.frame.where("NOT gone").drop("gone").unionByName(anew.frame), state.rows)


def _or_one(groups: Sequence[str]) -> list[Column]:
    return [F.col(name) for name in groups] or [F.lit(1).alias("one")]


def _by_group(rows: DataFrame, groups: Sequence[str], columns: list[Column]) -> DataFrame:
    return rows.groupBy(*groups).agg(*columns) if groups else rows.agg(*columns)


def _same(left: str, right: str, groups: Sequence[str]) -> Column:
    pairs = [F.col(f"{left}.{name}").eqNullSafe(F.col(f"{right}.{name}")) for name in groups]
    return reduce(lambda a, b: a & b, pairs) if pairs else F.lit(True)


def _of_groups(rows: DataFrame, keys: Piece, groups: Sequence[str]) -> DataFrame:
    """The rows whose group stands in `keys`."""
    return rows.alias("l").join(keys.hinted.alias("k"), _same("l", "k", groups), "left_semi")


def _with_old(step: Aggregate, frames: Frames, touched: Piece) -> DataFrame:
    """The touched groups with their old accumulators under `o0`, `o1` ..., NULL where there was no group."""
    groups, held = names_of(step.aggregation)
    old = frames.read(Ref(step.relation, Version.OLD))
    renamed = [F.col(name).alias(f"o{i}") for i, name in enumerate(held)]
    keys = Piece(touched.frame.select(*_or_one(groups)), touched.rows)
    found = _of_groups(old.frame, keys, groups).select(*groups, *renamed)
    found = F.broadcast(found) if touched.small else found
    met = touched.frame.alias("t").join(found.alias("f"), _same("t", "f", groups), "left")
    return met.select("t.*", *(f"f.o{i}" for i in range(len(held))))


def _with_new(step: Aggregate, frames: Frames, met: DataFrame, keys: Piece) -> Piece:
    """`met` with the accumulators of its groups gathered anew, NULL where no member is left."""
    aggregation = step.aggregation
    groups, held = names_of(aggregation)
    members = _of_groups(frames.read(Ref(aggregation.members, Version.NEW)).frame, keys, groups)
    renamed = [F.col(name).alias(f"n{i}") for i, name in enumerate(held)]
    found = grouped(members, aggregation).select(*groups, *renamed)
    found = F.broadcast(found) if keys.small else found
    olds = [f"m.o{i}" for i in range(len(held))]
    both = met.alias("m").join(found.alias("f"), _same("m", "f", groups), "left")
    rows = both.select(*(f"m.{name}" for name in groups), *olds, *(f"f.n{i}" for i in range(len(held))))
    return frames.kept.keep(rows, keys.rows)


def _differences(state: DataFrame, aggregation: Aggregation) -> tuple[DataFrame, DataFrame]:
    """New rows that were not so before, and old rows that are not so any more."""
    groups, held = names_of(aggregation)
    places = range(len(held))
    there, was = F.coalesce(F.col("n0"), F.lit(0)) > 0, F.col("o0").isNotNull()
    same = reduce(lambda a, b: a & b, [F.col(f"n{i}").eqNullSafe(F.col(f"o{i}")) for i in places])
    news = [F.col(f"n{i}").alias(held[i]) for i in places]
    olds = [F.col(f"o{i}").alias(held[i]) for i in places]
    return state.where(there & ~same).select(*groups, *news), state.where(was & ~same).select(*groups, *olds)


# ---------------------------------------------------------------- accumulators of a change
def _changes(aggregation: Aggregation) -> list[Column]:
    """What the change of a group comes to, as `d0`, `d1` ... and, for extrema, `g0` ...: the best that went."""
    if aggregation.upkeep is Upkeep.ANEW:
        return [F.count(F.lit(1)).alias("d0")]
    inputs = elements(aggregation)
    columns: list[Column] = []
    sign, came = F.col("s"), F.col("s") > 0
    for i, each in enumerate(aggregation.accumulators):
        there = filled(each, inputs)
        values = [inputs[k][0] for k in each.inputs]
        match each.kind:
            case Kind.MEMBERS:
                columns.append(F.sum(sign).alias(f"d{i}"))
            case Kind.FILLED:
                columns.append(F.coalesce(F.sum(F.when(there, sign)), F.lit(0)).alias(f"d{i}"))
            case Kind.TOTAL:
                value = summand(inputs[each.inputs[0]], each)
                columns.append(F.sum(F.when(came, value).otherwise(-value)).cast(spark_type(each.type)).alias(f"d{i}"))
            case Kind.TRUES | Kind.FALSES:
                columns.append(F.coalesce(F.sum(truth(values[0], each) * sign), F.lit(0)).alias(f"d{i}"))
            case Kind.SET:
                element = F.struct(inputs[0][0].alias("v"))
                columns.append(F.collect_list(F.when(came, element)).alias(f"d{i}"))
                columns.append(F.collect_list(F.when(~came, element)).alias(f"g{i}"))
            case Kind.FOLD:
                columns += _fold_changes(each, inputs, i)
            case _:
                found = pair(each, values)
                choose = F.min if each.kind in _LEASTS else F.max
                columns.append(choose(F.when(there & came, found)).alias(f"d{i}"))
                columns.append(choose(F.when(there & ~came, found)).alias(f"g{i}"))
    return columns


def _fold_changes(each: Accumulator, inputs: Inputs, place: int) -> list[Column]:
    assert each.fold is not None
    takes = zip(each.inputs, each.fold.takes, strict=True)
    row = F.struct(*(inputs[k][0].cast(spark_type(kind)).alias(name) for k, (name, kind) in takes))
    there = filled(each, inputs)
    came = F.col("s") > 0
    return [
        F.sort_array(F.collect_list(F.when(there & came, row))).alias(f"d{place}"),
        F.sort_array(F.collect_list(F.when(there & ~came, row))).alias(f"g{place}"),
    ]


def _folded(aggregation: Aggregation) -> list[Column]:
    """The accumulators after the change."""
    made: list[Column] = []
    for i, each in enumerate(aggregation.accumulators):
        made.append(_folded_one(aggregation, i, each).cast(spark_type(each.type)))
    for i, each in enumerate(aggregation.accumulators):
        if each.kind in SUMS:
            made[i] = F.when(made[aggregation.place(Kind.FILLED, each.inputs)] > 0, made[i])
    return made


def _folded_one(aggregation: Aggregation, i: int, each: Accumulator) -> Column:
    old, change = F.col(f"o{i}"), F.col(f"d{i}")
    match each.kind:
        case Kind.MEMBERS:
            count = F.coalesce(old, F.lit(0)) + change
            return F.when(count < 0, F.raise_error(F.lit("members below zero")).cast("bigint")).otherwise(count)
        case Kind.FILLED | Kind.TRUES | Kind.FALSES:
            return F.coalesce(old, F.lit(0)) + change
        case Kind.TOTAL:
            none = F.lit(0).cast(spark_type(each.type))
            return F.coalesce(old, none) + F.coalesce(change, none)
        case Kind.SET:
            rows = F.transform(F.coalesce(old, F.array().cast(spark_type(each.type))), lambda v: F.struct(v.alias("v")))
            united = F.array_union(F.array_except(rows, F.col(f"g{i}")), change)
            return F.transform(F.sort_array(united), lambda row: row["v"])
        case Kind.FOLD:
            fold = each.fold
            assert fold is not None
            assert fold.remove is not None
            start = F.coalesce(old, fold_term(fold, "zero", fold.zero, {}))
            added = refold(fold, "add", fold.add, start, change)
            return refold(fold, "remove", fold.remove, added, F.col(f"g{i}"))
        case _:
            return _extremum(aggregation, i, each)


def _extremum(aggregation: Aggregation, i: int, each: Accumulator) -> Column:
    """The better of the old one and the best that came; whether the old one still stands is `_gone`."""
    choose, came = F.least if each.kind in _LEASTS else F.greatest, F.col(f"d{i}")  # NULLs are skipped
    if each.kind in (Kind.LEAST, Kind.GREATEST):
        return choose(F.col(f"o{i}"), came["k"])
    key_at = aggregation.place(Kind.LEAST if each.kind in _LEASTS else Kind.GREATEST, each.inputs[::-1])
    key, value = F.col(f"o{key_at}"), F.col(f"o{i}")
    old = F.when(key.isNotNull(), F.struct(key.alias("k"), value.alias("v")))
    return choose(old, came)["v"]


def _gone(aggregation: Aggregation) -> Column:
    """Some extremum went, and nothing strictly better came."""
    tests = [F.lit(False)]
    for i, each in enumerate(aggregation.accumulators):
        if each.kind not in (Kind.LEAST, Kind.GREATEST):
            continue
        old, went, came = F.col(f"o{i}"), F.col(f"g{i}")["k"], F.col(f"d{i}")["k"]
        better = came < old if each.kind is Kind.LEAST else came > old
        lost = went <= old if each.kind is Kind.LEAST else went >= old
        tests.append(F.coalesce(lost, F.lit(False)) & ~F.coalesce(better, F.lit(False)))
    return reduce(lambda a, b: a | b, tests)


# ---------------------------------------------------------------- failures
def _explained(error: PySparkException, again: Callable[[], object], rule: Rule) -> ForesetError:
    """The error to raise: Python finds the group by doing the same."""
    try:
        again()
    except EvaluationError as found:
        return found
    text = str(error).strip()
    return EvaluationError(
        f"{where(rule, ())}: Spark stopped: {text.splitlines()[0] if text else error.getCondition()}"
    )


def _replayed(step: Aggregate, frames: Frames, plus: Piece, minus: Piece) -> None:
    """The same in Python, which can say which group fails."""
    members, (groups, _) = step.aggregation.members, names_of(step.aggregation)
    touched = Piece(plus.frame.unionAll(minus.frame).select(*_or_one(groups)).distinct(), None)
    changes = {Version.PLUS: plus.frame, Version.MINUS: minus.frame}

    def read(ref: Ref) -> list[Row]:
        change = changes.get(ref.version) if ref.relation == members else None
        frame = _of_groups(frames.read(ref).frame, touched, groups) if change is None else change
        return _collected(frames, frame, ref.relation)

    fold_all(step, read)


def _collected(frames: Frames, frame: DataFrame, relation: str) -> list[Row]:
    kinds = frames.schemas[relation]
    return collected(frame.select(*column_names(len(kinds))).limit(LOOKED_AT), kinds)
