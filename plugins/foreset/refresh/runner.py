"""The stages of a refresh at work: one of them, or all in their order.

`plan/stages.py` says which there are and what may end the refresh after each; what they do is said here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foreset.plan import stages
from foreset.plan.frozen import Request
from foreset.plan.stages import EachSource, EachStratum, Ending, Once, Status, Working
from foreset.records.strata import StratumRecord
from foreset.refresh.captured import nothing_moved
from foreset.refresh.capturing import capture_sources
from foreset.refresh.checking import verify
from foreset.refresh.committing import commit
from foreset.refresh.context import Context
from foreset.refresh.domain_phase import nothing_new
from foreset.refresh.maintaining import maintain
from foreset.refresh.publishing import publish
from foreset.refresh.quality import quality
from foreset.refresh.record_failure import at_stage, failures_told
from foreset.refresh.scheduling import run_strata, width
from foreset.refresh.sharing import shared_looks
from foreset.session.lazy import activate, interrupt
from foreset.store.epochs import close_run

DOES: dict[Once | EachSource, Callable[[Context], Any]] = {
    stages.CAPTURE: capture_sources,
    stages.VERIFY: verify,
    stages.QUALITY: quality,
    stages.COMMIT: commit,
    stages.PUBLISH: publish,
}
HOLDS: dict[Ending, Callable[[Context, Request], bool]] = {
    stages.NOTHING_MOVED: lambda context, _: nothing_moved(context),
    stages.NOTHING_NEW: lambda context, _: nothing_new(context),
    stages.TRIAL: lambda _, request: request.dry_run,
}


def through(context: Context, request: Request) -> Status:
    """Every stage of an open run, in this process, until the refresh ends; how it has ended."""
    for stage in stages.WORKING:
        with failures_told(context, stage):
            if isinstance(stage, EachStratum):
                _strata(context, stage)
            else:
                DOES[stage](context)
            ending = ending_of(context, request, stage)
            if ending is not None:
                close_run(context.run, ending.status)
                return ending.status
    return Status.COMMITTED


def ending_of(context: Context, request: Request, stage: Working) -> Ending | None:
    """What ends the refresh after this stage, which is through; None where it goes on."""
    return next((ending for ending in stage.ends if HOLDS[ending](context, request)), None)


def one_stratum(context: Context, stage: EachStratum, number: int, *, in_parts: bool = False) -> StratumRecord:
    """Maintain the stratum of that number."""
    activate(context.spark)  # pyspark knows the active session by thread
    with at_stage(stages.mark(stage, number)):
        return maintain(context, number, in_parts=in_parts)


def _strata(context: Context, stage: EachStratum) -> None:
    with shared_looks(context):
        run_strata(
            context.layering, lambda number: one_stratum(context, stage, number), width(),
            lambda: interrupt(context.spark),
        )  # fmt: skip
