"""Why a phase failed, kept in the run directory: a report must not depend on somebody's log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from foreset.errors import ForesetError
from foreset.refresh.context import Context
from foreset.refresh.faults import explained

PHASE = "foreset_phase"


@contextmanager
def at_phase(name: str) -> Iterator[None]:
    """Name the phase in what leaves here: of strata side by side, the first without a mark may be another one."""
    try:
        yield
    except BaseException as error:
        setattr(error, PHASE, name)
        raise


@contextmanager
def failures_told(context: Context, phase: str = "") -> Iterator[None]:
    """Note what leaves here as an exception, with its phase (default: the first that has no mark).

    Faults of the machine leave in plain words.
    """
    try:
        yield
    except BaseException as error:
        at = phase or getattr(error, PHASE, "") or unfinished(context)
        told = explained(error, f"{at} of group {context.layout.group}")
        with suppress(OSError):  # a disk that is full must not hide what it has done
            context.listen({"event": "failed", "phase": at, **described(told)})
        if told is error:
            raise
        raise told from error


def described(error: BaseException) -> dict[str, str]:
    """An exception for people: its kind, what happened, what to do."""
    if isinstance(error, ForesetError):
        return {"error": type(error).__name__, "message": error.message, "hint": error.hint}
    if isinstance(error, KeyboardInterrupt):
        return {"error": "Interrupted", "message": "it was interrupted", "hint": "run the same refresh again to go on"}
    return {"error": type(error).__name__, "message": str(error).strip() or type(error).__name__, "hint": ""}


def unfinished(context: Context) -> str:
    """The first phase, in the order of a refresh, that has left no mark."""
    captures = [f"capture-{source.name}" for source in context.program.sources]
    strata = [f"stratum-{stratum.number}" for stratum in context.layering.strata]
    phases = [*captures, *strata, "verify", "quality", "commit", "publish"]
    return next((phase for phase in phases if context.mark(phase) is None), "publish")
