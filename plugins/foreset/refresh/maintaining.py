"""Maintain one stratum: from pinned old states and lower differentials to its own, staged in the run directory.

A stratum can be done in one go, or in two parts that are tasks of their own: `delete` runs every
phase but the last and stages what that one reads; `insert` goes on from there, in any process.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from foreset.ir.program import Column
from foreset.ir.steps import Phase, Procedure, Ref
from foreset.ir.strata import Stratum
from foreset.ir.types import BIGINT
from foreset.ir.versions import Version
from foreset.machine.machine import Machine
from foreset.plan.choose import Choice, Mode, free
from foreset.plan.giving_up import GivenUp
from foreset.plan.place import DUCKDB, SPARK, Place
from foreset.plan.translate import COUNTED, keeps_counters, translate
from foreset.refresh import phase_break
from foreset.refresh.choosing import chosen, of_circles
from foreset.refresh.constraining import constrain
from foreset.refresh.context import Context, Stopwatch
from foreset.refresh.domain_phase import ask, give
from foreset.refresh.inprocess import attempt, placed
from foreset.refresh.inputs import counters_of, put_input, put_old
from foreset.refresh.staging import stage

if TYPE_CHECKING:
    from foreset.backends.spark.backend import SparkBackend
    from foreset.backends.spark.frames import Piece

Facts = Mapping[str, Any]


class Part(StrEnum):
    """How much of a stratum is done."""

    ALL = "all"
    DELETE = "delete"
    INSERT = "insert"


def maintain(context: Context, number: int, part: str = Part.ALL) -> Facts:
    """Bring stratum `number` up to date, or a part of it; or say again what an earlier attempt did.

    `insert` does all that an earlier `delete` has not done, so it is `all` by another name.
    """
    name = f"stratum-{number}"
    wanted = Part(part)
    done = context.mark(name) or (context.mark(f"{name}-delete") if wanted is Part.DELETE else None)
    if done is not None:
        return done
    stratum = context.layering.numbered(number)
    choice = chosen(context, stratum)
    told = {"strategy": choice.strategy, "reason": choice.reason}
    context.listen(
        {
            "event": "stratum",
            "stratum": number,
            "views": stratum.shown,
            "part": wanted.value,
            "strategy": choice.strategy,
        }
    )
    watch = Stopwatch()
    if wanted is Part.DELETE:
        facts = _delete(context, stratum, choice)
        return context.finish(f"{name}-delete", {**told, "part": "delete", "seconds": watch.seconds, **facts})
    before = context.mark(f"{name}-delete") or {"seconds": 0.0, "rounds": 0}
    facts = _finish_somehow(context, stratum, choice, before) if choice.strategy != "skip" else _skipped(stratum)
    seconds = round(before["seconds"] + watch.seconds, 3)
    return context.finish(name, {**told, "seconds": seconds, **facts})


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


def _delete(context: Context, stratum: Stratum, choice: Choice) -> Facts:
    if stratum.own_way:
        return {"rounds": 0, "rows": 0, "note": "done together with the insertions"}
    procedure = _procedure(stratum, choice)
    if len(procedure.phases) < 2:
        return {"rounds": 0, "rows": 0, "note": f"{choice.strategy} has no deletion phase of its own"}
    if placed(context, stratum, choice).engine == DUCKDB:
        return {"rounds": 0, "rows": 0, "note": "done in process, together with the insertions"}
    work = _opened(context, stratum, choice, procedure)
    try:
        work.run(*procedure.phases[:-1])
    except GivenUp as given_up:
        return {"rounds": work.backend.work.rounds, "rows": 0, "given_up": str(given_up)}
    saved = phase_break.save(context, work.backend, procedure, (*work.folder, "delete"))
    rows = sum(one["rows"] for one in saved["versions"] if one["version"] == Version.DEL)
    return {"rounds": work.backend.work.rounds, "rows": rows, "saved": saved, "circles": _circles(work)}


def _finish_somehow(context: Context, stratum: Stratum, choice: Choice, before: Facts) -> Facts:
    """Finish by the strategy chosen; otherwise where it turns out too much, now or in a task before."""
    if stratum.own_way:
        do = give if stratum.given is not None else ask if stratum.called else constrain
        return do(context, stratum, _folder(context, stratum))
    if "given_up" not in before:
        try:
            return _finish(context, stratum, choice, before)
        except GivenUp as given_up:
            before = {"rounds": 0, "given_up": str(given_up)}
    may = free(stratum, Mode(context.plan.mode))
    instead = Choice("recompute" if may else "dred", before["given_up"])
    told = {"strategy": instead.strategy, "reason": instead.reason, "instead_of": choice.strategy}
    return {**_finish(context, stratum, instead, before), **told}


def _finish(context: Context, stratum: Stratum, choice: Choice, before: Facts) -> Facts:
    procedure = _procedure(stratum, choice)
    where = Place(SPARK, "its deletion part ran there")
    if "saved" not in before:
        tried = attempt(context, stratum, choice, procedure, _folder(context, stratum))
        where = tried.place
        if tried.facts is not None:
            return {**tried.facts, **_told_of(where)}
    work = _opened(context, stratum, choice, procedure)
    if "saved" in before:
        phase_break.load(context, work.backend, before["saved"])
        work.run(procedure.phases[-1])
    else:
        work.run(*procedure.phases)
    views = {name: _stage_view(work, name) for name in stratum.names}
    kept = [name for name in procedure.counted if keeps_counters(stratum)]
    states = {name: _stage_counters(work, name) for name in kept}
    rows = sum(side["rows"] for view in views.values() for side in view.values())
    return {"views": views, "rows": rows, "rounds": before["rounds"] + work.backend.work.rounds, "counted": kept,
            "counters": states, "rows_read": work.backend.versions.rows_read,
            "forgotten": choice.strategy == "recompute", **_told_of(where),
            **of_circles(choice, before.get("circles") or _circles(work))}  # fmt: skip


def _circles(work: _Work) -> int:
    """How many keys lie on a circle of the data, where the strategy looks for them."""
    ref = work.procedure.circles
    return (work.backend.versions.count(ref) or 0) if ref else 0


def _told_of(where: Place) -> Facts:
    return {"engine": where.engine, "engine_reason": where.reason}


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


def _skipped(stratum: Stratum) -> Facts:
    nothing = {"path": None, "rows": 0}
    return {"views": {name: {"plus": nothing, "minus": nothing} for name in stratum.names}, "rows": 0, "rounds": 0,
            "counted": [], "rows_read": {}, "engine": "", "engine_reason": ""}  # fmt: skip


def _stage_view(work: _Work, view: str) -> Facts:
    columns = work.context.view(view).columns
    frames, sides = work.backend.versions, (("plus", Version.PLUS), ("minus", Version.MINUS))
    return {
        side: stage(work.context, frames.stored(Ref(view, version)), columns, *work.folder, view, side)
        for side, version in sides
    }


def _stage_counters(work: _Work, view: str) -> Facts:
    from foreset.backends.spark.cutting import cut

    counter = work.backend.counters.get(view)
    changes = counter.current() if counter else None
    named = (*work.context.view(view).columns, Column("_base", BIGINT), Column("_recursive", BIGINT))
    pieces = () if changes is None else (cut(changes),)
    return stage(work.context, pieces, named, *work.folder, view, "counters")
