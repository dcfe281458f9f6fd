"""Maintain one stratum: from pinned old states and lower differentials to its own, staged in the run directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from foreset.engine.counters import CounterFrames
from foreset.engine.frames import Frames, Piece, anti
from foreset.engine.run import Engine, cut
from foreset.engine.types import column_names
from foreset.errors import ForesetError
from foreset.ir.program import Column
from foreset.ir.steps import Ref
from foreset.ir.strata import Stratum
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.plan.choose import Choice, Mode, Situation, Size, choose
from foreset.plan.history import cost_of
from foreset.plan.translate import COUNTED, keeps_counters, single_derivation, translate
from foreset.refresh.capturing import capture_one, differential
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.staging import inside, stage, staged_frame
from foreset.store import counters as stored_counters
from foreset.store import signed
from foreset.store.capture.origins import open_origin
from foreset.store.rows import ViewPin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Facts = Mapping[str, Any]


class Refused(ForesetError):
    """`strict` forbids what this refresh would have to do."""

    exit_code = 3


def maintain(context: Context, number: int) -> Facts:
    """Bring stratum `number` up to date, or say again what an earlier attempt did."""
    name = f"stratum-{number}"
    done = context.mark(name)
    if done is not None:
        return done
    watch = Stopwatch()
    stratum = context.layering.strata[number - 1]
    situation = situation_of(context, stratum)
    choice = choose(stratum, situation, Mode(context.plan.mode))
    if choice.refused:
        raise Refused(f"{stratum.title} would have to be recomputed: {choice.reason}", "refresh with --mode auto")
    context.listen({"event": "stratum", "stratum": number, "views": stratum.names, "strategy": choice.strategy})
    facts = _run(context, stratum, choice) if choice.strategy != "skip" else _skipped(stratum)
    shown = {"strategy": choice.strategy, "reason": choice.reason, "seconds": watch.seconds, **facts}
    return context.finish(name, shown)


def situation_of(context: Context, stratum: Stratum) -> Situation:
    """What is known when the stratum's turn comes."""
    sizes = {name: _size(context, name) for name in stratum.reads}
    rebuild = next((context.plan.rebuild[view] for view in stratum.names if view in context.plan.rebuild), "")
    for name in stratum.reads:
        if not rebuild and name in context.run.sources and capture_one(context, name)["taken_whole"]:
            rebuild = f"source {name} had to be taken whole: {capture_one(context, name)['reason']}"
    state = context.previous.state if context.previous else {}
    counted = single_derivation(stratum) or all(name in state for name in stratum.names)
    return Situation(sizes, rebuild, counted, cost_of(stratum.names, context.history))


def view_facts(context: Context, view: str) -> Facts:
    """What the finished stratum of `view` staged for it."""
    facts = context.mark(f"stratum-{context.layering.of(view).number}")
    assert facts is not None, f"{view} is read before it is maintained"
    found: Facts = facts["views"][view]
    return found


def _size(context: Context, name: str) -> Size:
    if name in context.run.sources:
        facts = capture_one(context, name)
        return Size(facts["inserted"], facts["deleted"], facts.get("rows") or 0)
    facts = view_facts(context, name)
    return Size(facts["plus"]["rows"], facts["minus"]["rows"], _old_rows(context, name))


def _old_rows(context: Context, view: str) -> int:
    pin = _pin(context, view)
    return pin.rows if pin else 0


def _pin(context: Context, view: str) -> ViewPin | None:
    """The pin of a view whose rows fit the view as it is now defined."""
    pin = context.previous.views.get(view) if context.previous else None
    same = pin is not None and dict(pin.columns) == {c.name: str(c.type) for c in context.view(view).columns}
    return pin if same else None


def _skipped(stratum: Stratum) -> Facts:
    nothing = {"path": None, "rows": 0}
    return {"views": {name: {"plus": nothing, "minus": nothing} for name in stratum.names}, "rounds": 0,
            "counted": [], "rows_read": {}}  # fmt: skip


def _run(context: Context, stratum: Stratum, choice: Choice) -> Facts:
    counted = keeps_counters(stratum)
    procedure = translate(stratum, choice.strategy, counted=counted)
    schemas = {name: tuple(c.type for c in columns) for name, columns in context.program.columns_of().items()}
    schemas |= {helper.name: tuple(c.type for c in helper.columns) for helper in procedure.helpers}
    frames = Frames(context.spark, schemas)
    building = choice.strategy == "recompute"
    tallying = choice.strategy in COUNTED or (building and counted)
    for name in stratum.reads:
        put_input(context, frames, name, new_only=building, distinct=tallying)
    for name in stratum.names:
        put_old(context, frames, name)
    engine = Engine(frames, context.program.max_rounds, listen=_with_stratum(context, stratum))
    if choice.strategy in COUNTED:
        engine.counters = {name: _counters(context, frames, stratum, name) for name in stratum.names}
    for phase in procedure.phases:
        context.listen({"event": "phase", "stratum": stratum.number, "phase": phase.name})
        engine.run(phase)
    views = {name: _stage_view(context, frames, name) for name in stratum.names}
    kept = [name for name in procedure.counted if counted]
    states = {name: _stage_counters(context, engine, name) for name in kept}
    return {"views": views, "rounds": engine.rounds, "counted": kept, "counters": states, "rows_read": frames.rows_read,
            "forgotten": building}  # fmt: skip


def _with_stratum(context: Context, stratum: Stratum) -> Any:  # noqa: ANN401 - a listener
    return lambda event: context.listen({**event, "stratum": stratum.number})


def put_input(context: Context, frames: Frames, name: str, *, new_only: bool, distinct: bool) -> None:
    """Put what a stratum reads of a lower relation: its states and its differential."""
    if name in context.run.sources:
        _put_source(context, frames, name, new_only=new_only, distinct=distinct)
        return
    facts, columns = view_facts(context, name), context.view(name).columns
    put_old(context, frames, name)
    for version, staged in ((Version.PLUS, facts["plus"]), (Version.MINUS, facts["minus"])):
        frame = staged_frame(context, staged, columns)
        if frame is not None:
            frames.put(Ref(name, version), Piece(inside(frame, columns), staged["rows"]))


def _put_source(context: Context, frames: Frames, name: str, *, new_only: bool, distinct: bool) -> None:
    """The source's old and new state and its differential; a refresh that builds reads the new state only."""
    source, facts = context.source(name), capture_one(context, name)
    new = source_at(context, name, context.run.sources[name].to_version, distinct=distinct)
    frames.put(Ref(name, Version.NEW), Piece(new, facts["rows"]))
    if new_only:
        return
    found = differential(context, name)
    assert found is not None, "a source that was taken whole is only read to build"
    assert context.previous is not None, "without an earlier refresh every source is taken whole"
    if facts["old_lost"]:
        gone = anti(new, F.broadcast(inside(found.plus, source.columns)))
        old = gone.unionAll(inside(found.minus, source.columns))
    else:
        old = source_at(context, name, context.previous.sources[name].to_version, distinct=distinct)
    frames.put(Ref(name, Version.OLD), Piece(old, facts["rows"]))
    for version, frame, rows in (
        (Version.PLUS, found.plus, found.counts.inserted),
        (Version.MINUS, found.minus, found.counts.deleted),
    ):
        frames.put(Ref(name, version), Piece(inside(frame, source.columns), rows))


def source_at(context: Context, name: str, version: int, *, distinct: bool) -> DataFrame:
    """A source at a version. Copies of a row count as derivations, so tallies need it `distinct`; sets do not."""
    source = context.source(name)
    rows = inside(open_origin(context.spark, source, context.layout.root, version).at(version), source.columns)
    return rows.distinct() if distinct else rows


def put_old(context: Context, frames: Frames, view: str) -> None:
    """Put the state of a view that readers have now."""
    pin, columns = _pin(context, view), context.view(view).columns
    if pin is None:
        return
    names = [column.name for column in columns]
    rows = signed.read(context.spark, context.layout.resolve(pin.path), pin.version, names)
    frames.put(Ref(view, Version.OLD), Piece(inside(rows, columns), pin.rows))


def _counters(context: Context, frames: Frames, stratum: Stratum, view: str) -> CounterFrames:
    """The stored counters; where no row can have two derivations, its presence is its count."""
    width = len(frames.schemas[view])
    names = column_names(width)
    if single_derivation(stratum):
        old = Ref(view, Version.OLD)

        def present(rows: Piece) -> DataFrame:
            held = frames.held(rows, old)
            found = frames.nothing(view) if held is None else held
            one, none = F.lit(1).cast("bigint"), F.lit(0).cast("bigint")
            return found.select(*names, one.alias("base"), none.alias("recursive"))

        return CounterFrames(width, present)
    assert context.previous is not None
    pin = context.previous.state[view]
    columns = [column.name for column in context.view(view).columns]

    def lookup(rows: Piece) -> DataFrame:
        keys = rows.frame.toDF(*columns)
        path = context.layout.resolve(pin.path)
        sums = stored_counters.read(context.spark, path, pin.version, columns, keys, few=rows.small)
        return sums.toDF(*names, "base", "recursive")

    return CounterFrames(width, lookup)


def _stage_view(context: Context, frames: Frames, view: str) -> Facts:
    columns, number = context.view(view).columns, context.layering.of(view).number
    folder = ("strata", str(number), context.run.attempt_id, view)
    sides = (("plus", Version.PLUS), ("minus", Version.MINUS))
    return {side: stage(context, frames.pieces(Ref(view, version)), columns, *folder, side) for side, version in sides}


def _stage_counters(context: Context, engine: Engine, view: str) -> Facts:
    columns, number = context.view(view).columns, context.layering.of(view).number
    changes = engine.counters[view].current() if view in engine.counters else None
    if changes is None:
        return {"path": None, "rows": 0}
    piece = cut(changes)
    named = (*columns, Column("_base", BIGINT), Column("_recursive", BIGINT))
    folder = ("strata", str(number), context.run.attempt_id, view)
    return stage(context, (piece,), named, *folder, "counters")
