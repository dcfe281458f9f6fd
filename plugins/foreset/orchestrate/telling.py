"""What a task says in its log: events while it works, and facts when it is done, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from foreset.ir.hidden import in_words
from foreset.plan.place import told
from foreset.plan.stages import CLOSE, COMMIT, OPEN, Stage, Status
from foreset.records.checks import Verification
from foreset.records.events import EngineChosen, Event, PhaseBegun, RoundBegun, StratumBegun, Warned
from foreset.records.results import (
    Ended,
    ExpectationsChecked,
    Published,
    RunOpened,
    SourcesCaptured,
    SparkFound,
    StageResult,
    StratumMaintained,
)


def progress(event: Event) -> str:
    """An event in words; empty for what the log need not have."""
    match event:
        case StratumBegun(number, views, strategy):
            return f"stratum {number} ({', '.join(views)}): {strategy}"
        case Warned(_, message):
            return f"warning: {message}"
        case EngineChosen(engine, reason, number):
            return f"stratum {number}: {told(engine, reason)}"
        case PhaseBegun(phase, number):
            return f"stratum {number}: {phase}"
        case RoundBegun(done, rows, number):
            known = sum(count for count in rows.values() if count is not None)
            return f"stratum {number}: round {done}, {known:,} new rows"
        case _:
            return ""


def sentences(stage: Stage, result: StageResult) -> Iterator[str]:
    """The outcome of a stage."""
    match result:
        case Ended():
            yield _ended(stage, result)
        case SparkFound(spark, answers):
            starts = "; it starts when a change is too big for the task itself" if spark == "embedded" else ""
            yield f"Spark ({spark}): {answers}{starts}"
        case RunOpened():
            yield f"opened for seq {result.seq} (epoch {result.epoch}); the plan is frozen in {result.run}"
            yield from (f"{view} is rebuilt: {why}" for view, why in result.rebuild.items())
        case SourcesCaptured():
            yield from _captured(result)
        case StratumMaintained():
            yield from _maintained(result)
        case Verification():
            rows = f"{result.rows:,} rows recomputed from the sources" if result.rows else "verification"
            yield f"{rows}: {result.verdict}"
        case ExpectationsChecked():
            found = f"{result.checked} expectations: {result.verdict}, {result.warned} with a warning"
            yield found if result.checked else "no view has expectations"
        case Published():
            for view, change in result.views.items():
                yield f"{view}: +{change.inserted:,} -{change.deleted:,}, {change.rows or 0:,} rows"
        case _:
            assert_never(result)


def _ended(stage: Stage, result: Ended) -> str:
    if result.status == Status.COMMITTED:
        if stage == COMMIT:
            return f"seq {result.seq} is committed: readers see it now"
        if stage != CLOSE:
            return f"this refresh was committed before, as seq {result.seq}: there is nothing more to do"
    if result.status == Status.HELD:
        return f"{result.reason}: nothing to do; {result.hint}" if stage == OPEN else "the group is on hold"
    return f"{result.because}: there is nothing to do" if result.because else f"{stage.name}: {result.status}"


def _captured(result: SourcesCaptured) -> Iterator[str]:
    for name, one in result.sources.items():
        rows = "" if one.rows is None else f" of {one.rows:,} rows"
        counts = f"read as a whole{rows}" if one.taken_whole else f"+{one.inserted:,} -{one.deleted:,}{rows}"
        yield f"{name}: {counts}" + (f" ({one.reason})" if one.reason else "")
    if result.status == Status.UNCHANGED:
        yield f"no source has changed since seq {result.seq}: the refresh ends here"
    elif result.idle:
        yield f"no change reaches the strata {', '.join(map(str, result.idle))}: they are skipped"


def _maintained(result: StratumMaintained) -> Iterator[str]:
    yield f"{result.strategy}: {result.reason}"
    for view, change in result.views.items():
        yield f"{in_words(view)}: +{change.inserted:,} -{change.deleted:,}"
    if result.rounds:
        yield f"{result.rounds} rounds in {result.seconds:.1f} s"
