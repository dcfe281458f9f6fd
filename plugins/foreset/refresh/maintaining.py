"""Maintain one stratum: from pinned old states and lower differentials to its own, staged in the run directory.

A task keeps what the last phase of a strategy reads of those before it, where they run in Spark: a retry then goes on
from there, in any process.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from functools import partial

from foreset.ir.steps import Procedure, Ref
from foreset.ir.strata import Stratum
from foreset.ir.versions import Version
from foreset.machine.stratum import Task, feed, run_phases
from foreset.plan import marks
from foreset.plan.choose import Choice, Mode, free
from foreset.plan.cost import DUCKDB, SPARK
from foreset.plan.giving_up import GivenUp
from foreset.plan.layout import laid_out
from foreset.plan.place import Place, wish
from foreset.plan.translate import keeps_counters, translate
from foreset.records.events import EngineChosen, OfMachine, StratumBegun
from foreset.records.strata import DeletionRecord, StagedFile, StagedView, StratumRecord
from foreset.refresh import phase_break
from foreset.refresh.choosing import chosen, reason_of, situation_of
from foreset.refresh.constraining import constrain
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.domain_phase import ask, give
from foreset.refresh.engines import Engine, asks, do_in, place_of, schemas_of, unfit
from foreset.refresh.located import Inputs
from foreset.relations.frames import SparkPort
from foreset.relations.located import COUNTERS


def maintain(context: Context, number: int, *, in_parts: bool = False) -> StratumRecord:
    """Bring stratum `number` up to date, or say again what an earlier attempt did.

    With `in_parts`, what the last phase reads of those before it is kept, so that a retry need not do them again.
    """
    if (done := context.mark(marks.stratum(number))) is not None:
        return done
    stratum = context.layering.numbered(number)
    choice = chosen(context, stratum)
    context.listen(StratumBegun(number, stratum.shown, choice.strategy))
    watch = Stopwatch()
    before = context.mark(marks.deletion(number)) or DeletionRecord(choice.strategy, choice.reason)
    if choice.strategy == "skip":
        record = _skipped(stratum, choice)
    else:
        record = _finish_somehow(context, stratum, choice, before, in_parts=in_parts)
    return context.finish(marks.stratum(number), replace(record, seconds=round(before.seconds + watch.seconds, 3)))


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
    procedure = translate(stratum, choice.strategy, counted=keeps_counters(stratum))
    work = _Work(context, stratum, choice, before, in_parts, procedure, _folder(context, stratum))
    wanted, asking = wish(stratum.engine), False
    if before.saved is not None:
        where = Place(SPARK, "its deletion part ran there")
    else:
        situation = situation_of(context, stratum)
        where = place_of(context, choice.strategy, situation, wanted)
        asking = asks(context, choice.strategy, situation)

    def told(place: Place) -> None:
        context.listen(EngineChosen(place.engine, place.reason, stratum.number))

    def moved(place: Place, error: Exception) -> None:
        if wanted.place is not None:
            raise unfit(stratum.title, wanted, error) from error
        told(place)

    def done(work: _Work, where: Place) -> tuple[StratumRecord, Place]:
        if where.engine == DUCKDB:
            told(where)
        schemas, free = schemas_of(context.program, procedure), wanted.place is None
        return do_in(context, where, schemas, partial(_run, work), moved, bounded=free, asking=asking)

    begun = where.engine
    try:
        record, where = done(work, where)
    except Exception as error:
        if not where.trial or isinstance(error, GivenUp):
            raise
        where = Place(DUCKDB, f"begun in Spark with {where.reason}, but {str(error).strip().partition(chr(10))[0]}")
        record, where = done(replace(work, folder=_folder(context, stratum)), where)
    came_from = begun if where.engine != begun else None
    return replace(record, engine=where.engine, engine_reason=where.reason, moved_from=came_from)


@dataclass(frozen=True, slots=True)
class _Work:
    """A stratum, and how far it was brought before."""

    context: Context
    stratum: Stratum
    choice: Choice
    before: DeletionRecord
    in_parts: bool
    procedure: Procedure
    folder: tuple[str, ...]

    def listen(self, event: OfMachine) -> None:
        """Say what happens, and to which stratum."""
        self.context.listen(replace(event, stratum=self.stratum.number))

    @property
    def task(self) -> Task:
        """What there is to run."""
        may_give_up = free(self.stratum, Mode(self.context.plan.mode))
        rounds = self.context.program.max_rounds
        return Task(self.procedure, self.stratum.reads, rounds, self.listen, may_give_up, staged=True)

    def path(self, *parts: str) -> str:
        """A path where nobody else writes."""
        return self.context.path(*self.folder, *parts)


def _run(work: _Work, port: Engine) -> StratumRecord:
    """Run all phases, or those that are left, and stage what comes of them."""
    task, before = work.task, work.before
    feed(task, port, Inputs(work.context))
    *first, last = work.procedure.phases
    if before.saved is not None:
        assert isinstance(port, SparkPort), "only what ran in Spark is kept"
        phase_break.load(port, before.saved, task.reads)
    elif first:
        watch = Stopwatch()
        run_phases(task, port, first)
        if work.in_parts and isinstance(port, SparkPort):
            _keep(work, port, watch)
    run_phases(task, port, [last])
    kept = [name for name in work.procedure.counted if keeps_counters(work.stratum)]
    counters = {name: _stage_counters(work, port, name) for name in kept}  # first: rows are then read from there
    views = {name: _stage_view(work, port, name) for name in work.stratum.names}
    return StratumRecord(
        work.choice.strategy, reason_of(work.choice, before.circles or _circles(work, port)), views=views,
        rows=sum(staged.changed for staged in views.values()), rounds=before.rounds + port.backend.work.rounds,
        counted=tuple(kept), counters=counters,
        rows_read=port.backend.versions.rows_read, forgotten=work.choice.strategy == "recompute",
    )  # fmt: skip


def _keep(work: _Work, port: SparkPort, watch: Stopwatch) -> None:
    """Mark that the phases before the last are done, with what the last reads of them."""
    saved = phase_break.save(port, work.procedure, work.path("delete"))
    record = DeletionRecord(
        work.choice.strategy, work.choice.reason, seconds=watch.seconds, rounds=port.backend.work.rounds,
        rows=sum(one.rows for one in saved.versions if one.version == Version.DEL), saved=saved,
        circles=_circles(work, port),
    )  # fmt: skip
    work.context.finish(marks.deletion(work.stratum.number), record)


def _stage_view(work: _Work, port: Engine, view: str) -> StagedView:
    columns = work.context.view(view).columns
    plus, minus = (
        port.stage(Ref(view, version), columns, work.path(view, side), laid_out(view, work.context.layering))
        for side, version in (("plus", Version.PLUS), ("minus", Version.MINUS))
    )
    return StagedView(plus, minus)


def _stage_counters(work: _Work, port: Engine, view: str) -> StagedFile:
    columns = (*work.context.view(view).columns, *COUNTERS)
    return port.stage_changes(view, columns, work.path(view, "counters"), laid_out(view, work.context.layering))


def _circles(work: _Work, port: Engine) -> int:
    """How many keys lie on a circle of the data, where the strategy looks for them."""
    ref = work.procedure.circles
    return (port.backend.versions.count(ref) or 0) if ref else 0


def _folder(context: Context, stratum: Stratum) -> tuple[str, ...]:
    """A folder where nobody else writes, not even a task that is taken for dead and wakes again."""
    return ("strata", str(stratum.number), f"{context.run.attempt_id}-{secrets.token_hex(4)}")


def _skipped(stratum: Stratum, choice: Choice) -> StratumRecord:
    return StratumRecord(choice.strategy, choice.reason, views=dict.fromkeys(stratum.names, StagedView()))
