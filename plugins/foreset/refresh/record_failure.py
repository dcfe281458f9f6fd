"""Why a phase failed, kept in the warehouse: a report must not depend on somebody's log."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from foreset.errors import (
    EnvironmentFault,
    Fenced,
    ForesetError,
    Held,
    QualityFailed,
    SourceError,
    SpecError,
    UsageError,
    VerificationFailed,
    kind_of,
)
from foreset.plan.frozen import Request
from foreset.plan.stages import Working, marks_of
from foreset.records.events import Failed
from foreset.refresh.context import Context
from foreset.refresh.key_check import KeyBroken
from foreset.refresh.machine_faults import explained
from foreset.session.locations import absolute_warehouse
from foreset.store import attempts, manifest
from foreset.store.attempts import FailedAttempt
from foreset.store.layout import Layout

PHASE = "foreset_phase"


@contextmanager
def at_stage(name: str) -> Iterator[None]:
    """Name the stage in what leaves here: of strata side by side, the first without a mark may be another one."""
    try:
        yield
    except BaseException as error:
        setattr(error, PHASE, name)
        raise


@contextmanager
def failures_told(context: Context, stage: Working) -> Iterator[None]:
    """Note what leaves this stage as an exception. Faults of the machine leave in plain words."""
    try:
        yield
    except BaseException as error:
        at = getattr(error, PHASE, "") or _unfinished(context, stage)
        told = explained(error, f"{at} of group {context.layout.group}")
        setattr(told, PHASE, at)
        with suppress(OSError):  # a disk that is full must not hide what it has done
            context.listen(Failed(at, **described(told, context.layout.group)))
        if told is error:
            raise
        raise told from error


@contextmanager
def attempt_told(layout: Layout, request: Request, phase: str = "open") -> Iterator[None]:
    """Note what leaves here as the group's last attempt, with the phase that it names, or this one."""
    try:
        yield
    except BaseException as error:
        note_failure(layout, request, getattr(error, PHASE, phase), error)
        raise


def note_ended(warehouse: str, group: str, request: Request, phase: str, error: BaseException | str | None) -> None:
    """Keep that a task of a scheduler has failed: it may have been killed before it could say so itself."""
    silent = EnvironmentFault(str(error or "the task ended without a message"))
    told = error if isinstance(error, BaseException) else silent
    known = next((one for one in (told, told.__cause__) if isinstance(one, ForesetError)), told)
    note_failure(Layout(absolute_warehouse(warehouse), group), request, getattr(known, PHASE, phase), known)


def note_failure(layout: Layout, request: Request, phase: str, error: BaseException) -> None:
    """Keep a failure as the group's last attempt: the command line, jobs and Airflow's tasks all end here.

    Not that another refresh was first or that the group is on hold, nor what was only tried, nor a correction that
    was refused: nothing that readers wait for has failed.
    """
    refused = request.edit is not None and isinstance(error, UsageError)
    if isinstance(error, (Fenced, Held)) or request.dry_run or refused:
        return
    with suppress(OSError, EnvironmentFault):  # the first fault is the one to be told
        newest = manifest.newest(layout.root, layout.group)
        if newest is None and isinstance(error, (SpecError, UsageError)):
            return  # nobody reads this group yet, and who writes its spec is told: no warehouse is made for that
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        told = described(error, layout.group)
        attempts.note(layout, FailedAttempt(request.refresh_id, now, phase, seq=newest.seq if newest else 0, **told))


def described(error: BaseException, group: str) -> dict[str, str]:
    """An exception for people: its kind, what happened, what to do, and the command to run next."""
    told = {"error": kind_of(error), "next": next_command(error, group)}
    if isinstance(error, ForesetError):
        return {**told, "message": error.message, "hint": error.hint}
    if isinstance(error, KeyboardInterrupt):
        told["error"] = "Interrupted"
        return {**told, "message": "it was interrupted", "hint": "run the same refresh again to continue"}
    return {**told, "message": str(error).strip() or type(error).__name__, "hint": ""}


def next_command(error: BaseException, group: str) -> str:
    """What to run next, once what the hint names is put right."""
    match error:
        case SpecError():
            return f"foreset check {group}"
        case SourceError(worth_retrying=False) if not isinstance(error, KeyBroken):
            return f"foreset check {group} --against-warehouse"
        case VerificationFailed():
            return f"foreset refresh {group} --mode recompute"
        case QualityFailed():
            return f"foreset report {group}"
        case EnvironmentFault():
            return "foreset doctor"
        case _:
            return f"foreset refresh {group}"


def _unfinished(context: Context, stage: Working) -> str:
    """The first mark of a stage that is not there; its name where none lacks."""
    sources = (source.name for source in context.program.sources)
    strata = (stratum.number for stratum in context.layering.strata)
    return next((one for one in marks_of(stage, sources, strata) if not context.finished(one)), stage.name)
