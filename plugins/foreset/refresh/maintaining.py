"""Maintain one stratum: from pinned old states and lower differentials to its own, staged in the run directory.

A task keeps what the last phase of a strategy reads of those before it, where they run in Spark: a retry then goes on
from there, in any process.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreset.ir.program import Column
from foreset.ir.steps import Phase, Procedure, Ref
from foreset.ir.strata import Stratum
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan import marks
from foreset.plan.choose import Choice, Mode, free
from foreset.plan.giving_up import GivenUp
from foreset.plan.place import SPARK, Place
from foreset.plan.translate import COUNTED, keeps_counters, translate
from foreset.records.strata import DeletionRecord, StagedFile, StagedView, StratumRecord
from foreset.refresh import phase_break
from foreset.refresh.choosing import chosen, reason_of
from foreset.refresh.constraining import constrain
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.domain_phase import ask, give
from foreset.refresh.inprocess import attempt
from foreset.refresh.inputs import counters_of, put_input, put_old
from foreset.refresh.staging import stage

if TYPE_CHECKING:
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Piece


def maintain(context: Context, number: int, *, in_parts: bool = False) -> StratumRecord:
    """Bring stratum `number` up to date, or say again what an earlier attempt did.

    With `in_parts`, what the last phase reads of those before it is kept, so that a retry need not do them again.
    """
    if (done := context.mark(marks.stratum(number))) is not None:
        return done
    stratum = context.layering.numbered(number)
    choice = chosen(context, stratum)
    context.listen({"event": "stratum", "stratum": number, "views": stratum.shown, "strategy": choice.strategy})
    watch = Stopwatch()
    before = context.mark(marks.deletion(number)) or DeletionRecord(choice.strategy, choice.reason)
    if choice.strategy == "skip":
        record = _skipped(stratum, choice)
    else:
        record = _finish_somehow(context, stratum, choice, before, in_parts=in_parts)
    return context.finish(marks.stratum(number), replace(record, seconds=round(before.seconds + watch.seconds, 3)))


@dataclass(slots=True)
class _Work:
    """A stratum at work."""

    context: Context
    stratum: Stratum
    procedure: Procedure
    machine: Machine[Piece]
    backend: SparkBackend
    folder: tuple[str, ...]

    def run(self, *phases: Phase) -> None:
        for phase in phases:
            self.context.listen({"event": "phase", "stratum": self.stratum.number, "phase": phase.name})
            self.machine.run(phase)


def _finish_somehow(
    context: Context, stratum: Stratum, choice: Choice, before: DeletionRecord, *, in_parts: bool
) -> StratumRecord:
    """Finish by the strategy chosen; otherwise where it turns out too much, now or in a try before."""
    if stratum.own_way:
        do = give if stratum.given is not None else ask if stratum.called else constrain
        return do(context, stratum, choice, _folder(context, stratum))
    if before.given_up is None:
        try:
            return _finish(context, stratum, choice, before, in_parts=in_parts)
        except GivenUp as given_up:
            before = DeletionRecord(choice.strategy, choice.reason, given_up=str(given_up))
            if in_parts:
                context.finish(marks.deletion(stratum.number), before)
    may = free(stratum, Mode(context.plan.mode))
    instead = Choice("recompute" if may else "dred", before.given_up or "")
    return replace(_finish(context, stratum, instead, before), instead_of=choice.strategy)


def _finish(
    context: Context, stratum: Stratum, choice: Choice, before: DeletionRecord, *, in_parts: bool = False
) -> StratumRecord:
    procedure = _procedure(stratum, choice)
    where = Place(SPARK, "its deletion part ran there")
    if before.saved is None:
        tried = attempt(context, stratum, choice, procedure, _folder(context, stratum))
        where = tried.place
        if tried.record is not None:
            return tried.record
    work = _opened(context, stratum, choice, procedure)
    *first, last = procedure.phases
    if before.saved is not None:
        phase_break.load(context, work.backend, before.saved)
    elif first:
        watch = Stopwatch()
        work.run(*first)
        if in_parts:
            _keep(work, choice, watch)
    work.run(last)
    views = {name: _stage_view(work, name) for name in stratum.names}
    kept = [name for name in procedure.counted if keeps_counters(stratum)]
    states = {name: _stage_counters(work, name) for name in kept}
    return StratumRecord(
        choice.strategy, reason_of(choice, before.circles or _circles(work)), views=views,
        rows=sum(staged.changed for staged in views.values()), rounds=before.rounds + work.backend.work.rounds,
        counted=tuple(kept), counters=states, rows_read=work.backend.versions.rows_read,
        forgotten=choice.strategy == "recompute", engine=where.engine, engine_reason=where.reason,
    )  # fmt: skip


def _keep(work: _Work, choice: Choice, watch: Stopwatch) -> None:
    """Mark that the phases before the last are done, with what the last reads of them."""
    saved = phase_break.save(work.context, work.backend, work.procedure, (*work.folder, "delete"))
    record = DeletionRecord(
        choice.strategy, choice.reason, seconds=watch.seconds, rounds=work.backend.work.rounds,
        rows=sum(one.rows for one in saved.versions if one.version == Version.DEL), saved=saved,
        circles=_circles(work),
    )  # fmt: skip
    work.context.finish(marks.deletion(work.stratum.number), record)


def _circles(work: _Work) -> int:
    """How many keys lie on a circle of the data, where the strategy looks for them."""
    ref = work.procedure.circles
    return (work.backend.versions.count(ref) or 0) if ref else 0


def _folder(context: Context, stratum: Stratum) -> tuple[str, ...]:
    """A folder where nobody else writes, not even a task that is taken for dead and wakes again."""
    return ("strata", str(stratum.number), f"{context.run.attempt_id}-{secrets.token_hex(4)}")


def _procedure(stratum: Stratum, choice: Choice) -> Procedure:
    return translate(stratum, choice.strategy, counted=keeps_counters(stratum))


def _opened(context: Context, stratum: Stratum, choice: Choice, procedure: Procedure) -> _Work:
    """The engine with everything that the stratum starts from."""
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Frames

    schemas = {name: tuple(c.type for c in columns) for name, columns in context.program.columns_of().items()}
    schemas |= procedure.helper_types
    frames = Frames(context.spark, schemas)
    building = choice.strategy == "recompute"
    tallying = choice.strategy in COUNTED or (building and keeps_counters(stratum))
    for name in stratum.reads:
        put_input(context, frames, name, new_only=building, distinct=tallying)
    for name in stratum.names:
        put_old(context, frames, name)
    counted = stratum.names if choice.strategy in COUNTED else ()
    backend = SparkBackend(frames, {name: counters_of(context, frames, stratum, name) for name in counted})
    may_give_up = free(stratum, Mode(context.plan.mode))
    machine = Machine(backend, context.program.max_rounds, _with_stratum(context, stratum), may_give_up)
    return _Work(context, stratum, procedure, machine, backend, _folder(context, stratum))


def _with_stratum(context: Context, stratum: Stratum) -> Callable[[dict[str, Any]], None]:
    return lambda event: context.listen({**event, "stratum": stratum.number})


def _skipped(stratum: Stratum, choice: Choice) -> StratumRecord:
    return StratumRecord(choice.strategy, choice.reason, views=dict.fromkeys(stratum.names, StagedView()))


def _stage_view(work: _Work, view: str) -> StagedView:
    columns = work.context.view(view).columns
    plus, minus = (work.backend.versions.stored(Ref(view, version)) for version in (Version.PLUS, Version.MINUS))
    return StagedView(
        stage(work.context, plus, columns, *work.folder, view, "plus"),
        stage(work.context, minus, columns, *work.folder, view, "minus"),
    )


def _stage_counters(work: _Work, view: str) -> StagedFile:
    from foreset.backends.spark.cutting import cut

    counter = work.backend.counters.get(view)
    changes = counter.current() if counter else None
    named = (*work.context.view(view).columns, Column("_base", BIGINT), Column("_recursive", BIGINT))
    pieces = () if changes is None else (cut(changes),)
    return stage(work.context, pieces, named, *work.folder, view, "counters")
